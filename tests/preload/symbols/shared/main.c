/* The program around a body: the body and its frames are in a library of their own. */
#include "tests/preload/symbols/shared/frame.h"

int main(int argc, char **argv)
{
    return frame_main(argc, argv);
}

/* The parts of a decoder. Only for decode/ itself. */
#pragma once

#include "decode/common/workspace.h"

struct stk_jpeg; /* libjpeg's objects: decode/jpeg/jpeg.h */

struct stk_decoder {
    struct stk_workspace workspace;
    struct stk_jpeg *jpeg; /* made at the first JPEG */
};

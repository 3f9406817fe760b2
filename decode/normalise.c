/* Normalised floats of all bytes. */
#include "decode/decode.h"

void stk_decode_table(float table[256], const float *mean, const float *std)
{
    for (int i = 0; i < 256; i++) {
        float value = (float)i / 255.0f;
        if (mean) {
            value -= *mean;
        }
        if (std) {
            value /= *std;
        }
        table[i] = value;
    }
}

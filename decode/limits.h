/* How much a file may cost, whatever it claims. What lies above is left to the reference. */
#ifndef STK_DECODE_LIMITS_H
#define STK_DECODE_LIMITS_H

/* Half as much again as Pillow takes before it calls an image a bomb. */
#define STK_LIMIT_PIXELS (1u << 28)
/* Coefficients of progressive files. */
#define STK_LIMIT_MEMORY (1L << 30)
/* Encoders make about ten; the format allows any number, each of which visits all blocks. */
#define STK_LIMIT_SCANS 100
/* Blocks for each bit of arithmetic coding, which has no least size of a block. */
#define STK_LIMIT_ARITHMETIC 64
/* Of the result, in each direction. */
#define STK_LIMIT_OUTPUT (1u << 24)

#endif

/* How much a file may cost, whatever it claims. Files above a limit are left to the reference. */
#pragma once

/* One and a half times the size from which on Pillow calls an image a bomb. */
#define STK_LIMIT_PIXELS (1u << 28)
/* Bytes for the coefficients of progressive files. */
#define STK_LIMIT_MEMORY (1L << 30)
/* Encoders make about ten scans. The format allows any number, and each scan visits all blocks. */
#define STK_LIMIT_SCANS 100
/* Blocks for each bit of arithmetic coding, where a block has no smallest size. */
#define STK_LIMIT_ARITHMETIC 64
/* Pixels of the result, in each direction. */
#define STK_LIMIT_OUTPUT (1u << 24)

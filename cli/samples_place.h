/* The directory that --samples names: whether anything can be kept there. The store itself is the
 * guest of somebody's process, which goes on without a store, and says nothing. */
#ifndef STK_CLI_SAMPLES_PLACE_H
#define STK_CLI_SAMPLES_PLACE_H

/* Of "DIR[:SIZE]". Exits with status 2, and says why, where a store would be refused
 * (store/place.h); DIR itself may be missing. Makes nothing, and waits for no server for long. */
void samples_place_check(const char *value);

#endif

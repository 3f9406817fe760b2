/* `stoker verify`: compares cached copies with their origins, and drops the copies that differ. */
#pragma once

/* Gets the arguments behind the verb and returns the exit status. */
int verb_verify(char **arguments);

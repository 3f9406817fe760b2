/*
 * Options that are typed once: the machine's in /etc/stoker.conf, and the user's in
 * XDG_CONFIG_HOME/stoker.conf (~/.config/stoker.conf). A line is NAME=VALUE with a
 * name of base/options.h; empty lines, and those that begin with #, are skipped. Spaces around name
 * and value are left out.
 */
#pragma once

/* Sets the variables that the files name, unless the environment has them: the user's file goes
 * first. Says what is wrong with a line, and skips it. A file that another user but root could
 * change is not read. Waits seconds at most for a home that does not answer. Call it before threads
 * begin. */
void config_files_read(void);

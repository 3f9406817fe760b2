/* Names in JSON and in Prometheus's text that scripts of an earlier version read. A figure that was
 * renamed is written under both names. */
#pragma once

/* Returns the older name of a member of JSON, or of a family of Prometheus's without "stoker_".
 * NULL: there is none. */
const char *older_name(const char *name);

/* The HTML of `stoker report`. A static file, page.html, has its own script and style, and draws
 * the JSON of one record. The JSON is inside the page, which loads nothing else. */
#pragma once

/* Returns the page of a record's JSON (cli/history/history.h). The caller frees. */
char *page_of(const char *json);

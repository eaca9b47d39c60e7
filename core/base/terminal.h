/* SPDX-License-Identifier: Apache-2.0 */
/* Text from outside for a terminal: names, messages, keys and values of files */
#pragma once

#include <glib.h>

#define RDMAD_TERMINAL_WORD_MAX 512u  /* bytes of a word, after which its middle is left out */
#define RDMAD_TERMINAL_TEXT_MAX 8192u /* likewise of a text */

/* Returns `text` with control characters as \n, \t, \xNN or \uNNNN, invalid UTF-8 replaced, and
 * "..." for the middle of what is too long. */
char *rdmad_text_escape(const char *text);

/* Prints each line of the text to stderr, escaped, after the name of the program. */
void rdmad_terminal_error(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* SPDX-License-Identifier: Apache-2.0 */
/* Negotiation: the format and coding of the response, from the headers of a scraper (RFC 9110
 * 12.4, 12.5). */
#pragma once

#include "render/exposition.h"

/* `accept` may be NULL; malformed parts are ignored, and the default is text 0.0.4. */
ExpositionFormat negotiate_format(const char *accept);
/* Returns whether the response may be gzip; `accept_encoding` may be NULL. */
gboolean negotiate_gzip(const char *accept_encoding);

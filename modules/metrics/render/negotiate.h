/* SPDX-License-Identifier: Apache-2.0 */
/* Negotiation: what a scraper can read, from its headers (RFC 9110 12.4, 12.5). */
#pragma once

#include "render/exposition.h"

/* `accept` may be NULL; what is malformed counts for nothing, and text 0.0.4 is for all others. */
ExpositionFormat negotiate_format(const char *accept);
/* Whether the answer may be gzip; `accept_encoding` may be NULL. */
gboolean negotiate_gzip(const char *accept_encoding);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetcher: rdmad's HTTP client, with the world's servers behind it
 *
 * It takes the place of rdmad-curl.so (core/http/fetch.h).  The API server has a request when it is
 * sent, and rdmad may end before it has the response.
 */
#pragma once

#include "decisions.h"

void fetcher_begin(Decisions *decisions);
/* Call after a change of an object, for those who watch it. */
void fetcher_notify(void);
/* Breaks each connection to the API server: some end, others are silent from then on. */
void fetcher_break(void);

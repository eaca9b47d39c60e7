/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON texts of objects that do not change, each made once
 *
 * A listing of thousands is then a copy of what is there already, and not ten milliseconds of the loop.
 */
#pragma once

#include <jansson.h>
#include <glib.h>

typedef struct ApiTexts ApiTexts;

/* Keys are pointers; `ref` and `unref` (or NULL) keep what a key stands for, so that none comes again. */
ApiTexts *api_texts_new(gconstpointer (*ref)(gconstpointer key), void (*unref)(gconstpointer key));
void api_texts_free(ApiTexts *texts);
void api_texts_clear(ApiTexts *texts);

/* A JSON array in `to`: begin, add each, end.  `whole`: texts that were not added are freed. */
void api_texts_begin(ApiTexts *texts, GString *to);
void api_texts_add(ApiTexts *texts, gconstpointer key,
		   json_t *(*make)(gconstpointer object, gconstpointer data), gconstpointer object,
		   gconstpointer data);
void api_texts_end(ApiTexts *texts, gboolean whole);

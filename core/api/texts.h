/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cached JSON texts of immutable objects
 *
 * Formatting thousands of objects for a listing would block the loop for ten milliseconds; copying
 * their texts does not.
 */
#pragma once

#include <jansson.h>
#include <glib.h>

typedef struct ApiTexts ApiTexts;

/* Keys are pointers.  `ref` and `unref` (or NULL) keep the object of a key alive, so that its
 * address is not reused. */
ApiTexts *api_texts_new(gconstpointer (*ref)(gconstpointer key), void (*unref)(gconstpointer key));
void api_texts_free(ApiTexts *texts);
void api_texts_clear(ApiTexts *texts);

/* Write a JSON array to `to`: begin, add each object, end.  Texts that were not added are freed,
 * except those of the keys from `kept` on; NULL: without exception. */
void api_texts_begin(ApiTexts *texts, GString *to);
void api_texts_add(ApiTexts *texts, gconstpointer key,
		   json_t *(*make)(gconstpointer object, gconstpointer data), gconstpointer object,
		   gconstpointer data);
void api_texts_end(ApiTexts *texts, gconstpointer kept);

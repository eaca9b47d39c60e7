/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redactor: removes secrets from texts that more people read than the configuration
 *
 * Values of keys that sound like a secret, passwords in URLs, tokens, password hashes and private
 * keys become "REDACTED".  rdmad itself keeps none of these in its answers; the configuration, the
 * messages about it, annotations and environments of pods may have them.
 */
#pragma once

#include <jansson.h>
#include <rdmad/types.h>

typedef struct RdmadRedactor RdmadRedactor;

RdmadRedactor *rdmad_redactor_new(void);
void rdmad_redactor_free(RdmadRedactor *redactor);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadRedactor, rdmad_redactor_free)
/* NULL: the text cannot be searched; g_free() */
char *rdmad_redactor_text(const RdmadRedactor *redactor, const char *text);
/* Redacts the strings of an object or array in place. */
void rdmad_redactor_json(const RdmadRedactor *redactor, json_t *value);

/* Only passwords in URLs: "https://REDACTED@host"; g_free() */
char *rdmad_redact_userinfo(const char *text);

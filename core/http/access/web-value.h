/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the web configuration, and tables of keys. */
#pragma once

#include "base/yaml.h"
#include "http/access/web-config.h"

typedef struct {
	const char *path; /* of the file */
	WebConfig *config;
} WebReader;

/* Reads a value that is not null into `where`. */
typedef gboolean (*WebReadFunc)(WebReader *reader, const RdmadYaml *value, gpointer where,
				GError **error);

typedef struct {
	const char *key;
	WebReadFunc read;
	gsize offset; /* of `where` in what the group is read into */
} WebKey;

/* A map of these keys only. */
gboolean web_read_group(WebReader *reader, const RdmadYaml *map, const WebKey *keys, gsize n_keys,
			gpointer base, GError **error);
/* RDMAD_ERROR_CONFIG, "path:line: ...".  Always FALSE. */
gboolean web_refuse(const WebReader *reader, const RdmadYaml *value, GError **error,
		    const char *format, ...) G_GNUC_PRINTF(4, 5);
/* For people: what is taken in another way. */
void web_note(WebReader *reader, const RdmadYaml *value, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Readers.  `where` is char **, WebPem * (the path), char ***, gboolean *, double * (seconds), gint *. */
gboolean web_read_text(WebReader *reader, const RdmadYaml *value, gpointer where, GError **error);
gboolean web_read_path(WebReader *reader, const RdmadYaml *value, gpointer where, GError **error);
gboolean web_read_texts(WebReader *reader, const RdmadYaml *value, gpointer where, GError **error);
gboolean web_read_boolean(WebReader *reader, const RdmadYaml *value, gpointer where,
			  GError **error);
gboolean web_read_duration(WebReader *reader, const RdmadYaml *value, gpointer where,
			   GError **error);
gboolean web_read_count(WebReader *reader, const RdmadYaml *value, gpointer where, GError **error);

/* web-tls.c: the group tls_server_config, whole. */
gboolean web_read_tls(WebReader *reader, const RdmadYaml *map, gpointer config, GError **error);
void web_tls_clear(WebTls *tls);

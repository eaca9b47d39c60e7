/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>
#include <sys/socket.h>

typedef struct {
	struct sockaddr_storage addr;
	socklen_t size;
	guint16 port; /* network order */
	gboolean any; /* ":9889": IPv6 and IPv4 */
} RdmadHttpAddress;

/* Parses "127.0.0.1:9889", "[::1]:9889" or ":9889", but no names.  RDMAD_ERROR_INVALID. */
gboolean rdmad_http_address_parse(const char *text, RdmadHttpAddress *address, GError **error);

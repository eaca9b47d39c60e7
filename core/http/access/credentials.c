/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/credentials.h"

#include <string.h>

#define BASE64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/* GLib's decoder skips invalid characters. */
static gboolean is_base64(const char *text)
{
	const gsize digits = strspn(text, BASE64), padding = strspn(text + digits, "=");

	return digits && padding <= 2 && !text[digits + padding] && (digits + padding) % 4 == 0;
}

gboolean http_credentials_parse(const char *value, HttpCredentials *credentials)
{
	guchar *block;
	char *colon;
	gsize size;

	*credentials = (HttpCredentials){ 0 };
	if (g_ascii_strncasecmp(value, "Basic ", 6) != 0)
		return FALSE;
	value += 6 + strspn(value + 6, " ");
	if (!is_base64(value))
		return FALSE;
	block = g_base64_decode(value, &size);
	credentials->user = g_realloc(block, size + 1);
	credentials->size = size;
	credentials->user[size] = '\0';
	colon = memchr(credentials->user, ':', size);
	if (!colon || strlen(credentials->user) != size)
		return FALSE;
	*colon = '\0';
	credentials->password = colon + 1;
	return TRUE;
}

void http_credentials_clear(HttpCredentials *credentials)
{
	if (credentials->user)
		explicit_bzero(credentials->user, credentials->size);
	g_free(credentials->user);
	*credentials = (HttpCredentials){ 0 };
}

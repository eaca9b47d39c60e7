/* SPDX-License-Identifier: Apache-2.0 */
/* The credentials and the Host of a client are rejected, or are valid. */
#include <stdint.h>
#include <string.h>

#include "http/access/credentials.h"
#include "http/access/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The parts must be those of the input. */
static void check_credentials(const char *value, const HttpCredentials *credentials)
{
	g_autofree char *both = g_strconcat(credentials->user, ":", credentials->password, NULL);
	g_autofree char *again = g_base64_encode((const guchar *)both, strlen(both));
	gsize size;
	g_autofree guchar *decoded = g_base64_decode(again, &size);

	g_assert_null(strchr(credentials->user, ':'));
	g_assert_cmpuint(size, ==, credentials->size);
	g_assert_cmpmem(decoded, size, both, strlen(both));
	/* The last digit may have unused bits. */
	g_assert_true(g_str_has_suffix(value, "=") || g_str_has_suffix(value, again));
}

/* Checks independently: an address has no letters after f, unlike other names than the node's. */
static void check_host(const char *value)
{
	g_autofree char *host = g_ascii_strdown(value, -1);

	if (strstr(host, "localhost") || g_str_has_prefix(host, "gpu-7"))
		return;
	g_assert_cmpuint(strspn(host, "0123456789abcdef:.[]"), ==, strlen(host));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *value = g_strndup((const char *)data, size);
	HttpCredentials credentials;

	if (http_credentials_parse(value, &credentials))
		check_credentials(value, &credentials);
	http_credentials_clear(&credentials);
	if (http_host_is_local(value, "gpu-7.example", NULL))
		check_host(value);
	return 0;
}

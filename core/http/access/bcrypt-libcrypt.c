/* SPDX-License-Identifier: Apache-2.0 */
/* Password hashes by libcrypt: the whole of rdmad-crypt.so */
#include <crypt.h>
#include <string.h>

#include "build-info.h"
#include "http/access/bcrypt.h"

/* Takes the same time wherever the hashes differ. */
static gboolean equal_hashes(const char *a, const char *b, gsize length)
{
	guint8 difference = 0;

	for (gsize i = 0; i < length; i++)
		difference |= a[i] ^ b[i];
	return difference == 0;
}

static gboolean crypt_match(const char *hash, const char *password)
{
	struct crypt_data *scratch = g_new0(struct crypt_data, 1);
	const gsize length = strlen(hash);
	/* Avoids crypt_r(), which the address sanitizer intercepts although libcrypt is not
	 * linked. */
	const char *own = crypt_rn(password, hash, scratch, sizeof(*scratch));
	const gboolean match = own && strlen(own) == length && equal_hashes(own, hash, length);

	explicit_bzero(scratch, sizeof(*scratch));
	g_free(scratch);
	return match;
}

RDMAD_API extern const HttpCryptClass rdmad_http_crypt;
const HttpCryptClass rdmad_http_crypt = {
	.part = { RDMAD_VERSION },
	.match = crypt_match,
};

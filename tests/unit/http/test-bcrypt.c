/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/bcrypt.h"

#include <rdmad/error.h>
#include <string.h>

#include "../support/unit.h"

/* Of rdmad-crypt.so, which is linked in. */
extern const HttpCryptClass rdmad_http_crypt;

/* From the table of crypt_blowfish. */
static void test_known_hashes_have_known_passwords(void)
{
	static const struct {
		const char *hash, *password;
	} table[] = {
		{ "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U" },
		{ "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U" },
		{ "$2y$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK", "U*U*" },
		{ "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a", "U*U*U" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_true(rdmad_bcrypt_is_hash(table[i].hash, &error));
		g_assert_no_error(error);
		g_assert_cmpint(rdmad_bcrypt_cost(table[i].hash), ==, 5);
		g_assert_true(rdmad_http_crypt.match(table[i].hash, table[i].password));
		g_assert_false(rdmad_http_crypt.match(table[i].hash, "U*"));
		g_assert_false(rdmad_http_crypt.match(table[i].hash, ""));
	}
}

static void test_what_is_no_bcrypt_hash_is_refused_without_showing_it(void)
{
	static const char *const table[] = {
		"",
		"secret",
		"$2y$",
		"$1$abcdefgh$0123456789012345678901",
		"$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeS",
		"$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSii",
		"$2x$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi",
		"$3y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi",
		"$2y$1a$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi",
		"$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDe$i",
		"$2y$03$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi",
		"$2y$17$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi",
		"$2y$31$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(rdmad_bcrypt_is_hash(table[i], &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		g_assert_true(!*table[i] || !strstr(error->message, table[i]));
	}
}

static void test_nobody_has_a_hash_of_the_same_cost(void)
{
	g_autofree char *hash = rdmad_bcrypt_nobody(4);

	g_assert_true(rdmad_bcrypt_is_hash(hash, NULL));
	g_assert_cmpint(rdmad_bcrypt_cost(hash), ==, 4);
	g_assert_false(rdmad_http_crypt.match(hash, ""));
}

#define TEST(name) UNIT_TEST("/bcrypt/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(known_hashes_have_known_passwords),
	TEST(what_is_no_bcrypt_hash_is_refused_without_showing_it),
	TEST(nobody_has_a_hash_of_the_same_cost),
	{ 0 },
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "prestart/cri.h"

#include <rdmad/error.h>
#include <string.h>

#include "../support/unit.h"

/* Messages are written as bytes, because the field numbers are part of the interface. */
#define METADATA "\x12\x0c\x0a\x01p\x12\x03uid\x1a\x02ns"
#define SANDBOX	 "\x0a\x02s1" METADATA

typedef struct {
	const char *name, *bytes;
	gsize size;
	const char *id; /* NULL: an error */
	int code;
} SandboxCase;

#define CASE_BYTES(text) text, sizeof(text) - 1

static const SandboxCase SANDBOXES[] = {
	{ "one that is ready", CASE_BYTES("\x0a\x12" SANDBOX), "s1", 0 },
	{ "the newer of two",
	  CASE_BYTES("\x0a\x14" SANDBOX "\x20\x07"
		     "\x0a\x14\x0a\x02s2" METADATA "\x20\x08"
		     "\x0a\x14\x0a\x02s3" METADATA "\x20\x06"),
	  "s2", 0 },
	{ "one that is not ready", CASE_BYTES("\x0a\x14" SANDBOX "\x18\x01"), NULL,
	  RDMAD_ERROR_NOT_FOUND },
	{ "one of another pod",
	  CASE_BYTES("\x0a\x12\x0a\x02s1\x12\x0c\x0a\x01q\x12\x03uid\x1a\x02ns"), NULL,
	  RDMAD_ERROR_NOT_FOUND },
	{ "one of another namespace",
	  CASE_BYTES("\x0a\x12\x0a\x02s1\x12\x0c\x0a\x01p\x12\x03uid\x1a\x02nt"), NULL,
	  RDMAD_ERROR_NOT_FOUND },
	{ "one without a name", CASE_BYTES("\x0a\x04\x0a\x02s1"), NULL, RDMAD_ERROR_NOT_FOUND },
	{ "one without an id", CASE_BYTES("\x0a\x0e" METADATA), NULL, RDMAD_ERROR_NOT_FOUND },
	{ "none", CASE_BYTES(""), NULL, RDMAD_ERROR_NOT_FOUND },
	{ "half a message", CASE_BYTES("\x0a\x12\x0a\x02s1"), NULL, RDMAD_ERROR_INVALID },
};

static void test_sandbox(gconstpointer data)
{
	const SandboxCase *one = data;
	g_autofree char *id = NULL, *uid = NULL;
	g_autoptr(GError) error = NULL;
	const gboolean found = cri_answer_sandbox((const guint8 *)one->bytes, one->size, "ns", "p",
						  &id, &uid, &error);

	g_assert_cmpint(found, ==, one->id != NULL);
	g_assert_cmpstr(id, ==, one->id);
	g_assert_cmpstr(uid, ==, one->id ? "uid" : NULL);
	if (!found)
		g_assert_error(error, RDMAD_ERROR, one->code);
}

typedef struct {
	const char *name, *bytes;
	gsize size;
	int network; /* -1: an error */
} NetworkCase;

static const NetworkCase NETWORKS[] = {
	{ "the host's", CASE_BYTES("\x0a\x08\x32\x06\x0a\x04\x12\x02\x08\x02"), CRI_NETWORK_HOST },
	{ "its own", CASE_BYTES("\x0a\x08\x32\x06\x0a\x04\x12\x02\x10\x01"), CRI_NETWORK_POD },
	{ "its own, all at their defaults", CASE_BYTES("\x0a\x06\x32\x04\x0a\x02\x12\x00"),
	  CRI_NETWORK_POD },
	{ "no options", CASE_BYTES("\x0a\x04\x32\x02\x0a\x00"), CRI_NETWORK_UNKNOWN },
	{ "no namespaces", CASE_BYTES("\x0a\x02\x32\x00"), CRI_NETWORK_UNKNOWN },
	{ "not of Linux", CASE_BYTES("\x0a\x00"), CRI_NETWORK_UNKNOWN },
	{ "nothing", CASE_BYTES(""), CRI_NETWORK_UNKNOWN },
	{ "half a message", CASE_BYTES("\x0a\x08\x32"), -1 },
};

static void test_network(gconstpointer data)
{
	const NetworkCase *one = data;
	CriSandbox sandbox = { 0 };
	g_autoptr(GError) error = NULL;

	if (cri_answer_status((const guint8 *)one->bytes, one->size, &sandbox, &error)) {
		g_assert_cmpint(sandbox.network, ==, one->network);
		cri_sandbox_clear(&sandbox);
		return;
	}
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_assert_cmpint(one->network, ==, -1);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/cri/sandbox/", SANDBOXES, test_sandbox),
	UNIT_CASES("/cri/network/", NETWORKS, test_network),
	{ 0 },
};

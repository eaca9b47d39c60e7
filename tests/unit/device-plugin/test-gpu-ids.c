/* SPDX-License-Identifier: Apache-2.0 */
#include "prestart/gpu-ids.h"
#include "../support/unit.h"

#define UUID "GPU-11111111-2222-3333-4444-555555555555"

typedef struct {
	const char *name, *id, *address;
} IdCase;

static const IdCase IDS[] = {
	{ "a uuid", UUID, "0000:1b:00.0" },
	{ "a share of a gpu", UUID "::3", "0000:1b:00.0" },
	{ "a slice of a gpu", "MIG-" UUID "/1/0", "0000:1b:00.0" },
	{ "a share of a slice", "MIG-" UUID "/1/0::2", "0000:1b:00.0" },
	{ "a card", "card1", "0000:c1:00.0" },
	{ "a share of a card", "card1-3", "0000:c1:00.0" },
	{ "a pci address", "0000:1b:00.0", "0000:1b:00.0" },
	{ "a pci address as nvidia-smi writes it", "00000000:1B:00.0", "0000:1b:00.0" },
	{ "a share of a pci address", "0000:1b:00.0::01", "0000:1b:00.0" },
	{ "a domain of five digits", "10000:e1:00.0", "10000:e1:00.0" },
	{ "another uuid", "GPU-99999999-2222-3333-4444-555555555555", NULL },
	{ "a slice that does not name its gpu", "MIG-11111111-2222-3333-4444-555555555555", NULL },
	{ "another card", "card10", NULL },
	{ "no address", "0000:1b:00", NULL },
	{ "more than an address", "0000:1b:00.01", NULL },
	{ "an address with a sign", "0000:-1:00.0", NULL },
	{ "a word", "tpu-v5", NULL },
	{ "nothing", "", NULL },
};

static void test_id(gconstpointer data)
{
	const IdCase *one = data;
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
	g_autofree char *address = NULL;

	g_hash_table_insert(names, (gpointer)UUID, (gpointer) "0000:1b:00.0");
	g_hash_table_insert(names, (gpointer) "card1", (gpointer) "0000:c1:00.0");
	address = gpu_ids_address(names, one->id);
	g_assert_cmpstr(address, ==, one->address);
}

typedef struct {
	const char *name, *text, *uuid;
} UuidCase;

static const UuidCase UUIDS[] = {
	{ "the file of a driver",
	  "Model: \t\t NVIDIA H100\nIRQ:   \t\t 123\nGPU UUID: \t " UUID "\nVideo BIOS: \t 96\n",
	  UUID },
	{ "the line at the end", "GPU UUID: " UUID, UUID },
	{ "a gpu that nobody has opened", "GPU UUID: \t GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?\n",
	  NULL },
	{ "no such line", "Model: x\n", NULL },
	{ "an empty line", "GPU UUID:\n", NULL },
	{ "something else", "GPU UUID: x\n", NULL },
	{ "nothing", "", NULL },
};

static void test_uuid(gconstpointer data)
{
	const UuidCase *one = data;
	g_autofree char *uuid = gpu_ids_uuid(one->text);

	g_assert_cmpstr(uuid, ==, one->uuid);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/gpu-ids/id/", IDS, test_id),
	UNIT_CASES("/gpu-ids/uuid/", UUIDS, test_uuid),
	{ 0 },
};

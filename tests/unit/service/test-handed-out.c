/* SPDX-License-Identifier: Apache-2.0 */
#include "service/handed-out.h"

#include <stdlib.h>

#include "hardware/device.h"
#include "service/allocation-private.h"
#include "../support/unit.h"

/* "umad7:1=231:7": the file of port 1. */
static RdmadChardev file_of(const char *text)
{
	static const struct {
		const char *prefix;
		RdmadChardevKind kind;
	} kinds[] = {
		{ "uverbs", RDMAD_CHARDEV_UVERBS },   { "umad", RDMAD_CHARDEV_UMAD },
		{ "issm", RDMAD_CHARDEV_ISSM },	      { "ucm", RDMAD_CHARDEV_UCM },
		{ "rdma_cm", RDMAD_CHARDEV_RDMA_CM },
	};
	g_auto(GStrv) parts = g_strsplit_set(text, ":=", 4);
	RdmadChardev file = { .path = g_strconcat("/dev/infiniband/", parts[0], NULL) };

	g_assert_cmpuint(g_strv_length(parts), ==, 4);
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (g_str_has_prefix(text, kinds[i].prefix))
			file.kind = kinds[i].kind;
	file.port = (guint)atoi(parts[1]);
	file.major = (guint)atoi(parts[2]);
	file.minor = (guint)atoi(parts[3]);
	return file;
}

/* "a uverbs0:0=231:192 umad0:1=231:0": the device of id A, whose name is a; "a!" is stale. */
static RdmadDevice *device_of(const char *text)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	const guint n = g_strv_length(words) - 1;
	const char id[] = { g_ascii_toupper(text[0]), '\0' }, name[] = { text[0], '\0' };
	RdmadDevice *dev = rdmad_device_new(id, name);

	dev->stale = text[1] == '!';
	dev->chardevs = g_new0(RdmadChardev, n);
	dev->n_chardevs = n;
	for (guint i = 0; i < n; i++)
		dev->chardevs[i] = file_of(words[i + 1]);
	return dev;
}

/* "a uverbs0:0=231:192, b ...". */
static GPtrArray *devices_of(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, ", ", -1);
	GPtrArray *devices =
		g_ptr_array_new_with_free_func((GDestroyNotify)(void (*)(void))rdmad_device_unref);

	for (guint i = 0; parts[i]; i++)
		g_ptr_array_add(devices, device_of(parts[i]));
	return devices;
}

/* The files of a container that gets all these devices. */
static RdmadAllocation *allocation_of(const char *text)
{
	g_autoptr(GPtrArray) devices = devices_of(text);
	RdmadAllocation *allocation = rdmad_allocation_new(NULL);

	for (guint i = 0; i < devices->len; i++) {
		const RdmadDevice *dev = devices->pdata[i];

		for (guint n = 0; n < dev->n_chardevs; n++) {
			const RdmadChardev *file = &dev->chardevs[n];
			const RdmadAllocationFile given = {
				dev->id,    file->path,	 (int)file->kind,
				file->port, file->major, file->minor,
			};

			rdmad_allocation_add_file(allocation, &given);
		}
	}
	return allocation;
}

static const struct {
	const char *name, *given;
	const char *scans[3]; /* one after the other */
	const char *wrong;    /* after the last; NULL: none */
} cases[] = {
	{ "the same",
	  "a uverbs0:0=231:192 umad0:1=231:0",
	  { "a uverbs0:0=231:192 umad0:1=231:0" } },
	{ "none was recorded", "a", { "b uverbs0:0=231:192" } },
	{ "exchanged",
	  "a uverbs0:0=231:192",
	  { "a uverbs1:0=231:193, b uverbs0:0=231:192" },
	  "/dev/infiniband/uverbs0 of a is b's now, and a has /dev/infiniband/uverbs1" },
	{ "another device's while its own is away",
	  "a uverbs0:0=231:192",
	  { "b uverbs0:0=231:192" },
	  "/dev/infiniband/uverbs0 of A is b's now" },
	{ "another free number",
	  "a uverbs0:0=231:192",
	  { "a uverbs7:0=231:199" },
	  "/dev/infiniband/uverbs0 of a is /dev/infiniband/uverbs7 now" },
	{ "another major",
	  "a uverbs0:0=231:192",
	  { "a uverbs0:0=240:192" },
	  "/dev/infiniband/uverbs0 of a has the number 240:192 now, not 231:192" },
	{ "an unknown number, then", "a uverbs0:0=0:0", { "a uverbs0:0=231:192" } },
	{ "an unknown number, now", "a uverbs0:0=231:192", { "a uverbs0:0=0:0" } },
	{ "its device is away", "a uverbs0:0=231:192", { "b uverbs1:0=231:193" } },
	{ "its device has no file now", "a uverbs0:0=231:192", { "a" } },
	{ "its device was not read", "a uverbs0:0=231:192", { "a! uverbs7:0=231:199" } },
	{ "the other device was not read",
	  "a uverbs0:0=231:192",
	  { "a uverbs0:0=231:192, b! uverbs0:0=231:192" } },
	{ "another device claims it too",
	  "a uverbs0:0=231:192",
	  { "a uverbs0:0=231:192, b uverbs0:0=231:192" } },
	{ "a file of all devices",
	  "a rdma_cm:0=10:122",
	  { "a rdma_cm:0=10:122, b rdma_cm:0=10:122" } },
	{ "umad and issm",
	  "a umad0:1=231:0 issm0:1=231:64",
	  { "a umad2:1=231:2 issm2:1=231:66" },
	  "/dev/infiniband/umad0 of a port 1 is /dev/infiniband/umad2 now; "
	  "/dev/infiniband/issm0 of a port 1 is /dev/infiniband/issm2 now" },
	{ "ucm",
	  "a ucm0:0=231:224",
	  { "b ucm0:0=231:224" },
	  "/dev/infiniband/ucm0 of A is b's now" },
	{ "ports that share a device",
	  "a umad1:1=231:1 umad3:2=231:3",
	  { "a umad0:1=231:0 umad1:2=231:1" },
	  "/dev/infiniband/umad1 of a port 1 is of another port now, this port has "
	  "/dev/infiniband/umad0; /dev/infiniband/umad3 of a port 2 is /dev/infiniband/umad1 now" },
	{ "a port that could not be read", "a umad1:1=231:1", { "a umad1:0=231:1" } },
	{ "ports that could never be read",
	  "a umad1:0=231:1 umad3:0=231:3",
	  { "a umad1:0=231:1 umad3:0=231:3" } },
	{ "right again", "a uverbs0:0=231:192", { "a uverbs7:0=231:199", "a uverbs0:0=231:192" } },
	{ "still wrong when its device is away",
	  "a uverbs0:0=231:192",
	  { "a uverbs7:0=231:199", "b uverbs1:0=231:193" },
	  "/dev/infiniband/uverbs0 of a is /dev/infiniband/uverbs7 now" },
	{ "right again after it was away",
	  "a uverbs0:0=231:192",
	  { "a uverbs7:0=231:199", "b uverbs1:0=231:193", "a uverbs0:0=231:192" } },
	{ "more than are named",
	  "a uverbs0:0=1:0, b uverbs1:0=1:1, c uverbs2:0=1:2, d uverbs3:0=1:3, e uverbs4:0=1:4",
	  { "f uverbs0:0=1:0 uverbs1:0=1:1 uverbs2:0=1:2 uverbs3:0=1:3 uverbs4:0=1:4" },
	  "/dev/infiniband/uverbs0 of A is f's now; /dev/infiniband/uverbs1 of B is f's now; "
	  "/dev/infiniband/uverbs2 of C is f's now; /dev/infiniband/uverbs3 of D is f's now; "
	  "and 1 more" },
};

static void test_files_are_compared_with_those_of_the_devices(gconstpointer data)
{
	const __typeof__(cases[0]) *c = data;
	g_autoptr(RdmadAllocationRef) allocation = allocation_of(c->given);
	g_autoptr(GPtrArray) wrong = NULL;
	g_autofree char *text = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(c->scans) && c->scans[i]; i++) {
		g_autoptr(GPtrArray) devices = devices_of(c->scans[i]);
		g_autoptr(RdmadDeviceFiles) files = rdmad_device_files_new(devices);
		g_autoptr(GPtrArray) before = g_steal_pointer(&wrong);

		wrong = rdmad_device_files_judge(files, allocation, before);
	}
	text = wrong ? rdmad_handed_out_text(wrong) : NULL;
	g_assert_cmpstr(text, ==, c->wrong);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/handed-out/", cases, test_files_are_compared_with_those_of_the_devices),
	{ NULL },
};

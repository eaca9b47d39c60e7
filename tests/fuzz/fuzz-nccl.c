/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input of module nccl: versions, ranges, and environments whose outcome is simulated
 *
 * The first line is a version and a range, the others are NAME=VALUE.
 */
#include <stdint.h>
#include <string.h>

#include "gid.h"
#include "simulate.h"
#include "version.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_range(const char *text)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *again = NULL;
	NcclRange range, same;

	if (!nccl_range_parse(text, &range, &error)) {
		g_assert_nonnull(error);
		return;
	}
	g_assert_true(nccl_range_has(&range, range.raw));
	again = nccl_range_format(&range);
	g_assert_true(nccl_range_parse(again, &same, NULL));
	g_assert_cmpmem(range.raw, 16, same.raw, 16);
	g_assert_cmpuint(range.length, ==, same.length);
}

/* Two ports with the usual GIDs; one GID is unreadable. */
static NcclView *some_view(RdmadDevice *device, RdmadPort ports[2], RdmadGid gids[4])
{
	NcclView *view = nccl_view_new();

	*device =
		(RdmadDevice){ .refs = 1, .name = (char *)"mlx5_0", .ports = ports, .n_ports = 2 };
	for (guint i = 0; i < 4; i++) {
		gids[i] = (RdmadGid){ .index = i * 2, .type = i };
		memset(gids[i].raw, i, 16);
	}
	memcpy(gids[2].raw, "\0\0\0\0\0\0\0\0\0\0\377\377\012\0\0\1", 16);
	for (guint i = 0; i < 2; i++)
		ports[i] = (RdmadPort){ .number = i + 1,
					.link_layer = RDMAD_LINK_LAYER_ETHERNET,
					.state = RDMAD_PORT_ACTIVE,
					.gids = gids,
					.n_gids = 4 };
	nccl_view_add_device(view, device, TRUE);
	return view;
}

static void try_env(char *const *lines)
{
	g_autoptr(NcclEnv) env = nccl_env_new();
	RdmadDevice device;
	RdmadPort ports[2];
	RdmadGid gids[4];
	g_autoptr(NcclView) view = some_view(&device, ports, gids);

	for (guint i = 0; lines[i]; i++) {
		g_auto(GStrv) parts = g_strsplit(lines[i], "=", 2);

		if (parts[0] && parts[1])
			nccl_env_set(env, parts[0], parts[1], "");
	}
	for (guint minor = NCCL_OLDEST; minor <= NCCL_NEWEST; minor++) {
		g_autoptr(GArray) outcomes = nccl_simulate(view, env, minor);

		g_assert_cmpuint(outcomes->len, <=, 2);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autofree char *warning = NULL;
	g_autoptr(GError) error = NULL;
	NcclVersions versions;

	if (!lines[0])
		return 0;
	if (!nccl_versions_parse(lines[0], &versions, &warning, &error))
		g_assert_nonnull(error);
	try_range(lines[0]);
	try_env(lines + 1);
	return 0;
}

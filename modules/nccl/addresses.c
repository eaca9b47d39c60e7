/* SPDX-License-Identifier: Apache-2.0 */
#include "addresses.h"

#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/sysroot.h>
#include <string.h>
#include <unistd.h>

#include "gid.h"

#define NETDEVS_MAX 64u
#define PROC_MAX    (16u << 20)

struct NcclAddresses {
	GHashTable *set; /* GBytes of 16 */
};

NcclAddresses *nccl_addresses_new(void)
{
	NcclAddresses *addresses = g_new0(NcclAddresses, 1);

	addresses->set = g_hash_table_new_full(g_bytes_hash, g_bytes_equal,
					       (GDestroyNotify)g_bytes_unref, NULL);
	return addresses;
}

void nccl_addresses_free(NcclAddresses *addresses)
{
	g_hash_table_unref(addresses->set);
	g_free(addresses);
}

static void addresses_insert(NcclAddresses *addresses, const guint8 raw[16])
{
	g_hash_table_add(addresses->set, g_bytes_new(raw, 16));
}

gboolean nccl_addresses_add(NcclAddresses *addresses, const char *text, GError **error)
{
	guint8 raw[16];

	if (!nccl_address_parse(text, raw, error))
		return FALSE;
	addresses_insert(addresses, raw);
	return TRUE;
}

gboolean nccl_addresses_have(const NcclAddresses *addresses, const guint8 raw[16])
{
	g_autoptr(GBytes) key = g_bytes_new_static(raw, 16);

	return g_hash_table_contains(addresses->set, key);
}

guint nccl_addresses_count(const NcclAddresses *addresses)
{
	return g_hash_table_size(addresses->set);
}

NcclAddresses *nccl_addresses_copy(const NcclAddresses *addresses)
{
	NcclAddresses *copy = nccl_addresses_new();
	GHashTableIter iter;
	gpointer key;

	g_hash_table_iter_init(&iter, addresses->set);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		g_hash_table_add(copy->set, g_bytes_ref(key));
	return copy;
}

gboolean nccl_addresses_equal(const NcclAddresses *a, const NcclAddresses *b)
{
	GHashTableIter iter;
	gpointer key;

	if (g_hash_table_size(a->set) != g_hash_table_size(b->set))
		return FALSE;
	g_hash_table_iter_init(&iter, a->set);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		if (!g_hash_table_contains(b->set, key))
			return FALSE;
	return TRUE;
}

/* ---- proc ---- */

/* A node with many pods has a route for each, which exceeds the limit of rdmad_sysroot_read(). */
static char *proc_read(const RdmadSysroot *root, const char *process, const char *file,
		       GError **error)
{
	g_autofree char *path = g_strdup_printf("proc/%s/net/%s", process, file);
	rdmad_autofd int fd = rdmad_sysroot_open(root, path, O_RDONLY, error);
	g_autoptr(GString) text = g_string_new(NULL);

	if (fd < 0)
		return NULL;
	if (!rdmad_fd_read_all(fd, PROC_MAX, text))
		rdmad_error_errno(error, errno, "%s", path);
	else if (text->len > PROC_MAX)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: more than %u bytes", path,
			    PROC_MAX);
	else
		return g_string_free(g_steal_pointer(&text), FALSE);
	return NULL;
}

/* Sets `text` to NULL if there is no such file, for example in a kernel without IPv6. */
static gboolean proc_read_optional(const RdmadSysroot *root, const char *process, const char *file,
				   char **text, GError **error)
{
	g_autoptr(GError) missing = NULL;

	*text = proc_read(root, process, file, &missing);
	if (!missing || g_error_matches(missing, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		return TRUE;
	g_propagate_error(error, g_steal_pointer(&missing));
	return FALSE;
}

/* A leaf is "|-- 192.0.2.7"; the lines below describe it: "/32 host LOCAL". */
static void read_fib_trie(NcclAddresses *addresses, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	const char *leaf = NULL;

	for (guint i = 0; lines[i]; i++) {
		const char *line = g_strchug(lines[i]);

		if (g_str_has_prefix(line, "|-- "))
			leaf = line + 4;
		else if (leaf && g_str_has_prefix(line, "/32 host LOCAL"))
			nccl_addresses_add(addresses, leaf, NULL);
	}
}

static gboolean hex_address(const char *text, guint8 raw[16])
{
	for (guint i = 0; i < 16; i++) {
		const int high = g_ascii_xdigit_value(text[2 * i]);
		const int low = high < 0 ? -1 : g_ascii_xdigit_value(text[2 * i + 1]);

		if (low < 0)
			return FALSE;
		raw[i] = high << 4 | low;
	}
	return TRUE;
}

/* "20010db8000000000000000000000007 02 40 00 80     eth0" */
static void read_if_inet6(NcclAddresses *addresses, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	guint8 raw[16];

	for (guint i = 0; lines[i]; i++)
		if (hex_address(lines[i], raw))
			addresses_insert(addresses, raw);
}

NcclAddresses *nccl_addresses_read(const RdmadSysroot *root, const char *process, GError **error)
{
	g_autoptr(NcclAddresses) addresses = nccl_addresses_new();
	g_autofree char *ipv4 = proc_read(root, process, "fib_trie", error);
	g_autofree char *ipv6 = NULL;

	if (!ipv4 || !proc_read_optional(root, process, "if_inet6", &ipv6, error))
		return NULL;
	read_fib_trie(addresses, ipv4);
	if (ipv6)
		read_if_inet6(addresses, ipv6);
	return g_steal_pointer(&addresses);
}

/* ---- default routes ---- */

static void netdevs_add(GPtrArray *netdevs, const char *name)
{
	if (!g_str_equal(name, "lo") && netdevs->len < NETDEVS_MAX &&
	    !g_ptr_array_find_with_equal_func(netdevs, name, g_str_equal, NULL))
		g_ptr_array_add(netdevs, g_strdup(name));
}

/* Returns the non-empty fields of a line. */
static char **line_fields(const char *line)
{
	g_auto(GStrv) all = g_strsplit_set(line, " \t", -1);
	g_autoptr(GStrvBuilder) some = g_strv_builder_new();

	for (guint i = 0; all[i]; i++)
		if (all[i][0])
			g_strv_builder_add(some, all[i]);
	return g_strv_builder_end(some);
}

/* net/ipv4/fib_trie.c fib_route_seq_show(): Iface Destination Gateway Flags RefCnt Use Metric Mask. */
static void read_route(GPtrArray *netdevs, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (guint i = 0; lines[i]; i++) {
		g_auto(GStrv) fields = line_fields(lines[i]);

		if (g_strv_length(fields) >= 8 && g_str_equal(fields[1], "00000000") &&
		    g_str_equal(fields[7], "00000000"))
			netdevs_add(netdevs, fields[0]);
	}
}

/* net/ipv6/route.c rt6_info_route(): destination, its length, ..., the interface last. */
static void read_ipv6_route(GPtrArray *netdevs, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (guint i = 0; lines[i]; i++) {
		g_auto(GStrv) fields = line_fields(lines[i]);

		if (g_strv_length(fields) == 10 && g_str_equal(fields[1], "00") &&
		    strspn(fields[0], "0") == 32)
			netdevs_add(netdevs, fields[9]);
	}
}

static int name_compare(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **nccl_default_netdevs_read(const RdmadSysroot *root, const char *process, GError **error)
{
	g_autofree char *ipv4 = NULL, *ipv6 = NULL;
	g_autoptr(GPtrArray) netdevs = NULL;

	if (!proc_read_optional(root, process, "route", &ipv4, error) ||
	    !proc_read_optional(root, process, "ipv6_route", &ipv6, error))
		return NULL;
	netdevs = g_ptr_array_new();
	if (ipv4)
		read_route(netdevs, ipv4);
	if (ipv6)
		read_ipv6_route(netdevs, ipv6);
	g_ptr_array_sort(netdevs, name_compare);
	g_ptr_array_add(netdevs, NULL);
	return (char **)g_ptr_array_free(g_steal_pointer(&netdevs), FALSE);
}

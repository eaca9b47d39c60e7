/* SPDX-License-Identifier: Apache-2.0 */
#include "addresses.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <net/route.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/sysroot.h>
#include <stdio.h>
#include <string.h>

#include "gid.h"

#define NETDEVS_MAX   64u
#define ADDRESSES_MAX 16384u /* a node may have one for each of thousands of services */
#define PROC_MAX      (16u << 20)
#define LINE_SIZE     512 /* of the files read here; none has lines longer than 256 bytes */

struct NcclAddresses {
	guint refs;
	GArray *raws; /* of Raw, sorted, without duplicates */
};

typedef struct {
	guint8 bytes[16];
} Raw;

static NcclAddresses *addresses_take(GArray *raws)
{
	NcclAddresses *addresses = g_new(NcclAddresses, 1);

	*addresses = (NcclAddresses){ 1, raws };
	return addresses;
}

NcclAddresses *nccl_addresses_new(void)
{
	return addresses_take(g_array_new(FALSE, FALSE, sizeof(Raw)));
}

NcclAddresses *nccl_addresses_ref(NcclAddresses *addresses)
{
	addresses->refs++;
	return addresses;
}

void nccl_addresses_free(NcclAddresses *addresses)
{
	if (--addresses->refs)
		return;
	g_array_unref(addresses->raws);
	g_free(addresses);
}

/* Returns whether the address is there, and stores its place. */
static gboolean addresses_find(const NcclAddresses *addresses, const guint8 raw[16], guint *place)
{
	guint begin = 0, end = addresses->raws->len;

	while (begin < end) {
		const guint middle = begin + (end - begin) / 2;
		const int order =
			memcmp(g_array_index(addresses->raws, Raw, middle).bytes, raw, sizeof(Raw));

		if (order == 0)
			return TRUE;
		if (order < 0)
			begin = middle + 1;
		else
			end = middle;
	}
	*place = begin;
	return FALSE;
}

static void addresses_insert(NcclAddresses *addresses, const guint8 raw[16])
{
	guint place;

	if (!addresses_find(addresses, raw, &place))
		g_array_insert_vals(addresses->raws, place, raw, 1);
}

gboolean nccl_addresses_add(NcclAddresses **addresses, const char *text, GError **error)
{
	NcclAddresses *shared = *addresses;
	guint8 raw[16];

	if (!nccl_address_parse(text, raw, error))
		return FALSE;
	if (nccl_addresses_have(shared, raw))
		return TRUE;
	if (shared->refs > 1) {
		*addresses = addresses_take(g_array_copy(shared->raws));
		nccl_addresses_free(shared);
	}
	addresses_insert(*addresses, raw);
	return TRUE;
}

gboolean nccl_addresses_have(const NcclAddresses *addresses, const guint8 raw[16])
{
	guint place;

	return addresses_find(addresses, raw, &place);
}

guint nccl_addresses_count(const NcclAddresses *addresses)
{
	return addresses->raws->len;
}

gboolean nccl_addresses_equal(const NcclAddresses *a, const NcclAddresses *b)
{
	return a == b || (a->raws->len == b->raws->len &&
			  (!a->raws->len ||
			   !memcmp(a->raws->data, b->raws->data, a->raws->len * sizeof(Raw))));
}

/* ---- proc ---- */

/* Takes a line without its line break.  Returns FALSE with an error to stop. */
typedef gboolean (*LineFunc)(char *line, gpointer data, GError **error);

static gboolean lines_read(FILE *stream, const char *path, LineFunc fn, gpointer data,
			   GError **error)
{
	char line[LINE_SIZE];
	gsize size = 0;

	while (fgets(line, sizeof(line), stream)) {
		size += strlen(line);
		if (size > PROC_MAX) {
			g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
				    "%s: more than %u bytes", path, PROC_MAX);
			return FALSE;
		}
		line[strcspn(line, "\n")] = '\0';
		if (!fn(line, data, error)) {
			g_prefix_error(error, "%s: ", path);
			return FALSE;
		}
	}
	return !ferror(stream) || rdmad_error_errno(error, errno, "%s", path);
}

/* The file is read line by line, because a pod may fill it. */
static gboolean proc_read(const RdmadSysroot *root, const char *process, const char *file,
			  LineFunc fn, gpointer data, GError **error)
{
	g_autofree char *path = g_strdup_printf("proc/%s/net/%s", process, file);
	rdmad_autofd int fd = rdmad_sysroot_open(root, path, O_RDONLY, error);
	FILE *stream;
	gboolean ok;

	if (fd < 0)
		return FALSE;
	stream = fdopen(fd, "r");
	if (!stream)
		return rdmad_error_errno(error, errno, "%s", path);
	rdmad_steal_fd(&fd);
	ok = lines_read(stream, path, fn, data, error);
	fclose(stream);
	return ok;
}

/* A missing file has no lines: a kernel without IPv6, for example. */
static gboolean proc_read_optional(const RdmadSysroot *root, const char *process, const char *file,
				   LineFunc fn, gpointer data, GError **error)
{
	g_autoptr(GError) problem = NULL;

	if (proc_read(root, process, file, fn, data, &problem) ||
	    g_error_matches(problem, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		return TRUE;
	g_propagate_error(error, g_steal_pointer(&problem));
	return FALSE;
}

typedef struct {
	NcclAddresses *addresses;
	char leaf[INET_ADDRSTRLEN]; /* the last one of fib_trie */
} Reading;

static gboolean reading_add(Reading *reading, const guint8 raw[16], GError **error)
{
	addresses_insert(reading->addresses, raw);
	if (reading->addresses->raws->len <= ADDRESSES_MAX)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "more than %u addresses",
		    ADDRESSES_MAX);
	return FALSE;
}

/* A leaf is "|-- 192.0.2.7"; the lines below describe it: "/32 host LOCAL". */
static gboolean fib_trie_line(char *text, gpointer data, GError **error)
{
	Reading *reading = data;
	const char *line = g_strchug(text);
	guint8 raw[16];

	if (g_str_has_prefix(line, "|-- "))
		g_strlcpy(reading->leaf, line + 4, sizeof(reading->leaf));
	else if (g_str_has_prefix(line, "/32 host LOCAL") &&
		 nccl_address_parse(reading->leaf, raw, NULL))
		return reading_add(reading, raw, error);
	return TRUE;
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

/* "20010db8000000000000000000000007 02 40 00 80     eth0": index, prefix, scope, flags.  The
 * address of a failed duplicate detection is another host's. */
static gboolean if_inet6_line(char *line, gpointer data, GError **error)
{
	guint8 raw[16];
	guint flags = 0;

	return !hex_address(line, raw) ||
	       (sscanf(line + 32, " %*x %*x %*x %x", &flags) == 1 && flags & IFA_F_DADFAILED) ||
	       reading_add(data, raw, error);
}

NcclAddresses *nccl_addresses_read(const RdmadSysroot *root, const char *process, GError **error)
{
	g_autoptr(NcclAddresses) addresses = nccl_addresses_new();
	Reading reading = { .addresses = addresses };

	if (!proc_read(root, process, "fib_trie", fib_trie_line, &reading, error) ||
	    !proc_read_optional(root, process, "if_inet6", if_inet6_line, &reading, error))
		return NULL;
	return g_steal_pointer(&addresses);
}

/* ---- default routes ---- */

/* An interface, and the place of its best default route. */
typedef struct {
	guint64 order;
	char name[IF_NAMESIZE];
} Netdev;

/* The metrics of IPv4 and IPv6 are not comparable. */
static guint64 route_order(gboolean is_ipv6, const char *metric)
{
	return is_ipv6 ? 1ULL << 32 | (guint32)g_ascii_strtoull(metric, NULL, 16)
		       : (guint32)g_ascii_strtoll(metric, NULL, 10);
}

/* Returns whether packets leave through the interface; "*" is that of a blackhole. */
static gboolean route_leads(const char *name, const char *flags)
{
	const guint64 bits = g_ascii_strtoull(flags, NULL, 16);

	return bits & RTF_UP && !(bits & RTF_REJECT) && !g_str_equal(name, "lo") &&
	       !g_str_equal(name, "*");
}

/* Keeps the best ones, as a pod may have any number. */
static void netdevs_add(GArray *netdevs, const char *name, guint64 order)
{
	Netdev added = { .order = order };
	guint place = 0;

	g_strlcpy(added.name, name, sizeof(added.name));
	for (guint i = 0; i < netdevs->len; i++) {
		const Netdev *netdev = &g_array_index(netdevs, Netdev, i);

		if (g_str_equal(netdev->name, added.name)) {
			if (netdev->order <= order)
				return;
			g_array_remove_index(netdevs, i);
			break;
		}
	}
	while (place < netdevs->len && g_array_index(netdevs, Netdev, place).order <= order)
		place++;
	g_array_insert_val(netdevs, place, added);
	if (netdevs->len > NETDEVS_MAX)
		g_array_set_size(netdevs, NETDEVS_MAX);
}

/* Splits a line into its non-empty fields, at most `max`, and returns their number. */
static guint line_fields(char *line, char **fields, guint max)
{
	char *rest = line, *field;
	guint n = 0;

	while (n < max && (field = strtok_r(rest, " \t", &rest)))
		fields[n++] = field;
	return n;
}

/* net/ipv4/fib_trie.c fib_route_seq_show(): Iface Destination Gateway Flags RefCnt Use Metric
 * Mask. */
static gboolean route_line(char *line, gpointer data, GError **error)
{
	char *fields[8];

	if (line_fields(line, fields, 8) == 8 && g_str_equal(fields[1], "00000000") &&
	    g_str_equal(fields[7], "00000000") && route_leads(fields[0], fields[3]))
		netdevs_add(data, fields[0], route_order(FALSE, fields[6]));
	return TRUE;
}

/* net/ipv6/route.c rt6_native_seq_show(): destination, its length, source, its length, gateway,
 * metric, references, uses, flags, interface. */
static gboolean ipv6_route_line(char *line, gpointer data, GError **error)
{
	char *fields[10];

	if (line_fields(line, fields, 10) == 10 && g_str_equal(fields[1], "00") &&
	    strspn(fields[0], "0") == 32 && route_leads(fields[9], fields[8]))
		netdevs_add(data, fields[9], route_order(TRUE, fields[5]));
	return TRUE;
}

char **nccl_default_netdevs_read(const RdmadSysroot *root, const char *process, GError **error)
{
	g_autoptr(GArray) netdevs = g_array_new(FALSE, FALSE, sizeof(Netdev));
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();

	if (!proc_read_optional(root, process, "route", route_line, netdevs, error) ||
	    !proc_read_optional(root, process, "ipv6_route", ipv6_route_line, netdevs, error))
		return NULL;
	for (guint i = 0; i < netdevs->len; i++)
		g_strv_builder_add(names, g_array_index(netdevs, Netdev, i).name);
	return g_strv_builder_end(names);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/ethtool-stats.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRIES 3

struct RdmadEthtoolStats {
	char netdev[IFNAMSIZ];
	RdmadEthtoolMatters matters;
	guint n;	/* strings that the driver had */
	GArray *chosen; /* RdmadEthtoolName; NULL: not known yet */
};

/*
 * What the kernel writes to.  It may write as much as the driver has at that moment, whatever room it
 * was told of: the page behind the end is none, so that too much is EFAULT.
 */
typedef struct {
	char *map;
	gsize map_size;
	void *start;
} Room;

static void room_clear(Room *room)
{
	if (room->map)
		munmap(room->map, room->map_size);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Room, room_clear)

static gboolean room_init(Room *room, gsize size)
{
	const gsize page = (gsize)sysconf(_SC_PAGESIZE);
	const gsize pages = (size + page - 1) / page * page;

	room->map_size = pages + page;
	room->map = mmap(NULL, room->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (room->map == MAP_FAILED) {
		room->map = NULL;
		return FALSE;
	}
	room->start = room->map + pages - size;
	return mprotect(room->map + pages, page, PROT_NONE) == 0;
}

static int ask(int fd, const char *netdev, void *command)
{
	struct ifreq ifr = { .ifr_data = command };

	g_strlcpy(ifr.ifr_name, netdev, sizeof(ifr.ifr_name));
	return ioctl(fd, SIOCETHTOOL, &ifr) < 0 ? errno : 0;
}

static int get_count(int fd, const char *netdev, guint *n)
{
	const guint64 wanted = 1ull << ETH_SS_STATS;
	/* The counts stand behind the question. */
	union {
		struct ethtool_sset_info info;
		guint32 words[sizeof(struct ethtool_sset_info) / sizeof(guint32) + 1];
	} request = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = wanted } };
	const int errnum = ask(fd, netdev, &request);

	if (errnum)
		return errnum;
	if (!(request.info.sset_mask & wanted))
		return EOPNOTSUPP;
	*n = request.words[G_N_ELEMENTS(request.words) - 1];
	return *n > RDMAD_ETHTOOL_NAMES_MAX ? E2BIG : 0;
}

/* EAGAIN: there are more or less than `n` now. */
static int ask_all(int fd, const char *netdev, void *command, const guint32 *got, guint n)
{
	const int errnum = ask(fd, netdev, command);

	if (errnum)
		return errnum == EFAULT ? EAGAIN : errnum;
	return *got == n ? 0 : EAGAIN;
}

static int names_look(RdmadEthtoolStats *stats, int fd, guint n)
{
	g_auto(Room) room = { NULL };
	struct ethtool_gstrings *strings;
	int errnum;

	/* A driver without any that matters. */
	if (stats->chosen && stats->chosen->len == 0 && stats->n == n)
		return 0;
	if (!room_init(&room, sizeof(*strings) + (gsize)n * ETH_GSTRING_LEN))
		return ENOMEM;
	strings = room.start;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_STATS;
	strings->len = n;
	errnum = ask_all(fd, stats->netdev, strings, &strings->len, n);
	if (errnum)
		return errnum;
	if (stats->chosen && stats->n == n &&
	    rdmad_ethtool_names_hold(stats->chosen, (const char *)strings->data, n))
		return 0;
	g_clear_pointer(&stats->chosen, g_array_unref);
	stats->chosen = rdmad_ethtool_names_choose((const char *)strings->data, n, stats->matters);
	stats->n = n;
	return 0;
}

static int values_read(RdmadEthtoolStats *stats, int fd, RdmadEthtoolStat fn, gpointer data)
{
	g_auto(Room) room = { NULL };
	struct ethtool_stats *values;
	int errnum;

	if (!room_init(&room, sizeof(*values) + (gsize)stats->n * sizeof(values->data[0])))
		return ENOMEM;
	values = room.start;
	values->cmd = ETHTOOL_GSTATS;
	values->n_stats = stats->n;
	errnum = ask_all(fd, stats->netdev, values, &values->n_stats, stats->n);
	for (guint i = 0; !errnum && i < stats->chosen->len; i++) {
		const RdmadEthtoolName *name = &g_array_index(stats->chosen, RdmadEthtoolName, i);

		fn(name->name, values->data[name->place], data);
	}
	return errnum;
}

static int read_once(RdmadEthtoolStats *stats, int fd, RdmadEthtoolStat fn, gpointer data)
{
	guint n = 0;
	int errnum = get_count(fd, stats->netdev, &n);

	if (!errnum)
		errnum = names_look(stats, fd, n);
	/* Values may cost firmware commands: not for nothing. */
	if (!errnum && stats->chosen->len > 0)
		errnum = values_read(stats, fd, fn, data);
	return errnum;
}

RdmadEthtoolStats *rdmad_ethtool_stats_new(const char *netdev, RdmadEthtoolMatters matters)
{
	RdmadEthtoolStats *stats = g_new0(RdmadEthtoolStats, 1);

	g_strlcpy(stats->netdev, netdev, sizeof(stats->netdev));
	stats->matters = matters;
	return stats;
}

void rdmad_ethtool_stats_free(RdmadEthtoolStats *stats)
{
	if (!stats)
		return;
	g_clear_pointer(&stats->chosen, g_array_unref);
	g_free(stats);
}

int rdmad_ethtool_stats_read(RdmadEthtoolStats *stats, RdmadEthtoolStat fn, gpointer data)
{
	rdmad_autofd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int errnum = EAGAIN;

	if (fd < 0)
		return errno;
	for (guint i = 0; i < TRIES && errnum == EAGAIN; i++)
		errnum = read_once(stats, fd, fn, data);
	return errnum;
}

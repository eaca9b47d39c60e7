/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/counters/ethtool.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <rdmad/fd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- selection ---- */

/* Sorted; "#" is one digit.  Drivers: bnxt_en, hns3, i40e (port.*), ice (*.nic), ionic, mana
 * (hc_*), mlx4_en (*_prio_#), mlx5_core; many drivers have rx_crc_errors. */
static const char *const names[] = {
	"dev_out_of_buffer",
	"frames_rx_bad_fcs",
	"frames_rx_dropped",
	"frames_rx_pripause",
	"frames_tx_pripause",
	"hc_rx_pkt_drop_phy",
	"hc_tc#_rx_pause_phy",
	"hc_tc#_tx_pause_phy",
	"link_down_events",
	"link_down_events_phy",
	"mac_rx_fcs_err_pkt_num",
	"mac_rx_pfc_pri#_pkt_num",
	"mac_tx_pfc_pri#_pkt_num",
	"outbound_pci_buffer_overflow",
	"outbound_pci_stalled_rd",
	"outbound_pci_stalled_rd_events",
	"outbound_pci_stalled_wr",
	"outbound_pci_stalled_wr_events",
	"pfc_pri#_rx_duration_us",
	"pfc_pri#_rx_transitions",
	"pfc_pri#_tx_duration_us",
	"port.rx_crc_errors",
	"port.rx_dropped",
	"port.rx_priority_#_xoff",
	"port.tx_priority_#_xoff",
	"rx_corrected_bits",
	"rx_corrected_bits_phy",
	"rx_crc_errors",
	"rx_crc_errors.nic",
	"rx_crc_errors_phy",
	"rx_discard_packets_cos#",
	"rx_discards_phy",
	"rx_dropped.nic",
	"rx_ecn_mark",
	"rx_err_lane_#_phy",
	"rx_fcs_err_frames",
	"rx_global_pause_duration",
	"rx_global_pause_transition",
	"rx_out_of_buffer",
	"rx_pause_#us_count",
	"rx_pause_duration_prio_#",
	"rx_pause_prio_#",
	"rx_pause_transition_prio_#",
	"rx_pci_signal_integrity",
	"rx_pcs_symbol_err",
	"rx_pcs_symbol_err_phy",
	"rx_pfc_ena_frames_pri#",
	"rx_prio#_buf_discard",
	"rx_prio#_cong_discard",
	"rx_prio#_discards",
	"rx_prio#_marked",
	"rx_prio#_pause",
	"rx_prio#_pause_duration",
	"rx_prio#_pause_transition",
	"rx_priority_#_xoff.nic",
	"rx_pripause_#_#us_count",
	"rx_stat_discard",
	"rx_symbol_err_phy",
	"tx_discards_phy",
	"tx_global_pause_duration",
	"tx_pause_duration_prio_#",
	"tx_pause_prio_#",
	"tx_pause_storm_error_events",
	"tx_pause_storm_warning_events",
	"tx_pci_signal_integrity",
	"tx_pfc_ena_frames_pri#",
	"tx_prio#_pause",
	"tx_prio#_pause_duration",
	"tx_priority_#_xoff.nic",
	"tx_pripause_#_#us_count",
	"tx_stat_discard",
};

const char *rdmad_ethtool_name_pattern(guint i)
{
	return i < G_N_ELEMENTS(names) ? names[i] : NULL;
}

static int compare_names(gconstpointer key, gconstpointer entry)
{
	return strcmp(key, *(const char *const *)entry);
}

gboolean rdmad_ethtool_name_matters(const char *name)
{
	char form[RDMAD_ETHTOOL_NAME_SIZE + 1];
	const gsize len = strlen(name);

	if (len >= sizeof(form))
		return FALSE;
	for (gsize i = 0; i <= len; i++)
		form[i] = g_ascii_isdigit(name[i]) ? '#' : name[i];
	return bsearch(form, names, G_N_ELEMENTS(names), sizeof(names[0]), compare_names) != NULL;
}

static void take_name(const char *table, guint place, RdmadEthtoolName *name)
{
	name->place = place;
	memcpy(name->name, table + (gsize)place * RDMAD_ETHTOOL_NAME_SIZE, RDMAD_ETHTOOL_NAME_SIZE);
	name->name[RDMAD_ETHTOOL_NAME_SIZE] = '\0';
}

GArray *rdmad_ethtool_names_choose(const char *table, guint n, RdmadEthtoolMatters matters)
{
	GArray *chosen = g_array_new(FALSE, FALSE, sizeof(RdmadEthtoolName));

	for (guint i = 0; i < n; i++) {
		RdmadEthtoolName name;

		take_name(table, i, &name);
		if (matters(name.name))
			g_array_append_val(chosen, name);
	}
	return chosen;
}

gboolean rdmad_ethtool_names_hold(const GArray *chosen, const char *table, guint n)
{
	for (guint i = 0; i < chosen->len; i++) {
		const RdmadEthtoolName *name = &g_array_index(chosen, RdmadEthtoolName, i);
		RdmadEthtoolName now;

		if (name->place >= n)
			return FALSE;
		take_name(table, name->place, &now);
		if (strcmp(now.name, name->name) != 0)
			return FALSE;
	}
	return TRUE;
}

/* ---- statistics of one interface ---- */

#define TRIES 3

struct RdmadEthtoolStats {
	char netdev[IFNAMSIZ];
	RdmadEthtoolMatters matters;
	guint n;	/* number of the driver's statistics at the last read */
	GArray *chosen; /* RdmadEthtoolName; NULL: not read yet */
};

/*
 * A buffer for the kernel, which writes as much as the driver has at that moment, regardless of the
 * given size.  The page after the end is inaccessible, so that an overflow fails with EFAULT.
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
	/* The counts follow the request. */
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

/* Returns EAGAIN if the driver's number is no longer `n`. */
static int ask_all(int fd, const char *netdev, void *command, const guint32 *got, guint n)
{
	const int errnum = ask(fd, netdev, command);

	if (errnum)
		return errnum == EFAULT ? EAGAIN : errnum;
	return *got == n ? 0 : EAGAIN;
}

static int names_update(RdmadEthtoolStats *stats, int fd, guint n)
{
	g_auto(Room) room = { NULL };
	struct ethtool_gstrings *strings;
	int errnum;

	/* The driver has no relevant statistics. */
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
		errnum = names_update(stats, fd, n);
	/* Reading values may need firmware commands. */
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

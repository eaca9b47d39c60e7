/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of interfaces: the same thing under the names of many drivers becomes one family. */
#include "names/table.h"

typedef enum {
	PLAIN,
	MICROSECONDS, /* as seconds */
	PERCENT,      /* as a ratio, and a gauge */
} Unit;

/* `pattern`: "#" is one digit, which is the value of `label`. */
typedef struct {
	const char *pattern, *family, *label;
	Unit unit;
	const char *help;
} Pattern;

#define FAMILY(name) "rdma_netdev_" name

#define RX_PFC_FRAMES                                                                              \
	FAMILY("receive_pfc_frames"), "priority", PLAIN,                                           \
		"Priority pause frames received: the peer pauses this class."
#define TX_PFC_FRAMES                                                                              \
	FAMILY("transmit_pfc_frames"), "priority", PLAIN,                                          \
		"Priority pause frames sent: this port pauses this class."
#define RX_PFC_SECONDS                                                                             \
	FAMILY("receive_pfc_pause_seconds"), "priority", MICROSECONDS,                             \
		"Time in which the peer paused this class."
#define TX_PFC_SECONDS                                                                             \
	FAMILY("transmit_pfc_pause_seconds"), "priority", MICROSECONDS,                            \
		"Time in which this port paused this class of the peer."
#define RX_PFC_TRANSITIONS                                                                         \
	FAMILY("receive_pfc_transitions"), "priority", PLAIN, "Pauses of this class by the peer."
#define RX_GLOBAL_SECONDS                                                                          \
	FAMILY("receive_global_pause_seconds"), NULL, MICROSECONDS,                                \
		"Time in which the peer paused all traffic."
#define RX_BUFFER_DISCARDS                                                                         \
	FAMILY("receive_buffer_discards"), "priority", PLAIN,                                      \
		"Packets of this class discarded for lack of buffers."
#define RX_DISCARDS                                                                                \
	FAMILY("receive_discards"), NULL, PLAIN, "Packets received and discarded by the port."
#define TX_DISCARDS                                                                                \
	FAMILY("transmit_discards"), NULL, PLAIN, "Packets to send that the port discarded."
#define RX_CRC_ERRORS                                                                              \
	FAMILY("receive_crc_errors"), NULL, PLAIN, "Frames received with a wrong checksum."
#define RX_PCS_ERRORS                                                                              \
	FAMILY("receive_pcs_symbol_errors"), NULL, PLAIN,                                          \
		"Symbols received with errors that the physical coding could not correct."
#define RX_CORRECTED                                                                               \
	FAMILY("receive_corrected_bit_errors"), NULL, PLAIN,                                       \
		"Bit errors that error correction corrected."
#define LINK_DOWN FAMILY("physical_link_down"), NULL, PLAIN, "Physical link failures."

static const Pattern MLX5[] = {
	{ "rx_prio#_pause", RX_PFC_FRAMES },
	{ "tx_prio#_pause", TX_PFC_FRAMES },
	{ "rx_prio#_pause_duration", RX_PFC_SECONDS },
	{ "tx_prio#_pause_duration", TX_PFC_SECONDS },
	{ "rx_prio#_pause_transition", RX_PFC_TRANSITIONS },
	{ "rx_global_pause_duration", RX_GLOBAL_SECONDS },
	{ "tx_global_pause_duration", FAMILY("transmit_global_pause_seconds"), NULL, MICROSECONDS,
	  "Time in which this port paused all traffic of the peer." },
	{ "rx_global_pause_transition", FAMILY("receive_global_pause_transitions"), NULL, PLAIN,
	  "Pauses of all traffic by the peer." },
	{ "tx_pause_storm_warning_events", FAMILY("pause_storm_warning_events"), NULL, PLAIN,
	  "Long pauses of the peer by this port." },
	{ "tx_pause_storm_error_events", FAMILY("pause_storm_error_events"), NULL, PLAIN,
	  "Pauses of the peer by this port that were long enough to disable pause." },
	{ "rx_prio#_buf_discard", RX_BUFFER_DISCARDS },
	{ "rx_prio#_cong_discard", FAMILY("receive_congestion_discards"), "priority", PLAIN,
	  "Packets of this class discarded because of congestion." },
	{ "rx_prio#_discards", FAMILY("receive_priority_discards"), "priority", PLAIN,
	  "Packets of this class received and discarded." },
	{ "rx_prio#_marked", FAMILY("receive_priority_ecn_marked"), "priority", PLAIN,
	  "Packets of this class that the device marked as congested." },
	{ "rx_ecn_mark", FAMILY("receive_ecn_marked"), NULL, PLAIN,
	  "Packets received that the device marked as congested." },
	{ "rx_discards_phy", RX_DISCARDS },
	{ "tx_discards_phy", TX_DISCARDS },
	{ "rx_crc_errors_phy", RX_CRC_ERRORS },
	{ "rx_symbol_err_phy", FAMILY("receive_symbol_errors"), NULL, PLAIN,
	  "Frames received with wrong symbols." },
	{ "rx_pcs_symbol_err_phy", RX_PCS_ERRORS },
	{ "rx_corrected_bits_phy", RX_CORRECTED },
	{ "rx_err_lane_#_phy", FAMILY("receive_lane_corrected_bit_errors"), "lane", PLAIN,
	  "Bit errors of one lane that error correction corrected." },
	{ "link_down_events_phy", LINK_DOWN },
	{ "rx_out_of_buffer", FAMILY("out_of_buffer"), NULL, PLAIN,
	  "Packets without a receive buffer in the interface's queues." },
	{ "dev_out_of_buffer", FAMILY("device_out_of_buffer"), NULL, PLAIN,
	  "Packets without a receive buffer in the whole device." },
	{ "outbound_pci_stalled_rd", FAMILY("pcie_read_stalled_ratio"), NULL, PERCENT,
	  "Part of the last second in which the device could not read by PCIe." },
	{ "outbound_pci_stalled_wr", FAMILY("pcie_write_stalled_ratio"), NULL, PERCENT,
	  "Part of the last second in which the device could not write by PCIe." },
	{ "outbound_pci_stalled_rd_events", FAMILY("pcie_read_stalled_seconds"), NULL, PLAIN,
	  "Seconds in which the device could not read by PCIe for more than 30 % of the time." },
	{ "outbound_pci_stalled_wr_events", FAMILY("pcie_write_stalled_seconds"), NULL, PLAIN,
	  "Seconds in which the device could not write by PCIe for more than 30 % of the time." },
	{ "outbound_pci_buffer_overflow", FAMILY("pcie_buffer_overflow"), NULL, PLAIN,
	  "Packets dropped because PCIe did not take them fast enough." },
	{ "rx_pci_signal_integrity", FAMILY("pcie_receive_signal_integrity_errors"), NULL, PLAIN,
	  "Errors of the PCIe link in the receive direction." },
	{ "tx_pci_signal_integrity", FAMILY("pcie_transmit_signal_integrity_errors"), NULL, PLAIN,
	  "Errors of the PCIe link in the transmit direction." },
};

static const Pattern OTHERS[] = {
	/* mlx4_en */
	{ "rx_pause_prio_#", RX_PFC_FRAMES },
	{ "tx_pause_prio_#", TX_PFC_FRAMES },
	{ "rx_pause_duration_prio_#", RX_PFC_SECONDS },
	{ "tx_pause_duration_prio_#", TX_PFC_SECONDS },
	{ "rx_pause_transition_prio_#", RX_PFC_TRANSITIONS },
	/* bnxt_en */
	{ "rx_pfc_ena_frames_pri#", RX_PFC_FRAMES },
	{ "tx_pfc_ena_frames_pri#", TX_PFC_FRAMES },
	{ "pfc_pri#_rx_duration_us", RX_PFC_SECONDS },
	{ "pfc_pri#_tx_duration_us", TX_PFC_SECONDS },
	{ "pfc_pri#_rx_transitions", RX_PFC_TRANSITIONS },
	{ "rx_discard_packets_cos#", RX_BUFFER_DISCARDS },
	{ "rx_fcs_err_frames", RX_CRC_ERRORS },
	{ "rx_stat_discard", RX_DISCARDS },
	{ "tx_stat_discard", TX_DISCARDS },
	{ "rx_pcs_symbol_err", RX_PCS_ERRORS },
	{ "rx_corrected_bits", RX_CORRECTED },
	{ "link_down_events", LINK_DOWN },
	/* ice, i40e */
	{ "rx_priority_#_xoff.nic", RX_PFC_FRAMES },
	{ "tx_priority_#_xoff.nic", TX_PFC_FRAMES },
	{ "port.rx_priority_#_xoff", RX_PFC_FRAMES },
	{ "port.tx_priority_#_xoff", TX_PFC_FRAMES },
	{ "rx_crc_errors", RX_CRC_ERRORS },
	{ "rx_crc_errors.nic", RX_CRC_ERRORS },
	{ "port.rx_crc_errors", RX_CRC_ERRORS },
	{ "rx_dropped.nic", RX_DISCARDS },
	{ "port.rx_dropped", RX_DISCARDS },
	/* ionic */
	{ "rx_pripause_#_1us_count", RX_PFC_SECONDS },
	{ "tx_pripause_#_1us_count", TX_PFC_SECONDS },
	{ "rx_pause_1us_count", RX_GLOBAL_SECONDS },
	{ "frames_rx_pripause", FAMILY("receive_all_pfc_frames"), NULL, PLAIN,
	  "Priority pause frames received, of all classes." },
	{ "frames_tx_pripause", FAMILY("transmit_all_pfc_frames"), NULL, PLAIN,
	  "Priority pause frames sent, of all classes." },
	{ "frames_rx_bad_fcs", RX_CRC_ERRORS },
	{ "frames_rx_dropped", RX_DISCARDS },
	/* hns3 */
	{ "mac_rx_pfc_pri#_pkt_num", RX_PFC_FRAMES },
	{ "mac_tx_pfc_pri#_pkt_num", TX_PFC_FRAMES },
	{ "mac_rx_fcs_err_pkt_num", RX_CRC_ERRORS },
	/* mana */
	{ "hc_tc#_rx_pause_phy", RX_PFC_FRAMES },
	{ "hc_tc#_tx_pause_phy", TX_PFC_FRAMES },
	{ "hc_rx_pkt_drop_phy", RX_DISCARDS },
};

static const Pattern LINK[] = {
	{ "carrier_changes", FAMILY("carrier_changes"), NULL, PLAIN, "Carrier state changes." },
};

static const Pattern PAUSE[] = {
	{ "rx_frames", FAMILY("receive_pause_frames"), NULL, PLAIN,
	  "Global pause frames received from the peer." },
	{ "tx_frames", FAMILY("transmit_pause_frames"), NULL, PLAIN,
	  "Global pause frames sent to the peer." },
};

static const Pattern FEC[] = {
	{ "corrected", FAMILY("fec_corrected_blocks"), NULL, PLAIN,
	  "Blocks that forward error correction corrected." },
	{ "uncorr", FAMILY("fec_uncorrectable_blocks"), NULL, PLAIN,
	  "Blocks that forward error correction could not correct." },
	{ "corr_bits", FAMILY("fec_corrected_bit_errors"), NULL, PLAIN,
	  "Bit errors that forward error correction corrected." },
};

/* `digit`: the digit in the place of the "#". */
static gboolean pattern_matches(const char *pattern, const char *raw, guint *digit)
{
	for (; *pattern; pattern++, raw++) {
		if (*pattern == '#' ? !g_ascii_isdigit(*raw) : *pattern != *raw)
			return FALSE;
		if (*pattern == '#')
			*digit = (guint)g_ascii_digit_value(*raw);
	}
	return *raw == '\0';
}

static CounterName *pattern_name(const Pattern *pattern, guint digit)
{
	const gboolean seconds = g_str_has_suffix(pattern->family, "_seconds");
	const NameRow row = { NULL, pattern->family, NULL, pattern->help };
	CounterName *name = counter_name_new(&row);

	name->unit = seconds ? "seconds" : pattern->unit == PERCENT ? "ratio" : NULL;
	name->decimals = pattern->unit == MICROSECONDS ? 6 : pattern->unit == PERCENT ? 2 : 0;
	if (pattern->unit == PERCENT)
		name->type = FAMILY_GAUGE;
	name->label = pattern->label;
	name->label_value = digit;
	return name;
}

static CounterName *table_name(const Pattern *table, guint size, const char *raw)
{
	guint digit = 0;

	for (guint i = 0; i < size; i++)
		if (pattern_matches(table[i].pattern, raw, &digit))
			return pattern_name(&table[i], digit);
	return NULL;
}

static CounterName *ethtool_name(const char *raw)
{
	CounterName *name = table_name(MLX5, G_N_ELEMENTS(MLX5), raw);

	return name ? name : table_name(OTHERS, G_N_ELEMENTS(OTHERS), raw);
}

const char *names_ethtool_pattern(guint i)
{
	const guint n = G_N_ELEMENTS(MLX5);

	if (i < n)
		return MLX5[i].pattern;
	return i - n < G_N_ELEMENTS(OTHERS) ? OTHERS[i - n].pattern : NULL;
}

CounterName *names_netdev(RdmadCounterGroup group, const char *raw)
{
	switch (group) {
	case RDMAD_COUNTER_LINK:
		return table_name(LINK, G_N_ELEMENTS(LINK), raw);
	case RDMAD_COUNTER_PAUSE:
		return table_name(PAUSE, G_N_ELEMENTS(PAUSE), raw);
	case RDMAD_COUNTER_FEC:
		return table_name(FEC, G_N_ELEMENTS(FEC), raw);
	case RDMAD_COUNTER_ETHTOOL:
		return ethtool_name(raw);
	case RDMAD_COUNTER_PORT:
	case RDMAD_COUNTER_HW:
	case RDMAD_COUNTER_DEVICE:
		break;
	}
	return NULL;
}

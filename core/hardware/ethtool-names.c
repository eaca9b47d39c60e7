/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/ethtool-names.h"

#include <stdlib.h>
#include <string.h>

/* Sorted; "#" is one digit.  Drivers: bnxt_en, hns3, i40e (port.*), ice (*.nic), ionic, mana (hc_*),
 * mlx4_en (*_prio_#), mlx5_core; rx_crc_errors is what many call it. */
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

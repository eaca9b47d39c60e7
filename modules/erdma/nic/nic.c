/* SPDX-License-Identifier: Apache-2.0 */
#include "nic/nic.h"

#include <rdmad/doctor.h>

#define SECOND_US	((gint64)G_USEC_PER_SEC)
#define BACKOFF_MAX_S	300
#define METADATA_S	5
#define ROUNDS		3 /* runs without a delay */
#define CONTESTS	5
#define CONTEST_TIME_US (60 * SECOND_US)

static const char *const sources[] = {
	[ERDMA_ADDRESS_AUTO] = "auto",
	[ERDMA_ADDRESS_NETDEV] = "netdev",
	[ERDMA_ADDRESS_METADATA] = "metadata",
	[ERDMA_ADDRESS_STATIC] = "static",
};

ErdmaNic *erdma_nic_new(const ErdmaMatch *match)
{
	ErdmaNic *nic = g_new0(ErdmaNic, 1);

	nic->id = g_strdup(match->id);
	nic->state = ERDMA_N_NIC_STATES;
	return nic;
}

void erdma_nic_free(gpointer data)
{
	ErdmaNic *nic = data;

	g_free(nic->id);
	g_free(nic->device);
	g_free(nic->netdev);
	g_free(nic->reason);
	g_free(nic->note);
	g_free(nic->error);
	g_free(nic->metadata_error);
	erdma_nic_network_free(nic->network);
	g_free(nic);
}

static void text_set(char **member, const char *text)
{
	if (*member == text)
		return;
	g_free(*member);
	*member = g_strdup(text);
}

gboolean erdma_nic_update(ErdmaNic *nic, const ErdmaMatch *match, const ErdmaPlan *plan)
{
	const gboolean is_changed = plan->state != nic->state;

	text_set(&nic->device, match->device);
	text_set(&nic->netdev, match->netdev);
	text_set(&nic->reason, plan->reason);
	text_set(&nic->note, plan->note);
	nic->mac = match->mac;
	nic->mtu = plan->mtu;
	nic->seen = TRUE;
	nic->state = plan->state;
	g_clear_pointer(&nic->network, erdma_nic_network_free);
	if (plan->wanted)
		nic->network = erdma_nic_network_copy(plan->wanted);
	if (plan->state == ERDMA_NIC_CHANGES)
		return is_changed;
	/* The NIC is complete or not rdmad's to configure, so earlier failures do not count. */
	g_clear_pointer(&nic->error, g_free);
	nic->failures = nic->rounds = 0;
	return is_changed;
}

/* 1 s, 2 s, 4 s, ... up to five minutes. */
static gint64 backoff_us(guint n, guint first_s)
{
	return (gint64)MIN((guint64)first_s << MIN(n, 16), BACKOFF_MAX_S) * SECOND_US;
}

void erdma_nic_began(ErdmaNic *nic, gboolean repair, gint64 now_us)
{
	nic->rounds++;
	nic->not_before_us =
		nic->rounds > ROUNDS ? now_us + backoff_us(nic->rounds - ROUNDS, 1) : 0;
	if (!repair)
		return;
	nic->contests = nic->repaired_us && now_us - nic->repaired_us <
						    CONTEST_TIME_US + backoff_us(nic->contests, 1)
				? nic->contests + 1
				: 0;
	nic->repairs++;
	nic->repaired_us = now_us;
	if (erdma_nic_is_contested(nic))
		nic->not_before_us = now_us + backoff_us(nic->contests - CONTESTS, 1);
}

gboolean erdma_nic_is_contested(const ErdmaNic *nic)
{
	return nic->contests > CONTESTS;
}

/* Returns TRUE for a new error. */
static gboolean error_set(char **member, const GError *error)
{
	const gboolean is_new = error && g_strcmp0(*member, error->message) != 0;

	text_set(member, error ? error->message : NULL);
	return is_new;
}

gboolean erdma_nic_ended(ErdmaNic *nic, const GError *error, gint64 now_us)
{
	if (error)
		nic->not_before_us = now_us + backoff_us(nic->failures++, 1);
	return error_set(&nic->error, error);
}

gboolean erdma_nic_metadata_ended(ErdmaNic *nic, const GError *error, gint64 now_us)
{
	if (error)
		nic->metadata_not_before_us =
			now_us + backoff_us(nic->metadata_failures++, METADATA_S);
	else
		nic->metadata_failures = 0;
	return error_set(&nic->metadata_error, error);
}

/* ---- status and doctor ---- */

static json_t *addresses_json(const ErdmaNic *nic)
{
	json_t *list = json_array();
	char text[RDMAD_IP_TEXT];

	for (guint i = 0; nic->network && i < nic->network->addresses->len; i++)
		json_array_append_new(
			list,
			json_string(rdmad_ip_text(
				&g_array_index(nic->network->addresses, RdmadIp, i), TRUE, text)));
	return list;
}

static json_t *gateways_json(const ErdmaNic *nic)
{
	json_t *list = json_array();
	char text[RDMAD_IP_TEXT];

	for (guint f = 0; nic->network && f < G_N_ELEMENTS(nic->network->gateway); f++)
		if (nic->network->gateway[f].family)
			json_array_append_new(
				list,
				json_string(rdmad_ip_text(&nic->network->gateway[f], FALSE, text)));
	return list;
}

json_t *erdma_nic_json(const ErdmaNic *nic)
{
	char mac[RDMAD_MAC_TEXT];

	return json_pack("{s:s, s:s?, s:s?, s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:o, s:i, s:I}",
			 "device_name", nic->device, "netdev", nic->netdev, "mac",
			 nic->mac.length ? rdmad_mac_format(&nic->mac, mac) : NULL, "state",
			 nic->error ? "failed" : erdma_nic_state_name(nic->state), "reason",
			 nic->reason, "note", nic->note, "error", nic->error, "metadata_error",
			 nic->metadata_error, "source",
			 nic->network ? sources[nic->network->from] : NULL, "addresses",
			 addresses_json(nic), "gateways", gateways_json(nic), "mtu", nic->mtu,
			 "repairs", (json_int_t)nic->repairs);
}

static const char *advice(const ErdmaNic *nic)
{
	if (nic->metadata_error)
		return "check modules.erdma.nics.metadata, or give the address by nics.addresses: "
		       "rdmad-erdma(7)";
	if (nic->state == ERDMA_NIC_FOREIGN)
		return "let one of the two have it: rdmad-erdma(7), COEXISTENCE";
	return "see rdmad-erdma(7), NICS";
}

void erdma_nic_doctor(const ErdmaNic *nic, json_t *findings)
{
	const gboolean is_bad = nic->error || nic->state == ERDMA_NIC_REFUSED;
	const char *why = nic->error ?: nic->reason ?: nic->note;
	g_autofree char *text = g_strdup_printf(
		"%s of %s: %s%s%s%s%s", nic->netdev ?: "interface", nic->device,
		nic->error ? "failed" : erdma_nic_state_name(nic->state), why ? ": " : "",
		why ?: "", nic->metadata_error ? "; metadata service: " : "",
		nic->metadata_error ?: "");
	const gboolean is_note = nic->note || nic->metadata_error ||
				 nic->state == ERDMA_NIC_FOREIGN || erdma_nic_is_contested(nic);

	rdmad_doctor_add(findings,
			 is_bad	   ? RDMAD_FINDING_PROBLEM
			 : is_note ? RDMAD_FINDING_NOTE
				   : RDMAD_FINDING_OK,
			 "erdma nic", text, is_bad || is_note ? advice(nic) : NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <jansson.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <string.h>

#include "error.h"

#define TEXT_MAX 253u

const CniNetworkKeys cni_network_keys_none = {
	.vlan = -1,
	.vlan_qos = -1,
	.spoof_check = -1,
	.trust = -1,
	.link_state = -1,
	.min_rate = -1,
	.max_rate = -1,
};

void cni_network_keys_clear(CniNetworkKeys *keys)
{
	g_clear_pointer(&keys->policy, g_free);
	g_clear_pointer(&keys->mode, g_free);
	g_clear_pointer(&keys->resource, g_free);
}

gboolean cni_guid_parse(const char *text, guint64 *guid)
{
	char digits[17];
	gsize n = 0;

	if (g_str_has_prefix(text, "0x"))
		text += 2;
	for (gsize i = 0; text[i]; i++) {
		if (text[i] == ':' && i % 3 == 2)
			continue;
		if (!g_ascii_isxdigit(text[i]) || n == 16)
			return FALSE;
		digits[n++] = text[i];
	}
	digits[n] = '\0';
	*guid = g_ascii_strtoull(digits, NULL, 16);
	return n == 16 && (strlen(text) == 16 || strlen(text) == 23) && *guid &&
	       *guid != G_MAXUINT64;
}

static gboolean text_parse(const json_t *config, const char *key, char **text, GError **error)
{
	const json_t *value = json_object_get(config, key);
	const char *string = json_string_value(value);

	if (!value || json_is_null(value))
		return TRUE;
	if (!string || !string[0] || strlen(string) > TEXT_MAX)
		return cni_refuse(error, CNI_ERROR_CONFIG, "%s: not a string of 1 to %u bytes", key,
				  TEXT_MAX);
	*text = g_strdup(string);
	return TRUE;
}

static gboolean number_parse(const json_t *config, const char *key, gint64 min, gint64 max,
			     gint64 *number, GError **error)
{
	const json_t *value = json_object_get(config, key);

	if (!value || json_is_null(value))
		return TRUE;
	if (!json_is_integer(value) || json_integer_value(value) < min ||
	    json_integer_value(value) > max)
		return cni_refuse(error, CNI_ERROR_CONFIG,
				  "%s: not a number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
				  key, min, max);
	*number = json_integer_value(value);
	return TRUE;
}

/* Sets `*chosen` to the value of the word, and leaves it unchanged if the key is absent. */
typedef struct {
	const char *word;
	int value;
} Word;

static gboolean word_parse(const json_t *config, const char *key, const Word *words, int *chosen,
			   GError **error)
{
	const json_t *value = json_object_get(config, key);
	const char *text = json_string_value(value);

	if (!value || json_is_null(value) || (text && !text[0]))
		return TRUE;
	for (const Word *word = words; text && word->word; word++) {
		if (g_ascii_strcasecmp(word->word, text) == 0) {
			*chosen = word->value;
			return TRUE;
		}
	}
	return cni_refuse(error, CNI_ERROR_CONFIG, "%s: \"%.32s\" is not one of its values", key,
			  text ? text : "");
}

/* 0x8001, "0x8001" and "8001" are one P_Key. */
static gboolean pkey_parse(const json_t *config, guint32 *pkey, GError **error)
{
	const json_t *value = json_object_get(config, "pkey");
	const char *text = json_string_value(value);
	gint64 number = json_integer_value(value);
	char *end = NULL;

	if (!value || json_is_null(value))
		return TRUE;
	if (text && strlen(text) <= 6)
		number = g_ascii_strtoll(text, &end, 16);
	if ((text && (!end || *end || end == text)) || (!text && !json_is_integer(value)) ||
	    number <= 0 || number > 0xffff || !(number & 0x7fff))
		return cni_refuse(error, CNI_ERROR_CONFIG, "pkey: not from 0x1 to 0xffff");
	*pkey = (guint32)number;
	return TRUE;
}

gboolean cni_network_keys_parse(const json_t *config, CniNetworkKeys *keys, GError **error)
{
	static const Word on_off[] = { { "on", 1 }, { "off", 0 }, { NULL } };
	static const Word states[] = { { "auto", IFLA_VF_LINK_STATE_AUTO },
				       { "enable", IFLA_VF_LINK_STATE_ENABLE },
				       { "disable", IFLA_VF_LINK_STATE_DISABLE },
				       { NULL } };
	static const Word sources[] = { { "netDeviceSubnet", TRUE }, { NULL } };
	static const Word protocols[] = { { "802.1q", ETH_P_8021Q },
					  { "802.1ad", ETH_P_8021AD },
					  { NULL } };
	int protocol = 0;
	gint64 mtu = 0;

	if (!text_parse(config, "policy", &keys->policy, error) ||
	    !text_parse(config, "mode", &keys->mode, error) ||
	    !text_parse(config, "resourceName", &keys->resource, error) ||
	    !number_parse(config, "mtu", 68, 65535, &mtu, error) ||
	    !number_parse(config, "vlan", 0, 4094, &keys->vlan, error) ||
	    !number_parse(config, "vlanQoS", 0, 7, &keys->vlan_qos, error) ||
	    !number_parse(config, "min_tx_rate", 0, G_MAXUINT32, &keys->min_rate, error) ||
	    !number_parse(config, "max_tx_rate", 0, G_MAXUINT32, &keys->max_rate, error) ||
	    !word_parse(config, "spoofchk", on_off, &keys->spoof_check, error) ||
	    !word_parse(config, "trust", on_off, &keys->trust, error) ||
	    !word_parse(config, "link_state", states, &keys->link_state, error) ||
	    !word_parse(config, "vlanProto", protocols, &protocol, error) ||
	    !word_parse(config, "ipRangesSource", sources, &keys->nic_ranges, error) ||
	    !pkey_parse(config, &keys->pkey, error))
		return FALSE;
	keys->mtu = (guint32)mtu;
	keys->vlan_protocol = (guint32)protocol;
	if (keys->max_rate > 0 && keys->min_rate > keys->max_rate)
		return cni_refuse(error, CNI_ERROR_CONFIG, "min_tx_rate: above max_tx_rate");
	if (keys->vlan_qos > 0 && keys->vlan <= 0)
		return cni_refuse(error, CNI_ERROR_CONFIG, "vlanQoS: there is no vlan");
	return TRUE;
}

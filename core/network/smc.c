/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/smc.h>

#include <linux/genetlink.h>
#include <linux/smc.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <errno.h>
#include <rdmad/error.h>
#include <string.h>

#include "hardware/netlink/socket.h"

#define PORT	   1 /* the only port of Ethernet NICs */
#define FIELD_NONE "n/a"

typedef struct {
	const char *name;
	guint8 version;
} Family;

static const Family pnet_family = { SMCR_GENL_FAMILY_NAME, SMCR_GENL_FAMILY_VERSION };
static const Family smc_family = { SMC_GENL_FAMILY_NAME, SMC_GENL_FAMILY_VERSION };

/* ---- names ---- */

gboolean rdmad_smc_pnetid_check(const char *pnetid, GError **error)
{
	const gsize length = strlen(pnetid);
	gsize i = 0;

	while (g_ascii_isupper(pnetid[i]) || g_ascii_isdigit(pnetid[i]))
		i++;
	if (length && i == length && length <= RDMAD_SMC_PNETID_MAX)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "\"%s\" must be 1 to %u upper-case letters and digits", pnetid,
		    RDMAD_SMC_PNETID_MAX);
	return FALSE;
}

gboolean rdmad_smc_eid_check(const char *eid, GError **error)
{
	const gsize length = strlen(eid);
	gsize i = 0;

	while (g_ascii_isupper(eid[i]) || g_ascii_isdigit(eid[i]) ||
	       (i && (eid[i] == '-' || (eid[i] == '.' && eid[i - 1] != '.'))))
		i++;
	if (length && i == length && length <= RDMAD_SMC_EID_MAX)
		return TRUE;
	g_set_error(
		error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		"\"%s\" must be 1 to %u of A-Z, 0-9, \".\" and \"-\", beginning with a letter or "
		"digit and without two dots in a row",
		eid, RDMAD_SMC_EID_MAX);
	return FALSE;
}

gboolean rdmad_smc_pnetid_is_valid(const char *pnetid)
{
	return rdmad_smc_pnetid_check(pnetid, NULL);
}

gboolean rdmad_smc_eid_is_valid(const char *eid)
{
	return rdmad_smc_eid_check(eid, NULL);
}

/* ---- generic netlink ---- */

static struct nl_msg *request_new(guint16 family, guint8 command, guint8 version, int flags)
{
	const struct genlmsghdr genl = { .cmd = command, .version = version };
	struct nl_msg *msg = nlmsg_alloc_simple(family, flags);

	if (!msg || nlmsg_append(msg, (void *)&genl, sizeof(genl), NLMSG_ALIGNTO) < 0)
		g_error("out of memory");
	return msg;
}

static gboolean attributes_parse(const struct nlmsghdr *msg, struct nlattr **attrs, int max)
{
	return nlmsg_datalen(msg) >= (int)GENL_HDRLEN &&
	       nlmsg_parse((struct nlmsghdr *)msg, GENL_HDRLEN, attrs, max, NULL) >= 0;
}

/* Returns NULL if the attribute is absent, or has the kernel's text for none.  EIDs are padded. */
static char *attribute_text(struct nlattr *attr)
{
	g_autofree char *text =
		attr ? g_strndup(nla_data(attr), (gsize)MAX(nla_len(attr), 0)) : NULL;

	if (text)
		g_strchomp(text);
	return text && *text && !g_str_equal(text, FIELD_NONE) ? g_steal_pointer(&text) : NULL;
}

static gboolean family_each(const struct nlmsghdr *msg, gpointer data)
{
	struct nlattr *attrs[CTRL_ATTR_MAX + 1];

	if (attributes_parse(msg, attrs, CTRL_ATTR_MAX) && attrs[CTRL_ATTR_FAMILY_ID] &&
	    nla_len(attrs[CTRL_ATTR_FAMILY_ID]) == sizeof(guint16))
		*(guint16 *)data = nla_get_u16(attrs[CTRL_ATTR_FAMILY_ID]);
	return TRUE;
}

static void nothing(gpointer data)
{
}

/* Returns 0 if the kernel has no SMC. */
static guint16 family_number(RdmadNetlink *nl, const Family *family, GError **error)
{
	struct nl_msg *msg = request_new(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1, NLM_F_ACK);
	g_autoptr(GError) why = NULL;
	guint16 number = 0;

	nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, family->name);
	if (rdmad_netlink_ask_each(nl, msg, family_each, nothing, &number, &why) && number)
		return number;
	if (!why || rdmad_netlink_errnum(nl) == ENOENT)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
			    "this kernel has no SMC, or its module smc is not loaded (generic "
			    "netlink has no %s)",
			    family->name);
	else
		g_propagate_error(error, g_steal_pointer(&why));
	return 0;
}

/* A request to the family on its own socket; `number` is set to the kernel's errno. */
typedef struct {
	RdmadNetlink *nl;
	guint16 number;
	const Family *family;
} Talk;

static gboolean talk_open(Talk *talk, const Family *family, GError **error)
{
	talk->family = family;
	talk->nl = rdmad_netlink_open(NETLINK_GENERIC, error);
	talk->number = talk->nl ? family_number(talk->nl, family, error) : 0;
	return talk->number != 0;
}

static struct nl_msg *talk_request(const Talk *talk, guint8 command, int flags)
{
	return request_new(talk->number, command, talk->family->version, flags);
}

static void array_empty(gpointer data)
{
	GPtrArray *array = *(GPtrArray **)data;

	if (array->len)
		g_ptr_array_remove_range(array, 0, array->len);
}

/* Takes `results` over. */
static GPtrArray *talk_dump(const Family *family, guint8 command, RdmadNetlinkEach each,
			    GPtrArray *results, GError **error)
{
	Talk talk = { 0 };
	const gboolean ok =
		talk_open(&talk, family, error) &&
		rdmad_netlink_ask_each(talk.nl, talk_request(&talk, command, NLM_F_DUMP), each,
				       array_empty, &results, error);

	rdmad_netlink_close(talk.nl);
	if (ok)
		return results;
	g_ptr_array_unref(results);
	return NULL;
}

/* ---- physical networks ---- */

void rdmad_smc_pnet_free(gpointer data)
{
	RdmadSmcPnet *pnet = data;

	g_free(pnet->pnetid);
	g_free(pnet->netdev);
	g_free(pnet->device);
	g_free(pnet);
}

static gboolean pnet_each(const struct nlmsghdr *msg, gpointer data)
{
	GPtrArray *pnets = *(GPtrArray **)data;
	struct nlattr *attrs[SMC_PNETID_MAX + 1];
	RdmadSmcPnet *pnet;

	if (!attributes_parse(msg, attrs, SMC_PNETID_MAX) || !attrs[SMC_PNETID_NAME])
		return TRUE;
	pnet = g_new0(RdmadSmcPnet, 1);
	pnet->pnetid = attribute_text(attrs[SMC_PNETID_NAME]);
	pnet->netdev = attribute_text(attrs[SMC_PNETID_ETHNAME]);
	pnet->device = attribute_text(attrs[SMC_PNETID_IBNAME]);
	g_ptr_array_add(pnets, pnet);
	return TRUE;
}

GPtrArray *rdmad_smc_pnets_list(GError **error)
{
	return talk_dump(&pnet_family, SMC_PNETID_GET, pnet_each,
			 g_ptr_array_new_with_free_func(rdmad_smc_pnet_free), error);
}

static gboolean pnet_is(const RdmadSmcPnet *pnet, const char *pnetid, const char *netdev,
			const char *device)
{
	return (!pnetid || g_strcmp0(pnet->pnetid, pnetid) == 0) &&
	       g_strcmp0(pnet->netdev, netdev) == 0 && g_strcmp0(pnet->device, device) == 0;
}

static const RdmadSmcPnet *pnet_find(const GPtrArray *pnets, const char *pnetid, const char *netdev,
				     const char *device)
{
	for (guint i = 0; i < pnets->len; i++)
		if (pnet_is(pnets->pdata[i], pnetid, netdev, device))
			return pnets->pdata[i];
	return NULL;
}

static gboolean pnet_change(Talk *talk, guint8 command, const RdmadSmcPnet *pnet, GError **error)
{
	struct nl_msg *msg = talk_request(talk, command, NLM_F_ACK);

	nla_put_string(msg, SMC_PNETID_NAME, pnet->pnetid);
	if (pnet->netdev)
		nla_put_string(msg, SMC_PNETID_ETHNAME, pnet->netdev);
	if (pnet->device) {
		nla_put_string(msg, SMC_PNETID_IBNAME, pnet->device);
		nla_put_u8(msg, SMC_PNETID_IBPORT, PORT);
	}
	return rdmad_netlink_ask_each(talk->nl, msg, family_each, nothing, &(guint16){ 0 }, error);
}

gboolean rdmad_smc_pnet_add(const char *pnetid, const char *netdev, const char *device,
			    GError **error)
{
	const RdmadSmcPnet pnet = { (char *)pnetid, (char *)netdev, (char *)device };
	g_autoptr(GPtrArray) pnets = rdmad_smc_pnets_list(error);
	const RdmadSmcPnet *there = pnets ? pnet_find(pnets, NULL, netdev, device) : NULL;
	Talk talk = { 0 };
	gboolean ok;

	if (!pnets || !rdmad_smc_pnetid_check(pnetid, error))
		return FALSE;
	if (there && g_strcmp0(there->pnetid, pnetid) != 0) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY, "%s has the PNETID %s",
			    netdev ?: device, there->pnetid);
		return FALSE;
	}
	if (there)
		return TRUE;
	ok = talk_open(&talk, &pnet_family, error) &&
	     (pnet_change(&talk, SMC_PNETID_ADD, &pnet, error) ||
	      (g_prefix_error(error, "cannot give %s the PNETID %s: ", netdev ?: device, pnetid),
	       FALSE));
	rdmad_netlink_close(talk.nl);
	return ok;
}

static gboolean pnet_delete(Talk *talk, const GPtrArray *pnets, const RdmadSmcPnet *ours,
			    GError **error)
{
	if (!pnet_change(talk, SMC_PNETID_DEL, &(RdmadSmcPnet){ .pnetid = ours->pnetid }, error))
		return FALSE;
	for (guint i = 0; i < pnets->len; i++) {
		const RdmadSmcPnet *other = pnets->pdata[i];

		if (g_strcmp0(other->pnetid, ours->pnetid) == 0 && other != ours &&
		    !pnet_change(talk, SMC_PNETID_ADD, other, error))
			return FALSE;
	}
	return TRUE;
}

gboolean rdmad_smc_pnet_delete(const char *pnetid, const char *netdev, const char *device,
			       GError **error)
{
	g_autoptr(GPtrArray) pnets = rdmad_smc_pnets_list(error);
	const RdmadSmcPnet *ours = pnets ? pnet_find(pnets, pnetid, netdev, device) : NULL;
	Talk talk = { 0 };
	gboolean ok;

	if (!ours)
		return pnets != NULL;
	ok = talk_open(&talk, &pnet_family, error) &&
	     (pnet_delete(&talk, pnets, ours, error) ||
	      (g_prefix_error(error, "cannot delete the PNETID %s: ", pnetid), FALSE));
	rdmad_netlink_close(talk.nl);
	return ok;
}

/* ---- EIDs ---- */

static gboolean eid_each(const struct nlmsghdr *msg, gpointer data)
{
	GPtrArray *eids = *(GPtrArray **)data;
	struct nlattr *attrs[SMC_NLA_EID_TABLE_MAX + 1];
	char *eid;

	if (!attributes_parse(msg, attrs, SMC_NLA_EID_TABLE_MAX))
		return TRUE;
	eid = attribute_text(attrs[SMC_NLA_EID_TABLE_ENTRY]);
	if (eid)
		g_ptr_array_add(eids, eid);
	return TRUE;
}

static char **texts_end(GPtrArray *texts)
{
	if (!texts)
		return NULL;
	g_ptr_array_set_free_func(texts, NULL);
	g_ptr_array_add(texts, NULL);
	return (char **)g_ptr_array_free(texts, FALSE);
}

char **rdmad_smc_eids_list(GError **error)
{
	return texts_end(talk_dump(&smc_family, SMC_NETLINK_DUMP_UEID, eid_each,
				   g_ptr_array_new_with_free_func(g_free), error));
}

static gboolean eid_change(const char *eid, gboolean there, GError **error)
{
	g_auto(GStrv) eids = rdmad_smc_eids_list(error);
	char padded[RDMAD_SMC_EID_MAX + 1];
	Talk talk = { 0 };
	struct nl_msg *msg;
	gboolean ok;

	if (!eids || !rdmad_smc_eid_check(eid, error))
		return FALSE;
	if (g_strv_contains((const char *const *)eids, eid) == there)
		return TRUE;
	if (there && g_strv_length(eids) >= SMC_MAX_UEID) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT,
			    "the kernel has %u EIDs already, the maximum", SMC_MAX_UEID);
		return FALSE;
	}
	if (!talk_open(&talk, &smc_family, error)) {
		rdmad_netlink_close(talk.nl);
		return FALSE;
	}
	msg = talk_request(&talk, there ? SMC_NETLINK_ADD_UEID : SMC_NETLINK_REMOVE_UEID,
			   NLM_F_ACK);
	/* The kernel's EIDs have 32 characters, padded with blanks. */
	g_snprintf(padded, sizeof(padded), "%-*s", (int)RDMAD_SMC_EID_MAX, eid);
	nla_put_string(msg, SMC_NLA_EID_TABLE_ENTRY, padded);
	ok = rdmad_netlink_ask_each(talk.nl, msg, family_each, nothing, &(guint16){ 0 }, error);
	rdmad_netlink_close(talk.nl);
	return ok ||
	       (g_prefix_error(error, "cannot %s EID %s: ", there ? "add" : "remove", eid), FALSE);
}

gboolean rdmad_smc_eid_add(const char *eid, GError **error)
{
	return eid_change(eid, TRUE, error);
}

gboolean rdmad_smc_eid_remove(const char *eid, GError **error)
{
	return eid_change(eid, FALSE, error);
}

/* ---- RDMA devices ---- */

static gboolean device_each(const struct nlmsghdr *msg, gpointer data)
{
	GPtrArray *devices = *(GPtrArray **)data;
	struct nlattr *attrs[SMC_GEN_MAX + 1], *device[SMC_NLA_DEV_MAX + 1];
	char *name;

	if (!attributes_parse(msg, attrs, SMC_GEN_MAX) || !attrs[SMC_GEN_DEV_SMCR] ||
	    nla_parse_nested(device, SMC_NLA_DEV_MAX, attrs[SMC_GEN_DEV_SMCR], NULL) < 0)
		return TRUE;
	name = attribute_text(device[SMC_NLA_DEV_IB_NAME]);
	if (name)
		g_ptr_array_add(devices, name);
	return TRUE;
}

char **rdmad_smc_devices_list(GError **error)
{
	return texts_end(talk_dump(&smc_family, SMC_NETLINK_GET_DEV_SMCR, device_each,
				   g_ptr_array_new_with_free_func(g_free), error));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "service/claim-private.h"

#include <string.h>

#define NAME_MAX_BYTES 253u /* as Kubernetes' own names */
#define PATH_MAX_BYTES 4095u
#define ADDRESSES_MAX  64u

/* An id is a name and no secret.  getrandom() may fail, before the kernel's pool is filled and under a
 * filter of system calls; GLib falls back to the time. */
static char *random_id(void)
{
	return g_strdup_printf("%08x%08x", g_random_int(), g_random_int());
}

RdmadClaim *rdmad_claim_new(char *id)
{
	RdmadClaim *claim = g_new0(RdmadClaim, 1);

	claim->refs = 1;
	claim->id = id ? id : random_id();
	return claim;
}

void rdmad_attachment_copy(RdmadAttachment *to, const RdmadAttachment *from)
{
	*to = (RdmadAttachment){
		.netns = g_strdup(from->netns),
		.interface = g_strdup(from->interface),
		.rdma_device = g_strdup(from->rdma_device),
		.addresses = from->addresses ? g_strdupv(from->addresses) : g_new0(char *, 1),
		.gid_index = from->gid_index,
	};
}

void rdmad_attachment_clear(RdmadAttachment *attachment)
{
	g_free(attachment->netns);
	g_free(attachment->interface);
	g_free(attachment->rdma_device);
	g_strfreev(attachment->addresses);
}

RdmadClaim *rdmad_claim_copy(const RdmadClaim *from)
{
	RdmadClaim *claim = g_memdup2(from, sizeof(*from));

	claim->refs = 1;
	claim->id = g_strdup(from->id);
	claim->resource = g_strdup(from->resource);
	claim->tokens = g_strdupv(from->tokens);
	claim->devices = g_strdupv(from->devices);
	claim->owner = g_strdup(from->owner);
	claim->mode = g_strdup(from->mode);
	claim->pod_namespace = g_strdup(from->pod_namespace);
	claim->pod_name = g_strdup(from->pod_name);
	claim->container = g_strdup(from->container);
	claim->boot = g_strdup(from->boot);
	claim->kubelet = g_strdup(from->kubelet);
	claim->attachments = g_new0(RdmadAttachment, from->n_attachments);
	for (guint i = 0; i < from->n_attachments; i++)
		rdmad_attachment_copy(&claim->attachments[i], &from->attachments[i]);
	return claim;
}

static void claim_free(RdmadClaim *claim)
{
	g_free(claim->id);
	g_free(claim->resource);
	g_strfreev(claim->tokens);
	g_strfreev(claim->devices);
	g_free(claim->owner);
	g_free(claim->mode);
	g_free(claim->pod_namespace);
	g_free(claim->pod_name);
	g_free(claim->container);
	g_free(claim->boot);
	g_free(claim->kubelet);
	for (guint i = 0; i < claim->n_attachments; i++)
		rdmad_attachment_clear(&claim->attachments[i]);
	g_free(claim->attachments);
	g_free(claim);
}

const RdmadClaim *rdmad_claim_ref(const RdmadClaim *claim)
{
	g_atomic_int_inc((int *)&claim->refs);
	return claim;
}

void rdmad_claim_unref(const RdmadClaim *claim)
{
	if (claim && g_atomic_int_dec_and_test((int *)&claim->refs))
		claim_free((RdmadClaim *)claim);
}

void rdmad_claim_set_pod(RdmadClaim *claim, const char *pod_namespace, const char *pod_name,
			 const char *container)
{
	g_free(claim->pod_namespace);
	g_free(claim->pod_name);
	g_free(claim->container);
	claim->pod_namespace = g_strdup(pod_namespace);
	claim->pod_name = g_strdup(pod_name);
	claim->container = g_strdup(container);
}

void rdmad_claim_set_witness(RdmadClaim *claim, const char *boot, const char *kubelet)
{
	g_free(claim->boot);
	g_free(claim->kubelet);
	claim->boot = g_strdup(boot);
	claim->kubelet = g_strdup(kubelet);
}

int rdmad_claim_find_attachment(const RdmadClaim *claim, const char *netns, const char *interface)
{
	for (guint i = 0; i < claim->n_attachments; i++)
		if (!g_strcmp0(claim->attachments[i].netns, netns) &&
		    !g_strcmp0(claim->attachments[i].interface, interface))
			return (int)i;
	return -1;
}

void rdmad_claim_remove_attachment(RdmadClaim *claim, guint index)
{
	RdmadAttachment *at = &claim->attachments[index];

	rdmad_attachment_clear(at);
	claim->n_attachments--;
	memmove(at, at + 1, (claim->n_attachments - index) * sizeof(*at));
}

void rdmad_claim_add_attachment(RdmadClaim *claim, const RdmadAttachment *attachment)
{
	const guint n = claim->n_attachments++;

	claim->attachments = g_renew(RdmadAttachment, claim->attachments, n + 1);
	rdmad_attachment_copy(&claim->attachments[n], attachment);
}

static gboolean check_failed(GError **error, const char *what, const char *problem)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s of a claim %s", what, problem);
	return FALSE;
}

static gboolean check_text(const char *what, const char *text, gsize max, GError **error)
{
	if (!text || !*text)
		return check_failed(error, what, "is empty");
	if (strnlen(text, max + 1) > max)
		return check_failed(error, what, "is too long");
	if (!g_utf8_validate(text, -1, NULL))
		return check_failed(error, what, "is not UTF-8");
	return TRUE;
}

static gboolean check_optional(const char *what, const char *text, GError **error)
{
	return !text || check_text(what, text, NAME_MAX_BYTES, error);
}

gboolean rdmad_claim_id_is_valid(const char *id)
{
	return id && strlen(id) == RDMAD_CLAIM_ID_LENGTH &&
	       strspn(id, "0123456789abcdef") == RDMAD_CLAIM_ID_LENGTH;
}

static gboolean check_id(const char *id, GError **error)
{
	if (!rdmad_claim_id_is_valid(id))
		return check_failed(error, "the id", "is not 16 hexadecimal digits");
	return TRUE;
}

static gboolean check_tokens(char *const *tokens, char *const *devices, GError **error)
{
	guint n = 0;

	while (tokens && devices && tokens[n] && devices[n]) {
		if (n == RDMAD_CLAIM_MAX_TOKENS)
			return check_failed(error, "the list", "of tokens is too long");
		if (!check_text("a token", tokens[n], NAME_MAX_BYTES, error) ||
		    !check_text("a device", devices[n], NAME_MAX_BYTES, error))
			return FALSE;
		if (n && strcmp(tokens[n - 1], tokens[n]) >= 0)
			return check_failed(error, "a token", "is there twice or out of order");
		n++;
	}
	if (n == 0)
		return check_failed(error, "the list", "of tokens is empty");
	if (tokens[n] || devices[n])
		return check_failed(error, "the lists", "of tokens and devices differ in length");
	return TRUE;
}

static gboolean check_attachment(const RdmadAttachment *at, GError **error)
{
	guint n = 0;

	if (!check_text("a network namespace", at->netns, PATH_MAX_BYTES, error) ||
	    !check_text("an interface", at->interface, NAME_MAX_BYTES, error) ||
	    !check_optional("an RDMA device", at->rdma_device, error))
		return FALSE;
	for (char *const *address = at->addresses; address && *address; address++) {
		if (++n > ADDRESSES_MAX)
			return check_failed(error, "an attachment", "has too many addresses");
		if (!check_text("an address", *address, NAME_MAX_BYTES, error))
			return FALSE;
		/* They are kept one a line. */
		if (strchr(*address, '\n'))
			return check_failed(error, "an address", "has a line break in it");
	}
	return TRUE;
}

gboolean rdmad_claim_check(const RdmadClaim *claim, GError **error)
{
	if (!check_id(claim->id, error) ||
	    !check_text("the resource", claim->resource, 2 * NAME_MAX_BYTES, error) ||
	    !check_text("the owner", claim->owner, NAME_MAX_BYTES, error) ||
	    !check_optional("the mode", claim->mode, error) ||
	    !check_tokens(claim->tokens, claim->devices, error) ||
	    !check_optional("the namespace", claim->pod_namespace, error) ||
	    !check_optional("the pod", claim->pod_name, error) ||
	    !check_optional("the container", claim->container, error) ||
	    !check_optional("the boot", claim->boot, error) ||
	    !check_optional("the kubelet", claim->kubelet, error))
		return FALSE;
	if (claim->n_attachments > RDMAD_CLAIM_MAX_ATTACHMENTS)
		return check_failed(error, "the list", "of attachments is too long");
	for (guint i = 0; i < claim->n_attachments; i++)
		if (!check_attachment(&claim->attachments[i], error))
			return FALSE;
	return TRUE;
}

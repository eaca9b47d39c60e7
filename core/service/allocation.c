/* SPDX-License-Identifier: Apache-2.0 */
#include "service/allocation-private.h"

#include <rdmad/intern.h>
#include <rdmad/random.h>
#include <string.h>

#define NAME_MAX_BYTES 253u /* the limit of Kubernetes' names */
#define PATH_MAX_BYTES 4095u
#define ADDRESSES_MAX  64u
#define NUMBER_MAX     (G_MAXINT64 / 2) /* those of later allocations are larger */

/* An id is not a secret, so it needs no secure random numbers. */
static char *random_id(void)
{
	return g_strdup_printf("%08x%08x", rdmad_random(), rdmad_random());
}

RdmadAllocation *rdmad_allocation_new(char *id)
{
	RdmadAllocation *allocation = g_new0(RdmadAllocation, 1);

	allocation->refs = 1;
	allocation->id = id ? id : random_id();
	return allocation;
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

void rdmad_allocation_add_file(RdmadAllocation *allocation, const RdmadAllocationFile *file)
{
	RdmadAllocationFile *copy;

	allocation->files =
		g_renew(RdmadAllocationFile, allocation->files, allocation->n_files + 1);
	copy = &allocation->files[allocation->n_files++];
	*copy = *file;
	/* A thousand allocations may have the same files. */
	copy->device = rdmad_intern(file->device);
	copy->path = rdmad_intern(file->path);
}

static void files_clear(RdmadAllocation *allocation)
{
	for (guint i = 0; i < allocation->n_files; i++) {
		rdmad_intern_release(allocation->files[i].device);
		rdmad_intern_release(allocation->files[i].path);
	}
	g_clear_pointer(&allocation->files, g_free);
	allocation->n_files = 0;
}

/* Each container of a new boot starts again: with the same paths, whatever numbers these have now,
 * or with what its CDI names mean now. */
static void files_begin_boot(RdmadAllocation *allocation)
{
	if (allocation->cdi)
		files_clear(allocation);
	for (guint i = 0; i < allocation->n_files; i++)
		allocation->files[i].major = allocation->files[i].minor = 0;
}

RdmadAllocation *rdmad_allocation_copy(const RdmadAllocation *from)
{
	RdmadAllocation *allocation = g_memdup2(from, sizeof(*from));

	allocation->refs = 1;
	allocation->id = g_strdup(from->id);
	allocation->resource = g_strdup(from->resource);
	allocation->slots = g_strdupv(from->slots);
	allocation->devices = g_strdupv(from->devices);
	allocation->owner = g_strdup(from->owner);
	allocation->mode = g_strdup(from->mode);
	allocation->pod_namespace = g_strdup(from->pod_namespace);
	allocation->pod_name = g_strdup(from->pod_name);
	allocation->pod_cgroup = g_strdup(from->pod_cgroup);
	allocation->container = g_strdup(from->container);
	allocation->boot = g_strdup(from->boot);
	allocation->kubelet = g_strdup(from->kubelet);
	allocation->attachments = g_new0(RdmadAttachment, from->n_attachments);
	for (guint i = 0; i < from->n_attachments; i++)
		rdmad_attachment_copy(&allocation->attachments[i], &from->attachments[i]);
	allocation->files = NULL;
	allocation->n_files = 0;
	for (guint i = 0; i < from->n_files; i++)
		rdmad_allocation_add_file(allocation, &from->files[i]);
	return allocation;
}

static void allocation_free(RdmadAllocation *allocation)
{
	g_free(allocation->id);
	g_free(allocation->resource);
	g_strfreev(allocation->slots);
	g_strfreev(allocation->devices);
	g_free(allocation->owner);
	g_free(allocation->mode);
	g_free(allocation->pod_namespace);
	g_free(allocation->pod_name);
	g_free(allocation->pod_cgroup);
	g_free(allocation->container);
	g_free(allocation->boot);
	g_free(allocation->kubelet);
	for (guint i = 0; i < allocation->n_attachments; i++)
		rdmad_attachment_clear(&allocation->attachments[i]);
	g_free(allocation->attachments);
	files_clear(allocation);
	g_free(allocation);
}

const RdmadAllocation *rdmad_allocation_ref(const RdmadAllocation *allocation)
{
	g_atomic_int_inc((int *)&allocation->refs);
	return allocation;
}

void rdmad_allocation_unref(const RdmadAllocation *allocation)
{
	if (allocation && g_atomic_int_dec_and_test((int *)&allocation->refs))
		allocation_free((RdmadAllocation *)allocation);
}

gboolean rdmad_allocation_has_device(const RdmadAllocation *allocation, const char *device_id)
{
	return g_strv_contains((const char *const *)allocation->devices, device_id);
}

static gboolean mode_is_exclusive(const char *mode)
{
	return g_strcmp0(mode, "exclusive") == 0;
}

gboolean rdmad_allocation_has_hold(const RdmadAllocation *allocation, RdmadHold hold)
{
	return hold == RDMAD_HOLD_ANY || mode_is_exclusive(allocation->mode);
}

RdmadHold rdmad_hold_excluding(const char *mode)
{
	return mode_is_exclusive(mode) ? RDMAD_HOLD_ANY : RDMAD_HOLD_EXCLUSIVE;
}

gboolean rdmad_allocation_may_move(const RdmadAllocation *allocation)
{
	return allocation->n_attachments ||
	       rdmad_allocation_has_hold(allocation, RDMAD_HOLD_EXCLUSIVE);
}

void rdmad_allocation_set_pod(RdmadAllocation *allocation, const char *pod_namespace,
			      const char *pod_name, const char *container)
{
	g_free(allocation->pod_namespace);
	g_free(allocation->pod_name);
	g_free(allocation->container);
	allocation->pod_namespace = g_strdup(pod_namespace);
	allocation->pod_name = g_strdup(pod_name);
	allocation->container = g_strdup(container);
}

gboolean rdmad_allocation_is_of_pod(const RdmadAllocation *allocation, const char *pod_namespace,
				    const char *pod_name)
{
	return g_strcmp0(allocation->pod_namespace, pod_namespace) == 0 &&
	       g_strcmp0(allocation->pod_name, pod_name) == 0;
}

void rdmad_allocation_set_pod_cgroup(RdmadAllocation *allocation, const char *pod_cgroup)
{
	g_free(allocation->pod_cgroup);
	allocation->pod_cgroup = g_strdup(pod_cgroup);
}

void rdmad_allocation_set_witness(RdmadAllocation *allocation, const char *boot,
				  const char *kubelet)
{
	if (boot && allocation->boot && !g_str_equal(boot, allocation->boot)) {
		g_clear_pointer(&allocation->pod_cgroup, g_free);
		files_begin_boot(allocation);
	}
	g_free(allocation->boot);
	g_free(allocation->kubelet);
	allocation->boot = g_strdup(boot);
	allocation->kubelet = g_strdup(kubelet);
}

int rdmad_allocation_find_attachment(const RdmadAllocation *allocation, const char *netns,
				     const char *interface)
{
	for (guint i = 0; i < allocation->n_attachments; i++)
		if (!g_strcmp0(allocation->attachments[i].netns, netns) &&
		    !g_strcmp0(allocation->attachments[i].interface, interface))
			return (int)i;
	return -1;
}

void rdmad_allocation_remove_attachment(RdmadAllocation *allocation, guint index)
{
	RdmadAttachment *at = &allocation->attachments[index];

	rdmad_attachment_clear(at);
	allocation->n_attachments--;
	memmove(at, at + 1, (allocation->n_attachments - index) * sizeof(*at));
}

void rdmad_allocation_add_attachment(RdmadAllocation *allocation, const RdmadAttachment *attachment)
{
	const guint n = allocation->n_attachments++;

	allocation->attachments = g_renew(RdmadAttachment, allocation->attachments, n + 1);
	rdmad_attachment_copy(&allocation->attachments[n], attachment);
}

static gboolean check_failed(GError **error, const char *what, const char *problem)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s of an allocation %s", what,
		    problem);
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

/* Checks a text that is stored as a line of a list. */
static gboolean check_line(const char *what, const char *text, GError **error)
{
	return check_text(what, text, NAME_MAX_BYTES, error) &&
	       (!strchr(text, '\n') || check_failed(error, what, "has a line break in it"));
}

static gboolean check_optional(const char *what, const char *text, GError **error)
{
	return !text || check_text(what, text, NAME_MAX_BYTES, error);
}

static gboolean check_cgroup(const char *path, GError **error)
{
	return !path || check_text("the pod's cgroup", path, PATH_MAX_BYTES, error);
}

gboolean rdmad_allocation_id_is_valid(const char *id)
{
	return id && strlen(id) == RDMAD_ALLOCATION_ID_LENGTH &&
	       strspn(id, "0123456789abcdef") == RDMAD_ALLOCATION_ID_LENGTH;
}

static gboolean check_id(const char *id, GError **error)
{
	if (!rdmad_allocation_id_is_valid(id))
		return check_failed(error, "the id", "is not 16 hexadecimal digits");
	return TRUE;
}

static gboolean check_number(gint64 number, GError **error)
{
	if (number < 1 || number > NUMBER_MAX)
		return check_failed(error, "the number", "is out of range");
	return TRUE;
}

static gboolean check_slots(char *const *slots, char *const *devices, GError **error)
{
	guint n = 0;

	while (slots && devices && slots[n] && devices[n]) {
		if (n == RDMAD_ALLOCATION_MAX_SLOTS)
			return check_failed(error, "the list", "of slots is too long");
		if (!check_line("a slot", slots[n], error) ||
		    !check_line("a device", devices[n], error))
			return FALSE;
		if (n && strcmp(slots[n - 1], slots[n]) >= 0)
			return check_failed(error, "a slot", "is there twice or out of order");
		n++;
	}
	if (n == 0)
		return check_failed(error, "the list", "of slots is empty");
	if (slots[n])
		return check_failed(error, "the list", "of devices is shorter than that of slots");
	for (guint i = n; devices[i]; i++) {
		if (i - n == RDMAD_ALLOCATION_MAX_EXPOSED)
			return check_failed(error, "the list", "of exposed devices is too long");
		if (!check_line("a device", devices[i], error))
			return FALSE;
	}
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
		if (!check_line("an address", *address, error))
			return FALSE;
	}
	return TRUE;
}

static gboolean check_files(const RdmadAllocation *allocation, GError **error)
{
	if (allocation->n_files > RDMAD_ALLOCATION_MAX_FILES)
		return check_failed(error, "the list", "of device files is too long");
	for (guint i = 0; i < allocation->n_files; i++)
		if (!check_line("the device of a file", allocation->files[i].device, error) ||
		    !check_text("a device file", allocation->files[i].path, PATH_MAX_BYTES, error))
			return FALSE;
	return TRUE;
}

gboolean rdmad_allocation_check(const RdmadAllocation *allocation, GError **error)
{
	if (!check_id(allocation->id, error) || !check_number(allocation->number, error) ||
	    !check_text("the resource", allocation->resource, 2 * NAME_MAX_BYTES, error) ||
	    !check_text("the owner", allocation->owner, NAME_MAX_BYTES, error) ||
	    !check_optional("the mode", allocation->mode, error) ||
	    !check_slots(allocation->slots, allocation->devices, error) ||
	    !check_optional("the namespace", allocation->pod_namespace, error) ||
	    !check_optional("the pod", allocation->pod_name, error) ||
	    !check_cgroup(allocation->pod_cgroup, error) ||
	    !check_optional("the container", allocation->container, error) ||
	    !check_optional("the boot", allocation->boot, error) ||
	    !check_optional("the kubelet", allocation->kubelet, error) ||
	    !check_files(allocation, error))
		return FALSE;
	if (allocation->n_attachments > RDMAD_ALLOCATION_MAX_ATTACHMENTS)
		return check_failed(error, "the list", "of attachments is too long");
	for (guint i = 0; i < allocation->n_attachments; i++)
		if (!check_attachment(&allocation->attachments[i], error))
			return FALSE;
	return TRUE;
}

/* ---- slots ---- */

guint rdmad_slot_hash(gconstpointer slot)
{
	const RdmadSlot *t = slot;

	return g_str_hash(t->slot) * 31 + g_str_hash(t->resource);
}

gboolean rdmad_slot_equal(gconstpointer a, gconstpointer b)
{
	const RdmadSlot *x = a, *y = b;

	return !strcmp(x->slot, y->slot) && !strcmp(x->resource, y->resource);
}

RdmadSlot *rdmad_slot_dup(const RdmadSlot *slot)
{
	const gsize resource = strlen(slot->resource) + 1, id = strlen(slot->slot) + 1;
	RdmadSlot *copy = g_malloc(sizeof(*copy) + resource + id);
	char *text = (char *)(copy + 1);

	copy->resource = memcpy(text, slot->resource, resource);
	copy->slot = memcpy(text + resource, slot->slot, id);
	return copy;
}

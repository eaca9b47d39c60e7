/* SPDX-License-Identifier: Apache-2.0 */
#include "choice.h"

#include <rdmad/config.h>
#include <string.h>

#include "error.h"

typedef struct {
	const CniChoiceInput *input;
	GArray *slots; /* of CniSlot, in rail order */
	GPtrArray *choices;
} Chooser;

static void choice_free(gpointer data)
{
	CniChoice *choice = data;

	g_free(choice->ifname);
	g_free(choice);
}

/* ---- devices ---- */

/* kubelet, Multus and other device plugins name a device by its ID, address or name, followed by a
 * suffix for the slot: "0000:3b:00.0::007", "0000:3b:00.0@7", "erdma_0/7". */
static gboolean id_is_of(const char *id, const char *name)
{
	const gsize length = name ? strlen(name) : 0;

	if (!length || strncmp(id, name, length) != 0)
		return FALSE;
	return id[length] == '\0' || id[length] == '@' || id[length] == '/' || id[length] == ':';
}

static gboolean id_is_of_device(const char *id, const RdmadDevice *dev)
{
	return id_is_of(id, dev->id) || id_is_of(id, dev->pci_address) ||
	       id_is_of(id, dev->aux_name) || id_is_of(id, dev->name);
}

/* A bond's own interface has the addresses and GIDs. */
static const char *slot_netdev(const CniSlot *slot)
{
	const RdmadDevice *dev = slot->device;

	if (dev->bond)
		return dev->bond;
	if (slot->netdev)
		return slot->netdev;
	for (guint i = 0; i < dev->n_ports; i++)
		if (dev->ports[i].netdev)
			return dev->ports[i].netdev;
	return dev->n_netdevs ? dev->netdevs[0].name : NULL;
}

static gboolean device_is_infiniband(const RdmadDevice *dev)
{
	return dev->n_ports && dev->ports[0].link_layer == RDMAD_LINK_LAYER_INFINIBAND;
}

/* ---- modes ---- */

/* Without a configured mode, the kind of the device determines it. */
static CniMode mode_of_device(const RdmadDevice *dev, CniMode allocated)
{
	if (allocated == CNI_MODE_EXCLUSIVE || allocated == CNI_MODE_ALLOCATION)
		if (dev->pci_role == RDMAD_PCI_VF)
			return CNI_MODE_SRIOV;
	if (allocated == CNI_MODE_EXCLUSIVE)
		return CNI_MODE_EXCLUSIVE;
	if (device_is_infiniband(dev))
		return CNI_MODE_IPOIB;
	return allocated == CNI_MODE_ALLOCATION ? CNI_MODE_SHARED : allocated;
}

static gboolean mode_choose(const CniRequest *request, const CniPolicy *policy, CniMode allocated,
			    CniChoice *choice, GError **error)
{
	const char *asked = request->keys.mode;
	CniMode mode = policy->mode;

	if (asked && cni_mode_parse(asked) == CNI_MODE_ALLOCATION)
		return cni_refuse(error, CNI_ERROR_CONFIG,
				  "mode: \"%.32s\" is not one of its values", asked);
	if (asked && mode != CNI_MODE_ALLOCATION && mode != cni_mode_parse(asked))
		return cni_refuse(
			error, CNI_ERROR_CONFIG,
			"mode: \"%s\" is asked for, and \"%s\" of rdmad.conf, which has %s, "
			"is %s",
			asked, policy->name, choice->netdev, cni_modes[mode]);
	if (asked)
		mode = cni_mode_parse(asked);
	if (mode == CNI_MODE_ALLOCATION)
		mode = mode_of_device(choice->device, allocated);
	if (cni_mode_moves_nic(mode) &&
	    (allocated == CNI_MODE_SHARED || allocated == CNI_MODE_SHARED_MULTI))
		return cni_refuse(error, CNI_ERROR_ALLOCATION,
				  "%s was allocated %s, and cannot be given to one pod alone",
				  choice->device->id, cni_modes[allocated]);
	choice->mode = mode;
	return TRUE;
}

/* ---- conflicts ---- */

static gboolean use_is_this_one(const CniUse *use, const CniRequest *request, const char *ifname)
{
	return g_strcmp0(use->container_id, request->container_id) == 0 &&
	       g_strcmp0(use->ifname, ifname) == 0;
}

static gboolean use_conflicts(const CniUse *use, const CniRequest *request, const CniChoice *choice)
{
	if (!g_str_equal(use->device_id, choice->device->id) ||
	    use_is_this_one(use, request, choice->ifname))
		return FALSE;
	if (cni_mode_moves_nic(use->mode) || cni_mode_moves_nic(choice->mode))
		return TRUE;
	/* Mode shared allows one virtual NIC of a pod on each NIC. */
	return choice->mode == CNI_MODE_SHARED &&
	       g_strcmp0(use->container_id, request->container_id) == 0;
}

static gboolean uses_check(const CniChoiceInput *input, const CniChoice *choice, GError **error)
{
	for (guint i = 0; i < input->n_uses; i++) {
		const CniUse *use = &input->uses[i];

		if (use_conflicts(use, input->request, choice))
			return cni_refuse(error, CNI_ERROR_HELD,
					  "%s is %s of container %.12s, as %s", choice->device->id,
					  use->ifname, use->container_id, cni_modes[use->mode]);
	}
	return TRUE;
}

/* Choices of the same request are not in `uses` yet. */
static gboolean choices_check(const Chooser *chooser, const CniChoice *choice, GError **error)
{
	for (guint i = 0; i < chooser->choices->len; i++) {
		const CniChoice *other = chooser->choices->pdata[i];

		if (other->device != choice->device)
			continue;
		if (cni_mode_moves_nic(choice->mode) || cni_mode_moves_nic(other->mode) ||
		    choice->mode == CNI_MODE_SHARED)
			return cni_refuse(error, CNI_ERROR_HELD,
					  "%s is asked for twice, as %s and %s, and is %s",
					  choice->device->id, other->ifname, choice->ifname,
					  cni_modes[choice->mode]);
	}
	return TRUE;
}

/* ---- one choice ---- */

static const CniPolicy *policy_choose(const CniChoiceInput *input, const CniChoice *choice,
				      GError **error)
{
	const char *named = input->request->keys.policy;
	const CniPolicy *policy =
		named ? cni_settings_policy_named(input->settings, named)
		      : cni_settings_policy(input->settings, choice->device, choice->netdev);

	if (!policy)
		cni_refuse(error, CNI_ERROR_CONFIG, "policy: rdmad.conf has no network \"%.64s\"",
			   named);
	return policy;
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(CniChoice, choice_free)

static CniChoice *choice_new(const CniSlot *slot, const char *ifname,
			     const CniAnnotationEntry *entry)
{
	CniChoice *choice = g_new0(CniChoice, 1);

	choice->device = slot->device;
	choice->allocation = slot->allocation;
	choice->slot_id = slot->slot_id;
	choice->ifname = g_strdup(ifname);
	choice->entry = entry;
	choice->netdev = slot_netdev(slot);
	return choice;
}

static gboolean choice_add(Chooser *chooser, const CniSlot *slot, const char *ifname,
			   const CniAnnotationEntry *entry, GError **error)
{
	const CniChoiceInput *input = chooser->input;
	g_autoptr(CniChoice) choice = choice_new(slot, ifname, entry);

	if (!choice->netdev)
		return cni_refuse(
			error, CNI_ERROR_DEVICE,
			"%s has no network interface here: it is in another namespace, or "
			"its driver makes none",
			slot->device->id);
	choice->policy = policy_choose(input, choice, error);
	if (!choice->policy ||
	    !mode_choose(input->request, choice->policy, slot->mode, choice, error) ||
	    !uses_check(input, choice, error) || !choices_check(chooser, choice, error))
		return FALSE;
	g_ptr_array_add(chooser->choices, g_steal_pointer(&choice));
	return TRUE;
}

/* ---- slots ---- */

static int slot_compare(gconstpointer a, gconstpointer b)
{
	const CniSlot *left = a, *right = b;
	const int order = rdmad_nics_compare(left->device, right->device, NULL);

	return order ? order : g_strcmp0(left->slot_id, right->slot_id);
}

/* In mode shared-multi each slot is an interface; in other modes each device is one. */
static gboolean slot_is_covered(const CniSlot *slot, const RdmadDevice *dev, const char *slot_id)
{
	return dev == slot->device && (slot->mode != CNI_MODE_SHARED_MULTI || !slot_id ||
				       g_strcmp0(slot_id, slot->slot_id) == 0);
}

/* Returns whether another interface of this container uses the slot. */
static gboolean slot_is_used(const Chooser *chooser, const CniSlot *slot, const char *ifname)
{
	const CniChoiceInput *input = chooser->input;

	for (guint i = 0; i < input->n_uses; i++) {
		const CniUse *use = &input->uses[i];

		if (g_strcmp0(use->container_id, input->request->container_id) == 0 &&
		    !use_is_this_one(use, input->request, ifname) &&
		    g_str_equal(use->device_id, slot->device->id) &&
		    slot_is_covered(slot, slot->device, use->slot_id))
			return TRUE;
	}
	for (guint i = 0; i < chooser->choices->len; i++) {
		const CniChoice *choice = chooser->choices->pdata[i];

		if (slot_is_covered(slot, choice->device, choice->slot_id))
			return TRUE;
	}
	return FALSE;
}

static gboolean slot_matches(const CniRequest *request, const CniSlot *slot)
{
	return !request->keys.resource || g_strcmp0(request->keys.resource, slot->resource) == 0;
}

static gboolean slot_exists(const Chooser *chooser, const char *id)
{
	for (guint i = 0; i < chooser->slots->len; i++)
		if (g_strcmp0(g_array_index(chooser->slots, CniSlot, i).slot_id, id) == 0)
			return TRUE;
	return FALSE;
}

/* `id` NULL: the next slot in rail order.  Returns NULL if there is none. */
static const CniSlot *slot_take(const Chooser *chooser, const char *id, const char *ifname)
{
	/* A complete slot_id selects that slot, and no other slot of its device. */
	const gboolean exact = id && slot_exists(chooser, id);

	for (guint i = 0; i < chooser->slots->len; i++) {
		const CniSlot *slot = &g_array_index(chooser->slots, CniSlot, i);

		if (slot_is_used(chooser, slot, ifname))
			continue;
		if (id && (exact ? g_strcmp0(id, slot->slot_id) != 0
				 : !id_is_of_device(id, slot->device)))
			continue;
		return slot;
	}
	return NULL;
}

/* ---- by ID, by annotation, by order ---- */

static gboolean choose_by_id(Chooser *chooser, const char *id, const char *ifname, GError **error)
{
	const CniChoiceInput *input = chooser->input;
	const CniSlot *slot = slot_take(chooser, id, ifname);

	if (slot)
		return choice_add(chooser, slot, ifname, NULL, error);
	/* A device may come from another device plugin, or be set by hand, but only if the pod has
	 * no allocation of rdmad's. */
	if (chooser->slots->len)
		return cni_refuse(error, CNI_ERROR_ALLOCATION,
				  "\"%.64s\" is not among the %u that the pod was allocated, or "
				  "is attached already",
				  id, chooser->slots->len);
	for (guint i = 0; i < input->n_devices; i++) {
		const CniSlot unallocated = { .device = input->devices[i] };

		if (id_is_of_device(id, input->devices[i]))
			return choice_add(chooser, &unallocated, ifname, NULL, error);
	}
	return cni_refuse(error, CNI_ERROR_DEVICE, "there is no RDMA device \"%.64s\"", id);
}

static gboolean choose_next(Chooser *chooser, const char *ifname, const CniAnnotationEntry *entry,
			    GError **error)
{
	const CniSlot *slot = slot_take(chooser, NULL, ifname);
	const char *resource = chooser->input->request->keys.resource;

	if (slot)
		return choice_add(chooser, slot, ifname, entry, error);
	return cni_refuse(error, CNI_ERROR_ALLOCATION,
			  "%s needs a device, and the pod was allocated %u%s%s, %s", ifname,
			  chooser->slots->len, resource ? " of " : "", resource ? resource : "",
			  chooser->slots->len ? "all attached" : "so none");
}

static gboolean choose_by_annotation(Chooser *chooser, const GPtrArray *entries, GError **error)
{
	char *const *ours = chooser->input->settings->annotation_networks;

	for (guint i = 0; i < entries->len; i++) {
		const CniAnnotationEntry *entry = entries->pdata[i];

		if (entry->is_first || !rdmad_config_patterns_match(ours, entry->network))
			continue;
		if (!choose_next(chooser, entry->ifname, entry, error)) {
			g_prefix_error(error, "k8s.volcengine.com/pod-networks: entry %u: ", i + 1);
			return FALSE;
		}
	}
	return TRUE;
}

static gboolean name_is_taken(const CniResult *previous, const char *name)
{
	for (guint i = 0; i < previous->interfaces->len; i++)
		if (g_strcmp0(g_array_index(previous->interfaces, CniInterface, i).name, name) == 0)
			return TRUE;
	return FALSE;
}

/* Another network of this container has the name; prevResult is of this one. */
static gboolean name_is_used(const CniChoiceInput *input, const char *name)
{
	for (guint i = 0; i < input->n_uses; i++)
		if (use_is_this_one(&input->uses[i], input->request, name))
			return TRUE;
	return FALSE;
}

/* CNI_IFNAME belongs to the other plugin. */
static char *next_free_name(const CniChoiceInput *input, guint *number)
{
	char *name = NULL;

	do {
		g_free(name);
		name = g_strdup_printf("eth%u", (*number)++);
	} while (name_is_taken(input->request->previous, name) || name_is_used(input, name));
	return name;
}

static gboolean choose_all(Chooser *chooser, GError **error)
{
	const CniSlot *slot;
	guint number = 1;

	while ((slot = slot_take(chooser, NULL, NULL))) {
		g_autofree char *ifname = next_free_name(chooser->input, &number);

		if (!choice_add(chooser, slot, ifname, NULL, error))
			return FALSE;
	}
	return TRUE;
}

gboolean cni_request_is_chained(const CniRequest *request)
{
	return request->previous && name_is_taken(request->previous, request->ifname);
}

static gboolean choose(Chooser *chooser, const GPtrArray *entries, GError **error)
{
	const CniRequest *request = chooser->input->request;

	if (request->device_id) {
		guint number = 1;
		g_autofree char *ifname = cni_request_is_chained(request)
						  ? next_free_name(chooser->input, &number)
						  : g_strdup(request->ifname);

		return choose_by_id(chooser, request->device_id, ifname, error);
	}
	if (!cni_request_is_chained(request))
		return choose_next(chooser, request->ifname, NULL, error);
	return entries ? choose_by_annotation(chooser, entries, error) : choose_all(chooser, error);
}

GPtrArray *cni_choose(const CniChoiceInput *input, const GPtrArray *entries, GError **error)
{
	g_autoptr(GArray) slots = g_array_new(FALSE, TRUE, sizeof(CniSlot));
	g_autoptr(GPtrArray) choices = g_ptr_array_new_with_free_func(choice_free);
	Chooser chooser = { input, slots, choices };

	for (guint i = 0; i < input->n_slots; i++)
		if (slot_matches(input->request, &input->slots[i]))
			g_array_append_val(slots, input->slots[i]);
	g_array_sort(slots, slot_compare);
	return choose(&chooser, entries, error) ? g_steal_pointer(&choices) : NULL;
}

/* ---- GIDs ---- */

static guint entries_of_address(const RdmadPort *port)
{
	gboolean one = FALSE, two = FALSE;

	for (guint i = 0; i < port->n_gids; i++) {
		one |= port->gids[i].type == RDMAD_GID_ROCE_V1;
		two |= port->gids[i].type == RDMAD_GID_ROCE_V2;
	}
	return one != two ? 1 : 2;
}

/* The GIDs of a virtual link have its name in the pod. */
static gboolean gid_is_of_use(const RdmadGid *gid, const CniUse *use, const RdmadDevice *dev)
{
	return g_strcmp0(use->device_id, dev->id) == 0 && g_strcmp0(gid->netdev, use->ifname) == 0;
}

static gboolean gid_is_of_any_use(const RdmadGid *gid, const RdmadDevice *dev, const CniUse *uses,
				  guint n_uses)
{
	for (guint i = 0; i < n_uses; i++)
		if (gid_is_of_use(gid, &uses[i], dev))
			return TRUE;
	return FALSE;
}

CniGids cni_gids_count(const RdmadDevice *dev, const char *netdev, const CniUse *uses, guint n_uses)
{
	CniGids gids = { .each = 2 };

	for (guint p = 0; p < dev->n_ports; p++) {
		const RdmadPort *port = &dev->ports[p];

		if (g_strcmp0(port->netdev, netdev) != 0)
			continue;
		gids.each = entries_of_address(port);
		for (guint i = 0; i < port->n_gids; i++)
			gids.used += g_strcmp0(port->gids[i].netdev, netdev) == 0 ||
				     !gid_is_of_any_use(&port->gids[i], dev, uses, n_uses);
	}
	/* Each NIC has a link-local address, too. */
	for (guint i = 0; i < n_uses; i++)
		if (uses[i].addresses && g_strcmp0(uses[i].device_id, dev->id) == 0)
			gids.used += gids.each * (uses[i].addresses + 1);
	return gids;
}

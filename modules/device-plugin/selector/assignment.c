/* SPDX-License-Identifier: Apache-2.0 */
#include "selector/assignment.h"

#include <rdmad/inventory.h>

/* ---- use of virtual functions ---- */

static const ResourceSettings *resource_of(const RdmadDevice *vf, const GPtrArray *resources)
{
	for (guint i = 0; i < resources->len; i++) {
		const ResourceSettings *resource = resources->pdata[i];

		if (selector_takes(&resource->selector, vf))
			return resource;
	}
	return NULL;
}

static char *vf_use(const RdmadDevice *vf, const GPtrArray *resources)
{
	const ResourceSettings *resource = resource_of(vf, resources);

	if (resource)
		return g_strdup_printf("its virtual function %s is in %s", vf->name,
				       resource->name);
	if (health_lost_interface(vf))
		return g_strdup_printf("the interface of its virtual function %s is in a pod",
				       vf->name);
	return NULL;
}

/* Returns the use of the virtual functions, "its virtual function mlx5_2 is in rdma/vf", g_free();
 * NULL: unused, or it has none.  `devices` and `resources`: all of them. */
static char *pf_use(const RdmadDevice *dev, const GPtrArray *devices, const GPtrArray *resources)
{
	int seen = 0;

	if (dev->pci_role != RDMAD_PCI_PF || dev->num_vfs <= 0)
		return NULL;
	for (guint i = 0; i < devices->len; i++) {
		const RdmadDevice *vf = devices->pdata[i];
		char *use;

		if (g_strcmp0(vf->pf_address, dev->pci_address) != 0)
			continue;
		seen++;
		use = vf_use(vf, resources);
		if (use)
			return use;
	}
	if (seen < dev->num_vfs)
		return g_strdup_printf("%d of its %d virtual functions are not RDMA devices here: "
				       "in pods or virtual machines, or without a driver",
				       dev->num_vfs - seen, dev->num_vfs);
	return NULL;
}

/* ---- sharing ---- */

static gboolean is_exclusive(const ResourceSettings *resource)
{
	return resource->mode == MODE_EXCLUSIVE;
}

static gboolean allows_sharing_with(const ResourceSettings *resource, const ResourceSettings *other)
{
	return resource->shared_with &&
	       g_strv_contains((const char *const *)resource->shared_with, other->name);
}

gboolean assignment_may_share(const ResourceSettings *a, const ResourceSettings *b)
{
	return !is_exclusive(a) && !is_exclusive(b) &&
	       (allows_sharing_with(a, b) || allows_sharing_with(b, a));
}

/* ---- one device ---- */

static char *conflict_text(const RdmadDevice *dev, const ResourceSettings *owner,
			   const ResourceSettings *other)
{
	if (is_exclusive(owner) || is_exclusive(other))
		return g_strdup_printf("%s (%s) is selected by %s and %s, and not both can have it "
				       "while one of them is exclusive; it stays with %s",
				       dev->name, dev->id, owner->name, other->name, owner->name);
	return g_strdup_printf("%s (%s) is selected by %s and %s; it stays with %s, for neither "
			       "has the other in shared_with",
			       dev->name, dev->id, owner->name, other->name, owner->name);
}

/* Returns the first owner that may not share with `resource`, or NULL. */
static const ResourceSettings *conflicting_owner(const ResourceSettings *resource,
						 const GPtrArray *owners)
{
	for (guint i = 0; i < owners->len; i++)
		if (!assignment_may_share(owners->pdata[i], resource))
			return owners->pdata[i];
	return NULL;
}

/* The assignment of one device to each of the resources. */
typedef struct {
	const GPtrArray *resources, *devices; /* all */
	const RdmadDevice *dev;
	GPtrArray *owners; /* the resources that have the device so far */
	char *pf_use;
} Trial;

static void trial_init(Trial *trial, const GPtrArray *resources, const GPtrArray *devices,
		       const RdmadDevice *dev)
{
	*trial = (Trial){ resources, devices, dev, g_ptr_array_new(), NULL };
	trial->pf_use = pf_use(dev, devices, resources);
}

static void trial_clear(Trial *trial)
{
	g_ptr_array_unref(trial->owners);
	g_free(trial->pf_use);
}

typedef enum { TAKEN, NOT_SELECTED, BUSY, CONFLICT } Verdict;

/* Must be called in the order of the resources. */
static Verdict trial_judge(Trial *trial, ResourceSettings *resource)
{
	if (!selector_takes(&resource->selector, trial->dev))
		return NOT_SELECTED;
	if (trial->pf_use && !resource->busy_pfs)
		return BUSY;
	if (conflicting_owner(resource, trial->owners))
		return CONFLICT;
	g_ptr_array_add(trial->owners, resource);
	return TAKEN;
}

static void assign_device(Assignment *assignment, const GPtrArray *resources,
			  const GPtrArray *devices, const RdmadDevice *dev)
{
	Trial trial;

	trial_init(&trial, resources, devices, dev);
	for (guint i = 0; i < resources->len; i++) {
		ResourceSettings *resource = resources->pdata[i];
		const PoolMember member = { dev, trial.owners->len > 0 };
		const Verdict verdict = trial_judge(&trial, resource);

		if (verdict == TAKEN)
			g_array_append_val((GArray *)assignment->members->pdata[i], member);
		if (verdict == CONFLICT)
			g_ptr_array_add(assignment->conflicts,
					conflict_text(dev,
						      conflicting_owner(resource, trial.owners),
						      resource));
	}
	trial_clear(&trial);
}

/* Returns NULL for TAKEN. */
static char *verdict_text(const Trial *trial, const ResourceSettings *resource, Verdict verdict)
{
	switch (verdict) {
	case NOT_SELECTED:
		return selector_refusal(&resource->selector, trial->dev);
	case BUSY:
		return g_strdup(trial->pf_use);
	case CONFLICT:
		return conflict_text(trial->dev, conflicting_owner(resource, trial->owners),
				     resource);
	case TAKEN:
		break;
	}
	return NULL;
}

void assignment_explain(const GPtrArray *resources, const GPtrArray *devices,
			const RdmadDevice *dev,
			void (*fn)(const ResourceSettings *resource, const char *refusal,
				   gpointer data),
			gpointer data)
{
	Trial trial;

	trial_init(&trial, resources, devices, dev);
	for (guint i = 0; i < resources->len; i++) {
		ResourceSettings *resource = resources->pdata[i];
		const Verdict verdict = trial_judge(&trial, resource);
		g_autofree char *refusal = verdict_text(&trial, resource, verdict);

		fn(resource, refusal, data);
	}
	trial_clear(&trial);
}

/* ---- all devices ---- */

Assignment *assignment_new(const GPtrArray *resources, const GPtrArray *devices)
{
	Assignment *assignment = g_new0(Assignment, 1);

	assignment->members = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	assignment->conflicts = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < resources->len; i++)
		g_ptr_array_add(assignment->members, g_array_new(FALSE, FALSE, sizeof(PoolMember)));
	for (guint i = 0; i < devices->len; i++)
		assign_device(assignment, resources, devices, devices->pdata[i]);
	return assignment;
}

void assignment_free(Assignment *assignment)
{
	g_ptr_array_unref(assignment->members);
	g_ptr_array_unref(assignment->conflicts);
	g_free(assignment);
}

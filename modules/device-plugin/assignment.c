/* SPDX-License-Identifier: Apache-2.0 */
#include "assignment.h"

static gboolean is_exclusive(const RdmadResourceSettings *resource)
{
	return resource->mode == RDMAD_MODE_EXCLUSIVE;
}

static gboolean names(const RdmadResourceSettings *resource, const RdmadResourceSettings *other)
{
	return resource->shared_with &&
	       g_strv_contains((const char *const *)resource->shared_with, other->name);
}

gboolean rdmad_assignment_may_share(const RdmadResourceSettings *a, const RdmadResourceSettings *b)
{
	return !is_exclusive(a) && !is_exclusive(b) && (names(a, b) || names(b, a));
}

/* ---- one device ---- */

static char *conflict_text(const RdmadDevice *dev, const RdmadResourceSettings *owner,
			   const RdmadResourceSettings *other)
{
	if (is_exclusive(owner) || is_exclusive(other))
		return g_strdup_printf("%s (%s) is selected by %s and %s, and not both can have it "
				       "while one of them is exclusive; it stays with %s",
				       dev->name, dev->id, owner->name, other->name, owner->name);
	return g_strdup_printf("%s (%s) is selected by %s and %s; it stays with %s, for neither "
			       "says by shared_with that both may have it",
			       dev->name, dev->id, owner->name, other->name, owner->name);
}

/* The first of the owners with whom `resource` may not share, or NULL. */
static const RdmadResourceSettings *rival(const GPtrArray *owners,
					  const RdmadResourceSettings *resource)
{
	for (guint i = 0; i < owners->len; i++)
		if (!rdmad_assignment_may_share(owners->pdata[i], resource))
			return owners->pdata[i];
	return NULL;
}

static void assign_device(RdmadAssignment *assignment, const GPtrArray *resources,
			  const RdmadDevice *dev)
{
	g_autoptr(GPtrArray) owners = g_ptr_array_new();

	for (guint i = 0; i < resources->len; i++) {
		RdmadResourceSettings *resource = resources->pdata[i];
		const RdmadPoolMember member = { dev, owners->len > 0 };
		const RdmadResourceSettings *owner;

		if (!rdmad_selector_takes(&resource->selector, dev))
			continue;
		owner = rival(owners, resource);
		if (owner) {
			g_ptr_array_add(assignment->conflicts, conflict_text(dev, owner, resource));
			continue;
		}
		g_array_append_val((GArray *)assignment->members->pdata[i], member);
		g_ptr_array_add(owners, resource);
	}
}

/* ---- all devices ---- */

RdmadAssignment *rdmad_assignment_new(const GPtrArray *resources, const GPtrArray *devices)
{
	RdmadAssignment *assignment = g_new0(RdmadAssignment, 1);

	assignment->members = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	assignment->conflicts = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < resources->len; i++)
		g_ptr_array_add(assignment->members,
				g_array_new(FALSE, FALSE, sizeof(RdmadPoolMember)));
	for (guint i = 0; i < devices->len; i++)
		assign_device(assignment, resources, devices->pdata[i]);
	return assignment;
}

void rdmad_assignment_free(RdmadAssignment *assignment)
{
	g_ptr_array_unref(assignment->members);
	g_ptr_array_unref(assignment->conflicts);
	g_free(assignment);
}

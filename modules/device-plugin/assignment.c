/* SPDX-License-Identifier: Apache-2.0 */
#include "assignment.h"

static void note_conflict(RdmadAssignment *assignment, const RdmadDevice *dev,
			  const RdmadResourceSettings *owner, const RdmadResourceSettings *other)
{
	g_ptr_array_add(
		assignment->conflicts,
		g_strdup_printf("%s (%s) is selected by %s and %s, and not both can have it "
				"while one of them is exclusive; it stays with %s",
				dev->name, dev->id, owner->name, other->name, owner->name));
}

static void assign_device(RdmadAssignment *assignment, const GPtrArray *resources,
			  const RdmadDevice *dev)
{
	const RdmadResourceSettings *owner = NULL; /* the first that has it */

	for (guint i = 0; i < resources->len; i++) {
		const RdmadResourceSettings *resource = resources->pdata[i];
		const RdmadPoolMember member = { dev, owner != NULL };

		if (rdmad_selector_refusal(&resource->selector, dev))
			continue;
		if (owner && (owner->mode == RDMAD_MODE_EXCLUSIVE ||
			      resource->mode == RDMAD_MODE_EXCLUSIVE)) {
			note_conflict(assignment, dev, owner, resource);
			continue;
		}
		g_array_append_val((GArray *)assignment->members->pdata[i], member);
		owner = owner ? owner : resource;
	}
}

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

/* SPDX-License-Identifier: Apache-2.0 */
#include "overlap.h"

#include "assignment.h"

static gboolean is_other(const GPtrArray *resources, const RdmadResourceSettings *resource,
			 const char *name)
{
	for (guint i = 0; i < resources->len; i++) {
		const RdmadResourceSettings *other = resources->pdata[i];

		if (other != resource && g_str_equal(other->name, name))
			return TRUE;
	}
	return FALSE;
}

static gboolean shared_with_check(const GPtrArray *resources, guint index,
				  const RdmadConfigNode *node, GError **error)
{
	const RdmadResourceSettings *resource = resources->pdata[index];

	for (char **name = resource->shared_with; name && *name; name++)
		if (!is_other(resources, resource, *name))
			return rdmad_config_error(node, "shared_with", error,
						  "\"%s\" is no other resource of this file",
						  *name);
	return TRUE;
}

static gboolean selectors_check(const GPtrArray *resources, guint index,
				const RdmadConfigNode *node, GError **error)
{
	const RdmadResourceSettings *resource = resources->pdata[index];

	for (guint i = 0; i < index; i++) {
		const RdmadResourceSettings *other = resources->pdata[i];

		if (rdmad_selector_equal(&resource->selector, &other->selector) &&
		    !rdmad_assignment_may_share(resource, other))
			return rdmad_config_error(
				node, NULL, error,
				"%s and %s select the same devices; shared_with = \"%s\" lets both "
				"have them, unless one is exclusive",
				resource->name, other->name, other->name);
	}
	return TRUE;
}

gboolean rdmad_overlap_check(const GPtrArray *resources, const RdmadConfigNode *list,
			     GError **error)
{
	for (guint i = 0; i < resources->len; i++) {
		const RdmadConfigNode *node = rdmad_config_entry(list, i);

		if (!shared_with_check(resources, i, node, error) ||
		    !selectors_check(resources, i, node, error))
			return FALSE;
	}
	return TRUE;
}

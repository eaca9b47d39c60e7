/* SPDX-License-Identifier: Apache-2.0 */
#include "write.h"

#include <jansson.h>
#include <rdmad/json.h>

#include "gid.h"

#define PLAN_VERSION 1

json_t *nccl_write_env_json(const NcclEnv *env)
{
	json_t *object = json_object();

	for (guint i = 0; i < env->variables->len; i++) {
		const NcclVariable *variable = nccl_env_nth(env, i);

		json_object_set_new(object, variable->name, json_string(variable->value));
	}
	return object;
}

static json_t *gid_to_json(const NcclView *view, const NcclPolicy *policy, const NcclRail *rail,
			   const RdmadGid *gid)
{
	const NcclGidReason reason = nccl_rail_judge_gid(view, policy, gid);
	char address[46];

	nccl_gid_format(gid->raw, address);
	return json_pack("{s:i, s:s, s:s, s:s?, s:b, s:s}", "index", (int)gid->index, "address",
			 address, "type", rdmad_gid_type_name(gid->type), "netdev", gid->netdev,
			 "selected", gid == rail->gid && rail->reason == NCCL_RAIL_SELECTED,
			 "reason", nccl_gid_reason_text(reason));
}

static json_t *rail_to_json(const NcclView *view, const NcclPolicy *policy, const NcclRail *rail)
{
	json_t *gids = json_array();
	const RdmadGpu *gpu = rail->gpu >= 0 ? view->gpus->pdata[rail->gpu] : NULL;

	for (guint i = 0; i < rail->port->n_gids; i++)
		json_array_append_new(gids, gid_to_json(view, policy, rail, &rail->port->gids[i]));
	return json_pack("{s:o, s:o, s:i, s:s, s:s?, s:b, s:s, s:s?, s:s, s:o}", "device_id",
			 rdmad_json_string(rail->device->id), "device_name",
			 rdmad_json_string(rail->device->name), "port", (int)rail->port->number,
			 "link_layer", rdmad_link_layer_name(rail->port->link_layer), "netdev",
			 rail->port->netdev, "selected", rail->reason == NCCL_RAIL_SELECTED,
			 "reason", nccl_rail_reason_name(rail->reason), "gpu",
			 gpu ? gpu->pci_address : NULL, "distance",
			 rdmad_distance_name(rail->distance), "gids", gids);
}

static json_t *strings_to_json(char *const *strings)
{
	json_t *array = json_array();

	for (guint i = 0; strings[i]; i++)
		json_array_append_new(array, json_string(strings[i]));
	return array;
}

json_t *nccl_write_json(const NcclView *view, const NcclPolicy *policy, const NcclPlan *plan,
			const NcclPlanLabel *label)
{
	g_autofree char *from = g_strdup_printf("2.%u", plan->versions.from);
	g_autofree char *to = g_strdup_printf("2.%u", plan->versions.to);
	json_t *rails = json_array();

	for (guint i = 0; i < plan->rails->len; i++)
		json_array_append_new(rails, rail_to_json(view, policy, nccl_plan_rail(plan, i)));
	return json_pack("{s:i, s:s?, s:I, s:{s:s, s:s}, s:b, s:s, s:s?, s:o, s:o, s:o, s:o}",
			 "version", PLAN_VERSION, "allocation", label->allocation, "generation",
			 (json_int_t)label->generation, "nccl", "from", from, "to", to, "refused",
			 plan->refusal != NCCL_REFUSAL_NONE, "refusal",
			 nccl_refusal_name(plan->refusal), "reason", plan->reason, "warnings",
			 strings_to_json(plan->warnings), "env", nccl_write_env_json(plan->env),
			 "siblings", nccl_write_env_json(plan->siblings), "rails", rails);
}

char *nccl_write_json_text(const NcclView *view, const NcclPolicy *policy, const NcclPlan *plan,
			   const NcclPlanLabel *label)
{
	json_t *json = nccl_write_json(view, policy, plan, label);
	g_autofree char *text = rdmad_json_dump(json, JSON_INDENT(2));

	return g_strconcat(text, "\n", NULL);
}

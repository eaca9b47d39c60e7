/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of a device, named as in ibv_query_device(3) and ibv_query_port(3) */
#include "api/json.h"

static void limits_add_counts(json_t *object, const RdmadVerbsLimits *limits)
{
	api_set(object, "max_qp", json_integer(limits->max_qp));
	api_set(object, "max_qp_wr", json_integer(limits->max_qp_wr));
	api_set(object, "max_sge", json_integer(limits->max_sge));
	api_set(object, "max_cq", json_integer(limits->max_cq));
	api_set(object, "max_cqe", json_integer(limits->max_cqe));
	api_set(object, "max_mr", json_integer(limits->max_mr));
	api_set(object, "max_pd", json_integer(limits->max_pd));
	api_set(object, "max_srq", json_integer(limits->max_srq));
	api_set(object, "max_ah", json_integer(limits->max_ah));
	api_set(object, "phys_port_cnt", json_integer(limits->phys_port_cnt));
}

json_t *api_limits_json(const RdmadVerbsLimits *limits)
{
	json_t *object;

	if (!limits)
		return json_null();
	object = json_object();
	limits_add_counts(object, limits);
	api_set(object, "max_mr_size", api_json_wide(limits->max_mr_size));
	api_set(object, "page_size_cap", api_json_wide(limits->page_size_cap));
	api_set(object, "atomic_cap", json_string(rdmad_atomic_cap_name(limits->atomic_cap)));
	api_set(object, "paging", json_string(rdmad_paging_name(limits->paging)));
	return object;
}

static json_t *known_json(guint value)
{
	return value ? json_integer(value) : json_null();
}

json_t *api_port_limits_json(const RdmadVerbsLimits *limits, guint number)
{
	const RdmadPortLimits *port;
	json_t *object;

	if (!limits || number == 0 || number > limits->n_ports)
		return json_null();
	port = &limits->ports[number - 1];
	object = json_object();
	api_set(object, "gid_tbl_len", json_integer(port->gid_tbl_len));
	api_set(object, "max_msg_sz", json_integer(port->max_msg_sz));
	api_set(object, "max_mtu", known_json(port->max_mtu));
	return object;
}

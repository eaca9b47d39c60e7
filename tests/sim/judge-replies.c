/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rdmad's HTTP server: each request is answered in time, with JSON or with metrics. */
#include <string.h>

#include "judge.h"
#include "node.h"

/* Each acknowledged allocation is listed. */
static void allocations_check(const Reply *reply)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len; i++) {
		const Pod *pod = pods->pdata[i];
		const Grant *grants[POD_GRANTS_MAX];

		for (guint n = pod_grants(pod, grants); n-- > 0;)
			if (!strstr(reply->text, grants[n]->id))
				judge_fails("an allocation is not listed: %s of %s", grants[n]->id,
					    pod->name);
	}
}

static void body_check(const Reply *reply)
{
	json_error_t error;
	json_t *value;

	if (g_str_equal(reply->path, CLIENT_METRICS))
		judge_scraped(reply);
	if (!g_str_has_prefix(reply->path, CLIENT_API))
		return;
	value = json_loads(reply->text, 0, &error);
	if (!value)
		judge_fails("a response is not JSON: %s, %s", reply->path, error.text);
	json_decref(value);
	if (g_str_equal(reply->path, CLIENT_ALLOCATIONS))
		allocations_check(reply);
}

/* Modules serve some of the paths, and a reload may remove module metrics. */
static gboolean may_lack(const char *path)
{
	return !g_str_equal(path, CLIENT_METRICS) || node_has(NODE_METRICS_GO);
}

void judge_replied(const Reply *reply)
{
	if (reply->status == 200)
		body_check(reply);
	else if (reply->is_disturbed)
		return;
	else if (reply->is_late)
		judge_fails("a request is not answered in time: %s", reply->path);
	else if (reply->status == 0)
		judge_fails("a connection is closed without a response: %s", reply->path);
	else if (reply->status == 404 ? !may_lack(reply->path) : reply->status != 503)
		judge_fails("a request is refused: %s, %u", reply->path, reply->status);
}

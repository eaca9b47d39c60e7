/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of module nccl: a container finds the settings of its own allocation, all of one
 * plan. */
#include <string.h>

#include "judge.h"
#include "life.h"
#include "node.h"

#define CONF	 "nccl.conf"
#define PLAN	 "plan.json"
#define IN_TEXT	 "; generation "
#define IN_JSON	 "\"generation\": "
#define BY_LIMIT (5 * G_USEC_PER_SEC) /* rdmad may have stopped waiting for the files */

static const char *const files[] = { CONF, "nccl.env", "nccl-versions.conf", PLAN };

/* Returns 0 if the file is not there, or of another allocation. */
static guint64 generation_of(const Grant *grant, const char *file)
{
	const char *before = g_str_equal(file, PLAN) ? IN_JSON : IN_TEXT;
	g_autofree char *path = g_build_filename(grant->directory, file, NULL);
	g_autofree char *text = NULL;
	const char *generation;

	if (!g_file_get_contents(path, &text, NULL, NULL) || !strstr(text, grant->id))
		return 0;
	generation = strstr(text, before);
	return generation ? g_ascii_strtoull(generation + strlen(before), NULL, 10) : 0;
}

void judge_plans_started(const Pod *pod, gint64 took_us)
{
	const Grant *grant = pod_next_grant(pod);

	if (node_has(NODE_NCCL) && grant && pod->state == POD_STARTING && took_us < BY_LIMIT &&
	    life_is_on() && !life_is_stopping() && !life_is_over() && !generation_of(grant, CONF))
		judge_fails("a container starts without settings: %s of %s", grant->id, pod->name);
}

static void pod_check(const Pod *pod)
{
	const guint64 generation = generation_of(pod->had, CONF);

	for (guint i = 0; i < G_N_ELEMENTS(files); i++)
		if (!generation || generation_of(pod->had, files[i]) != generation)
			judge_fails("a container has no whole set of settings: %s in %s of %s",
				    files[i], pod->had->id, pod->name);
}

void judge_plans_quiet(void)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len && node_has(NODE_NCCL); i++) {
		const Pod *pod = pods->pdata[i];

		if (pod->had && !pod_has_forgotten_init(pod))
			pod_check(pod);
	}
}

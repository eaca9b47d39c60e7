/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/doctor.h>

#include <jansson.h>
#include <rdmad/json.h>

void rdmad_doctor_add(struct json_t *findings, RdmadFinding level, const char *subject,
		      const char *text, const char *advice)
{
	static const char *const levels[] = { "ok", "note", "problem" };
	json_t *finding = json_object();

	json_object_set_new(finding, "level", json_string(levels[level]));
	json_object_set_new(finding, "subject", rdmad_json_string(subject));
	json_object_set_new(finding, "text", rdmad_json_string(text));
	json_object_set_new(finding, "advice", rdmad_json_string(advice));
	json_array_append_new(findings, finding);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/doctor.h>

#include <jansson.h>

static json_t *valid_string(const char *text)
{
	g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;

	return valid ? json_string(valid) : json_null();
}

void rdmad_doctor_add(struct json_t *findings, RdmadFinding level, const char *subject,
		      const char *text, const char *advice)
{
	static const char *const levels[] = { "ok", "note", "problem" };
	json_t *finding = json_object();

	json_object_set_new(finding, "level", json_string(levels[level]));
	json_object_set_new(finding, "subject", valid_string(subject));
	json_object_set_new(finding, "text", valid_string(text));
	json_object_set_new(finding, "advice", valid_string(advice));
	json_array_append_new(findings, finding);
}

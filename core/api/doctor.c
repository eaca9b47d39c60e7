/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/doctor: the findings of the core, then of each module */
#include "api/doctor.h"

#include <stdarg.h>

#include "module/host.h"
#include "api/json.h"

void doctor_say(json_t *findings, RdmadFinding level, const char *subject, const char *advice,
		const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	rdmad_doctor_add(findings, level, subject, text, advice);
}

static GBytes *doctor_build(const RdmadServices *services, gconstpointer read)
{
	const DoctorFiles *files = read;
	json_t *findings = json_array();
	json_t *answer = json_object();

	if (!files)
		doctor_say(findings, RDMAD_FINDING_PROBLEM, "machine",
			   "see `dmesg`, and which process hangs in /proc, /sys or kubelet's "
			   "directory",
			   "files of this machine cannot be read within seconds; their checks are "
			   "left out");
	doctor_check_daemon(services, files, findings);
	doctor_check_node(services, files, findings);
	doctor_check_devices(services, files, findings);
	doctor_check_kubelet(services, files, findings);
	rdmad_modules_doctor(services->modules, findings);
	json_object_set_new(answer, "findings", findings);
	return api_json_bytes(answer);
}

static const ApiResource doctor_resource = {
	.build = doctor_build,
	.read = &doctor_files_class,
	.input = doctor_files_input,
};

void api_get_doctor(RdmadHttpRequest *request, gpointer data)
{
	api_reply_shared(request, data, API_SHARED_DOCTOR, &doctor_resource);
}

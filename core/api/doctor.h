/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor looks at, one file a part of the node; each adds to the JSON array. */
#pragma once

#include <jansson.h>
#include <rdmad/doctor.h>

#include "module/services.h"

void doctor_check_daemon(const RdmadServices *services, json_t *findings);
void doctor_check_node(const RdmadServices *services, json_t *findings);
void doctor_check_devices(const RdmadServices *services, json_t *findings);
void doctor_check_kubelet(const RdmadServices *services, json_t *findings);

/* rdmad_doctor_add() with a text that is made up; the advice is taken as it is. */
void doctor_say(json_t *findings, RdmadFinding level, const char *subject, const char *advice,
		const char *format, ...) G_GNUC_PRINTF(5, 6);

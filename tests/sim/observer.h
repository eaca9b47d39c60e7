/* SPDX-License-Identifier: Apache-2.0 */
/* Observer: what is seen of kubelet from outside, by rdmad's log and by podresources */
#pragma once

#include <glib.h>

void observer_begin(const char *resource);
void observer_end(void);

/* Returns the calls that rdmad got since the last observer_forget_calls(), as "Allocate:2". */
const GPtrArray *observer_calls(void);
void observer_forget_calls(void);

/* Queries podresources. */
void observer_ask(void);
/* Call before the end of kubelet's loop. */
void observer_close(void);
/* Returns whether all queries are answered, or kubelet does not run. */
gboolean observer_has_answers(void);
/* Returns the number of devices of the resource; -1: no answer. */
int observer_allocatable(void);
/* Returns the number of devices of a pod; -1: it is not listed. */
int observer_listed(const char *pod);

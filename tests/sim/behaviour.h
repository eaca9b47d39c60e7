/* SPDX-License-Identifier: Apache-2.0 */
/* Kubelet's behaviour: compares the model's with tests/kubelet/behaviour.trace */
#pragma once

/* Returns the exit status. */
int behaviour_run(const char *path);

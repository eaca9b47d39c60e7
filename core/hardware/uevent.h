/* SPDX-License-Identifier: Apache-2.0 */
/* Kobject uevents: "add@/devices/...", then "KEY=value" strings, each with its NUL. */
#pragma once

#include <glib.h>

/* Whether it is about RDMA devices, interfaces or what carries them: a laptop's battery is not. */
gboolean rdmad_uevent_matters(const char *message, gsize size);

/* SPDX-License-Identifier: Apache-2.0 */
/* A plain program's way to a port's state: a thread that waits for messages of rtnetlink about
 * links and for events of verbs, and queries the port after each */
#pragma once

#include <glib.h>

typedef struct PortListener PortListener;

/* Listens to port 1 of `device` until the process ends. */
PortListener *port_listener_new(const char *device);
/* Forgets what was seen; from now on the port is awaited as active, or as down. */
void port_listener_expect(PortListener *listener, gboolean active);
/* Returns when the port was first seen so, as samples_now(); 0: not yet. */
gint64 port_listener_seen(const PortListener *listener);

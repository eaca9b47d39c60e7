/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registration: keeps one resource registered at kubelet, across restarts of both
 *
 * Kubelet calls ListAndWatch once for each registration, so only an open stream proves that the
 * resource is registered.
 *
 * Register (legacy): a starting kubelet drops all plugins and deletes their sockets.  If there
 * has been no stream for two seconds, if kubelet's socket has changed, or if the own socket was
 * deleted, a socket with a new name is made and registered, with a growing delay between the
 * tries.
 *
 * plugins_registry: kubelet finds the socket by itself, also after its restart; connecting may
 * take it 10 s.  The socket is replaced only if its file was deleted, or if a running kubelet
 * ended the stream, which means that it has dropped the plugin.
 *
 * Another rdmad process can take over the sockets and kubelet's streams (rdmad/hand-over.h), which
 * kubelet does not notice.
 *
 * The old socket is closed first, and kubelet gets time to notice that: it takes the end of an
 * older stream or socket for the end of the resource.
 */
#pragma once

#include "kubelet/kubelet.h"
#include "kubelet/server.h"

typedef struct Registration Registration;

/* Closes the connections of the previous process whose resource is not in `resources`
 * (ResourceSettings), and removes their sockets: kubelet waits for no response to its calls
 * there. */
void registration_close_removed(RdmadModule *self, Kubelet *kubelet, const GPtrArray *resources);

/* `ops` and `data` handle the calls from kubelet; streams_changed and notified may be NULL. */
Registration *registration_new(RdmadModule *self, Kubelet *kubelet, const char *resource,
			       const PluginServerOps *ops, gpointer data);
void registration_free(Registration *registration);

/* Starts the registration, or resumes that of the previous process.  Later calls register again,
 * with another socket. */
void registration_restart(Registration *registration);
/* Handles a change in kubelet's directories. */
void registration_kubelet_changed(Registration *registration);
void registration_publish(Registration *registration, GBytes *list);
/* Stops registering; calls `drained` when no call is pending. */
void registration_drain(Registration *registration, void (*drained)(gpointer data), gpointer data);

typedef struct {
	gboolean registered; /* kubelet has an open stream */
	RegistrationMethod method;
	guint streams;
	const char *error; /* of the last failed try, or NULL */
} RegistrationInfo;
void registration_info(const Registration *registration, RegistrationInfo *info);

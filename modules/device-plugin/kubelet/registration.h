/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registration: keeps one resource registered at kubelet, whatever happens to either
 *
 * Kubelet calls ListAndWatch once and never again, so the only proof of being registered is a live
 * stream.
 *
 * Register (legacy): kubelet drops plugins when it starts and deletes their sockets.  When there is
 * no stream for two seconds, or kubelet's socket is another one, or our own is gone, a socket with
 * a new name is made and registered, with growing pauses between the tries.
 *
 * plugins_registry: kubelet finds the socket, and again after its restart; dialling may take it 10 s.
 * One socket serves for life.  Another is made when the file has gone, or when kubelet has ended the
 * stream although it runs on, which is how it drops a plugin.
 *
 * Another rdmad that takes over goes on with the sockets and with kubelet's streams (rdmad/hand-over.h), of
 * which kubelet notices nothing.
 *
 * The old socket is closed first, and a moment given for kubelet to notice: it takes the end of an
 * older stream, or of an older socket, for the end of the resource.
 */
#pragma once

#include "kubelet/kubelet.h"
#include "kubelet/server.h"

typedef struct Registration Registration;

/* `ops` and `data` serve the calls that come in; streams_changed and notified may be NULL. */
Registration *registration_new(RdmadModule *self, Kubelet *kubelet, const char *resource,
			       const PluginServerOps *ops, gpointer data);
void registration_free(Registration *registration);

/* Begins to register, or goes on where the process before this one has given over; again: from the start,
 * with another socket. */
void registration_restart(Registration *registration);
/* Something happened in kubelet's directories. */
void registration_look(Registration *registration);
void registration_publish(Registration *registration, GBytes *list);
/* No more registering; `drained` once nothing is under way. */
void registration_drain(Registration *registration, void (*drained)(gpointer data), gpointer data);

typedef struct {
	gboolean registered; /* kubelet watches */
	RegistrationWay way;
	guint streams;
	const char *socket;    /* or NULL */
	const char *error;     /* of the last try that failed, or NULL */
	guint64 registrations; /* tries that kubelet accepted */
} RegistrationInfo;
void registration_info(const Registration *registration, RegistrationInfo *info);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of rdmad's HTTP server, at the control socket: Prometheus, and the administrator's
 * commands
 *
 * They run on kubelet's loop.
 */
#pragma once

#include "base/loop.h"
#include "decisions.h"

#define CLIENT_METRICS	   "/metrics"
#define CLIENT_API	   "/api/v1/"
#define CLIENT_ALLOCATIONS CLIENT_API "allocations"

typedef struct {
	const char *path;
	gint64 began_us;
	guint status;	  /* 0: there was no complete response */
	const char *text; /* the body */
	gboolean is_late; /* the client's time limit has passed */
	/* Meanwhile rdmad was told to end, to hand over or to reload, has ended, or the machine was
	 * suspended. */
	gboolean is_disturbed;
} Reply;

/* Calls `replied` for each request that rdmad accepted and the client has not abandoned. */
void client_begin(RdmadLoop *loop, void (*replied)(const Reply *reply), Decisions *decisions);
void client_end(void);
/* Prometheus asks if the configuration has module metrics. */
void client_scrape(void);
/* The same, and may close the connection before the response. */
void client_scrape_somehow(void);
/* The administrator's command does one of its requests, and may be interrupted. */
void client_command(void);
/* Returns whether nobody waits for a response. */
gboolean client_is_idle(void);
void client_disturb(void);

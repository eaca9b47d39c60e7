/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An IPAM plugin like host-local, with its leases
 *
 * host-local writes leases without fsync, so a power failure loses the changes of the last half
 * minute: a new lease is lost, or its file is empty; a freed lease is there again.  An empty file
 * names nobody who could free it.
 *
 * Source: containernetworking-plugins 1.1.1.  Unlike host-local, it gives the lowest free address,
 * so that an address is given again soon.
 */
#pragma once

#include <rdmad/network.h>

#include "decisions.h"
#include "disk.h"

#define IPAM_NETWORK "leased" /* the network that has the plugin */
#define IPAM_TYPE    "host-local"

typedef enum { IPAM_OF_NO_POD, IPAM_OF_SOME_PODS, IPAM_OF_ALL_PODS, N_IPAM_USES } IpamUse;

typedef struct {
	char *container, *ifname;
	RdmadIp address;
	gboolean is_orphan; /* its end, or its contents, were lost by a power failure */
	gint64 made_us, freed_us;
} IpamLease;

/* The environment of a run. */
typedef struct {
	char *command, *container, *ifname;
} IpamCall;

void ipam_call_clear(IpamCall *call);

/* Codes of errors: the specification of CNI, and the library of its plugins. */
#define IPAM_CODE_ENVIRONMENT 4
#define IPAM_CODE_AGAIN	      11
#define IPAM_CODE_INTERNAL    999

/* Returns the answer of a failed run. */
char *ipam_error(int code, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Does the work of a run; returns its answer, or NULL if that is empty. */
char *ipam_work(const IpamCall *call, int *status);

/* Installs the plugin below `root`. */
void ipam_begin(const char *root, Decisions *decisions, IpamUse use);
void ipam_end(void);
gboolean ipam_is_used(void);
/* Returns whether the next pod is in the network that has the plugin. */
gboolean ipam_is_for_next(void);
/* Returns the directory of the plugin, for CNI_PATH. */
const char *ipam_path(void);
/* Returns an array of IpamLease. */
const GPtrArray *ipam_leases(void);

void ipam_cut_power(DiskOutcome outcome);

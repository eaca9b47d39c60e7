/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver: keeps the kernel's driver of elastic RDMA loaded, in the preferred mode
 *
 *	absent -> installing -> loading -> ready
 *	              `------------`----> failed, retried after a back-off or a change
 *
 * Each change that the kernel reports makes the driver read the facts and plan again (plan.h).
 */
#pragma once

#include "driver/driver-settings.h"
#include "driver/facts.h"

typedef struct ErdmaDriver ErdmaDriver;

typedef enum {
	ERDMA_DRIVER_ABSENT, /* no NIC needs it, or the facts are not read yet */
	ERDMA_DRIVER_INSTALLING,
	ERDMA_DRIVER_LOADING,
	ERDMA_DRIVER_READY,
	ERDMA_DRIVER_FAILED,
	ERDMA_DRIVER_STATES,
} ErdmaDriverState;

extern const char *const erdma_driver_state_names[]; /* by ErdmaDriverState */

/* All members are borrowed until the turn of the loop ends. */
typedef struct {
	ErdmaDriverState state;
	const char *reason;	 /* reason of the state; NULL: none */
	const char *output;	 /* last lines of the last failed program; NULL: none */
	gboolean out_of_memory;	 /* FAILED because the kernel killed the program, out of memory */
	const ErdmaFacts *facts; /* NULL: not read yet */
	/* Errors of the modules loaded beside the driver, by ErdmaCompanion; NULL: none. */
	const char *const *companion_problems;
	ErdmaMode preferred; /* with AUTO, the present one */
	gint64 since_us;     /* wall clock */
	guint failures;	     /* consecutive */
	guint retry_ms;	     /* 0: no retry is scheduled */
} ErdmaDriverView;

/* Declares every host command of these settings.  RDMAD_ERROR_CONFIG: rdmad must be restarted to
 * change them. */
gboolean erdma_driver_declare(RdmadModule *self, const ErdmaDriverSettings *settings,
			      GError **error);
/* `settings` must live until the next reload. */
ErdmaDriver *erdma_driver_new(RdmadModule *self, const ErdmaDriverSettings *settings,
			      GError **error);
void erdma_driver_reload(ErdmaDriver *driver, const ErdmaDriverSettings *settings);
/* Kills a running installer. */
void erdma_driver_free(ErdmaDriver *driver);

ErdmaDriverView erdma_driver_view(const ErdmaDriver *driver);

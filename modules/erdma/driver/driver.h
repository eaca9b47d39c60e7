/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver: keeps the kernel's driver of elastic RDMA loaded, in the preferred mode
 *
 *	absent -> installing -> loading -> ready
 *	              `------------`----> failed, and again after a back-off or a change
 *
 * Each change that the kernel reports is a reason to read the facts again and to plan (plan.h).
 */
#pragma once

#include "driver/driver-settings.h"
#include "driver/facts.h"

typedef struct ErdmaDriver ErdmaDriver;

typedef enum {
	ERDMA_DRIVER_ABSENT, /* no NIC that needs it, or nothing is known yet */
	ERDMA_DRIVER_INSTALLING,
	ERDMA_DRIVER_LOADING,
	ERDMA_DRIVER_READY,
	ERDMA_DRIVER_FAILED,
	ERDMA_DRIVER_STATES,
} ErdmaDriverState;

extern const char *const erdma_driver_state_names[]; /* by ErdmaDriverState */

/* All borrowed, until the turn of the loop ends. */
typedef struct {
	ErdmaDriverState state;
	const char *reason;	 /* why it is so; NULL: all is well */
	const char *output;	 /* last lines of the program that failed last; NULL: none */
	const ErdmaFacts *facts; /* NULL: not read yet */
	/* Why a module beside the driver could not be loaded, by ErdmaBeside; NULL: it could. */
	const char *const *beside_problems;
	ErdmaMode preferred; /* AUTO: as it is now */
	gint64 since_us;     /* wall clock */
	guint failures;	     /* in a row */
	guint retry_ms;	     /* 0: there is none to come */
} ErdmaDriverView;

/* All that may be run on the host with these settings.  RDMAD_ERROR_CONFIG: rdmad must be restarted for it. */
gboolean erdma_driver_declare(RdmadModule *self, const ErdmaDriverSettings *settings,
			      GError **error);
/* `settings` must live until it is replaced. */
ErdmaDriver *erdma_driver_new(RdmadModule *self, const ErdmaDriverSettings *settings,
			      GError **error);
void erdma_driver_reload(ErdmaDriver *driver, const ErdmaDriverSettings *settings);
/* An installer that runs is killed. */
void erdma_driver_free(ErdmaDriver *driver);

ErdmaDriverView erdma_driver_view(const ErdmaDriver *driver);

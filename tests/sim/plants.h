/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted faults: mistakes that somebody could make in rdmad, each of which the simulator must find
 *
 * They stand before functions of rdmad (ld's --wrap), so nothing of them is in the product.
 */
#pragma once

#include <glib.h>

typedef enum {
	PLANT_NONE,
	PLANT_LATE_COMMIT,    /* an answer leaves before its transaction is committed */
	PLANT_NO_SYNC,	      /* the database is not synced */
	PLANT_TORN_RENAME,    /* a file is renamed before its contents are on the disk */
	PLANT_LOST_DIRECTORY, /* a directory is made and its parent not synced */
	PLANT_FREED_FIRST, /* an allocation leaves the table while its pod runs: any list ends what it lacks */
	PLANT_STALE_LIST,      /* an old answer of podresources counts as a new one */
	PLANT_NO_REGISTRATION, /* kubelet's restart is not seen */
	PLANT_LEFT_OPEN,       /* the watch of a directory is not closed with its owner */
	PLANT_WALL_CLOCK,      /* durations are taken from the wall clock */
	PLANT_TWO_HOLDERS,     /* an exclusive slot is not checked */
	PLANT_NO_UNDO,	       /* steps are not undone */
	PLANT_LATE_JOURNAL,    /* CNI's steps are done before they are written down */
	PLANT_EVENTS_ALONE,    /* a cgroup is read only when an event tells of it */
	PLANT_INIT_ENDED, /* the allocation of an init container ends with that of the next one */
	PLANT_NO_LIMIT,	  /* the start of a container waits for what never comes */
	PLANT_NO_LOCK,	  /* the file of a lock is removed, as one that was left */
	PLANT_NO_REPLAY,  /* what the life before has left of CNI's steps is not looked at */
	N_PLANTS,
} Plant;

const char *plant_name(Plant plant);
/* N_PLANTS: there is none. */
Plant plant_of(const char *name);
void plant_set(Plant plant);
/* For the calls: whether this fsync is left out. */
gboolean plant_skips_sync(const char *path);

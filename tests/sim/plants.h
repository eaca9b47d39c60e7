/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted faults: possible mistakes in rdmad, each of which the simulator must find
 *
 * They replace functions of rdmad (ld's --wrap), so the product does not contain them.
 */
#pragma once

#include <glib.h>

typedef enum {
	PLANT_NONE,
	PLANT_LATE_COMMIT,     /* responses are sent before the commit */
	PLANT_NO_SYNC,	       /* the database is not synced */
	PLANT_TORN_RENAME,     /* files are renamed before their contents are synced */
	PLANT_LOST_DIRECTORY,  /* directories are created without a sync of the parent */
	PLANT_FREED_FIRST,     /* any list ends the allocations that it lacks */
	PLANT_STALE_LIST,      /* an old list of podresources counts as a new one */
	PLANT_NO_REGISTRATION, /* restarts of kubelet are ignored */
	PLANT_LEFT_OPEN,       /* the watch of a directory is not closed with its owner */
	PLANT_WALL_CLOCK,      /* durations are measured with the wall clock */
	PLANT_TWO_HOLDERS,     /* the holder of an exclusive slot is not checked */
	PLANT_BY_SLOT,	       /* holders of a device under other slots and resources are unknown */
	PLANT_NO_UNDO,	       /* steps are not undone */
	PLANT_LATE_JOURNAL,    /* CNI's steps are executed before they are in the journal */
	PLANT_EVENTS_ALONE,    /* a cgroup is read only after an event */
	PLANT_INIT_ENDED, /* the allocation of an init container ends with that of the next one */
	PLANT_NO_LIMIT,	  /* the start of a container waits without a limit */
	PLANT_NO_LOCK,	  /* the file of a lock is removed as if it were stale */
	PLANT_NO_REPLAY,  /* steps in the journal of the previous life are ignored */
	PLANT_NO_RELEASE, /* DEL does not call the IPAM plugin */
	PLANT_LATE_BEGIN, /* the IPAM plugin is called before the attachment is in the journal */
	PLANT_UNFROZEN,	  /* a resource without a stream is handed over as if nothing could begin */
	PLANT_OLDER_PARTS,  /* parts are taken over although a third rdmad has run */
	PLANT_NO_RETURN,    /* what a successor has not used is closed */
	PLANT_NOT_TAKEN,    /* kubelet's connections are not taken over */
	PLANT_NO_GAP,	    /* podresources is listed again at once */
	PLANT_FIRST_ROUTE,  /* routes of elastic NICs take precedence over the primary one's */
	PLANT_NO_REPAIR,    /* changes of the host's network by other programs are not noticed */
	PLANT_NO_ADDRESSES, /* the addresses that the previous rdmad set on NICs are forgotten */
	PLANT_OLD_READING,  /* counters keep the values of the first reading */
	PLANT_NO_DEADLINE,  /* a scrape waits for all devices */
	PLANT_NO_PODS,	    /* metrics lack the devices of pods */
	PLANT_HALF_A_PLAN,  /* one of the files with settings is not written */
	PLANT_UNPREPARED,   /* containers do not wait for their settings */
	PLANT_LABELS_STAY,  /* labels of the Node are not removed */
	PLANT_NO_RETRY,	    /* a failed request to the API server is the last one */
	N_PLANTS,
} Plant;

const char *plant_name(Plant plant);
/* Returns N_PLANTS for an unknown name. */
Plant plant_of(const char *name);
void plant_set(Plant plant);
/* Returns whether this fsync is skipped; for calls.c. */
gboolean plant_skips_sync(const char *path);
/* Returns whether this DEL has no effect; for ipam.c. */
gboolean plant_skips_release(void);
/* Returns whether rdmad's watch is not told of a change; for network-calls.c. */
gboolean plant_skips_change(void);

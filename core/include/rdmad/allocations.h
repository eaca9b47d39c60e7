/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations: the holders of devices
 *
 * An allocation says that one container holds a set of slots of one resource, and which devices
 * stand behind them.  It is written to the database before rdmad_allocations_grant() returns; when
 * that fails the table is unchanged.  Allocations outlive rdmad, kubelet and the container runtime;
 * they end when podresources no longer lists them, or when a module ends them.  An allocation stays
 * when its device is unplugged, because its holder still has to be notified.
 *
 * An allocation belongs to one container of one pod.  The containers of a pod may share slots,
 * because kubelet gives the devices of an init container to the containers after it; each of them
 * has an allocation of its own.  Allocate does not name the pod, so rdmad_allocations_grant()
 * judges the allocations that hold a slot already by who vouches for them
 * (rdmad_allocations_set_kubelet()):
 *
 * - A kubelet that gave or listed a slot keeps books on it.  When this kubelet gives the slot
 *   again, the holder has ended, or is an earlier container of the pod that is being admitted.
 *   Such an allocation stays beside the new one while it is younger than an admission may take; the
 *   next list of podresources decides which of the two it is.
 * - A kubelet that started later may have lost its checkpoint: its offer proves nothing.  The holder
 *   lives when its cgroup does, or when kubelet lists its pod, with its devices or without.
 * - No process outlives the boot of the node.  A pod may, and then starts without an Allocate: the
 *   first kubelet of the boot vouches for the allocations of the last one.  A kubelet that is younger
 *   than a process of a pod is not the first: it vouches for none of them.
 *
 * RdmadAllocation is immutable and shared by reference, as RdmadDevice is.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_ALLOCATION_MAX_SLOTS	 1024u
#define RDMAD_ALLOCATION_MAX_ATTACHMENTS 64u

/* A network interface or RDMA device that was put into a pod for an allocation. */
struct RdmadAttachment {
	char *netns;	   /* as the runtime named it */
	char *interface;   /* in the pod */
	char *rdma_device; /* device name in the pod, or NULL */
	char **addresses;  /* "192.0.2.7/24" */
	int gid_index;	   /* RDMAD_UNKNOWN where there is none */
};

struct RdmadAllocation {
	int refs;
	char *id;	/* 16 lower-case hex digits, random; safe as a file name */
	char *resource; /* "rdma/hca" */
	char **slots;	/* as advertised to kubelet, sorted */
	char **devices; /* stable id behind each slot, same order, same length */
	char *owner;	/* the module that granted it */
	char *mode;	/* "shared", "exclusive", "shared-multi" (each slot becomes an interface of
		     * its own); NULL: unknown */
	char *pod_namespace, *pod_name; /* NULL until podresources lists the pod */
	char *container; /* NULL while the pod is unknown, and for an init container, which
				 * podresources does not list */
	char *boot,
		*kubelet; /* in which boot, and by which kubelet, it was given or listed with its
				 * slots last; NULL: not known */
	gint64 since_us;  /* wall clock, microseconds since 1970 */
	gint64 number;	  /* of its row in the database; grows with age */
	RdmadAttachment *attachments;
	guint n_attachments;
};

RDMAD_API const RdmadAllocation *rdmad_allocation_ref(const RdmadAllocation *allocation);
RDMAD_API void rdmad_allocation_unref(const RdmadAllocation *allocation);
typedef const RdmadAllocation RdmadAllocationRef;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadAllocationRef, rdmad_allocation_unref)

typedef struct {
	const char *owner; /* module name */
	const char *resource;
	const char *const *slots;   /* NULL-terminated, in any order, without repeats */
	const char *const *devices; /* behind each slot */
	const char *mode;	    /* may be NULL */
	gint64 asked_us; /* monotonic: when kubelet asked; earlier lists prove nothing; 0: any
			  * list will do */
} RdmadGrant;

/*
 * Gives the slots to a new holder and returns its allocation, a reference of the caller's own.
 * Allocations of holders that have ended are ended in the same transaction.  A slot whose holder
 * lives is refused in mode "exclusive"; in other modes it is given, and the event log warns.
 * RDMAD_ERROR_INVALID: no slot, too many slots, or a slot twice; RDMAD_ERROR_BUSY: the holder of an
 * exclusive slot lives, and is named; RDMAD_ERROR_FAILED: not written.
 */
RDMAD_API const RdmadAllocation *rdmad_allocations_grant(RdmadAllocations *allocations,
							 const RdmadGrant *grant,
							 GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A grant among others, and its result: an allocation, a reference of the caller's own, or an error. */
typedef struct {
	RdmadGrant grant;
	const RdmadAllocation *allocation;
	GError *error;
} RdmadGrantCall;

/* Grants each in order, with one wait for the disk for all of them.  What one is refused for does not
 * concern the others; if they cannot be written, each has that error. */
RDMAD_API void rdmad_allocations_grant_all(RdmadAllocations *allocations,
					   RdmadGrantCall *const *calls, guint n);

/* Whether a new List of podresources would let rdmad_allocations_grant() judge better: call
 * rdmad_pods_refresh() first. */
RDMAD_API gboolean rdmad_allocations_in_doubt(RdmadAllocations *allocations,
					      const RdmadGrant *grant);

/* RDMAD_ERROR_NOT_FOUND; RDMAD_ERROR_FAILED: not written, the allocation is still there. */
RDMAD_API gboolean rdmad_allocations_end(RdmadAllocations *allocations, const char *id,
					 const char *reason, GError **error);

/* Adds an attachment, or replaces the one with the same netns and interface.  It survives the end of rdmad at any
 * moment, but not a power cut, and does not wait for the disk; so does the end of one.
 * RDMAD_ERROR_NOT_FOUND, RDMAD_ERROR_LIMIT, RDMAD_ERROR_INVALID, RDMAD_ERROR_FAILED. */
RDMAD_API gboolean rdmad_allocations_attach(RdmadAllocations *allocations, const char *id,
					    const RdmadAttachment *attachment, GError **error);
/* RDMAD_ERROR_NOT_FOUND: no such allocation or attachment; RDMAD_ERROR_FAILED. */
RDMAD_API gboolean rdmad_allocations_detach(RdmadAllocations *allocations, const char *id,
					    const char *netns, const char *interface,
					    GError **error);

/* Borrowed until the turn of the loop ends. */
RDMAD_API const RdmadAllocation *rdmad_allocations_lookup(RdmadAllocations *allocations,
							  const char *id);
/* The youngest, where several containers of a pod share the slot. */
RDMAD_API const RdmadAllocation *rdmad_allocations_by_slot(RdmadAllocations *allocations,
							   const char *resource, const char *slot);
/* Returns whether the allocation ended with its pod while kubelet still listed its slots.  They may be
 * those of a later pod of the same name, which kubelet has admitted and will start with the same
 * directory. */
RDMAD_API gboolean rdmad_allocations_is_listed_after_end(RdmadAllocations *allocations,
							 const RdmadAllocation *allocation);
RDMAD_API guint rdmad_allocations_count(RdmadAllocations *allocations);
/* Of one resource: its allocations, and the slots that they hold, each once. */
typedef struct {
	guint allocations, slots;
} RdmadAllocationTotals;
RDMAD_API RdmadAllocationTotals rdmad_allocations_totals(RdmadAllocations *allocations,
							 const char *resource);
/* Oldest first; may not change the table from inside. */
RDMAD_API void rdmad_allocations_foreach(RdmadAllocations *allocations,
					 void (*fn)(const RdmadAllocation *allocation,
						    gpointer data),
					 gpointer data);

/*
 * Resolvers let allocations be rebuilt after the database was lost: kubelet still lists the holder
 * of a slot, and the module that owns the resource maps the slot to its device.
 */
typedef struct {
	const char *owner; /* module name */
	const char *resource;
	/* The stable id of the device behind a slot, valid until the next call; NULL: no such
	 * slot. */
	const char *(*device_of)(const char *slot, gpointer data);
	/* The id under which exactly these slots (sorted) were allocated before, g_free(); NULL:
	 * not known. May be NULL. */
	char *(*id_of)(const char *const *slots, gpointer data);
} RdmadAllocationResolver;

/* `resolver` is copied and replaces the one of that resource; without `device_of` it is withdrawn.
 * It is called at the next List: call rdmad_pods_hint() once the slots are known.  It is withdrawn
 * with its owner. */
RDMAD_API void rdmad_allocations_set_resolver(RdmadAllocations *allocations, RdmadModule *owner,
					      const RdmadAllocationResolver *resolver,
					      gpointer data);

/*
 * The state of a pod's cgroup.  EMPTY: its cgroup is there, and its last process has ended: it is
 * over once kubelet does not list it.  GONE: its cgroup was there and has been removed.  A pod that
 * has had no process yet, or whose cgroups cannot be seen, is UNKNOWN.
 */
typedef enum {
	RDMAD_POD_LIFE_UNKNOWN,
	RDMAD_POD_LIFE_ALIVE,
	RDMAD_POD_LIFE_EMPTY,
	RDMAD_POD_LIFE_GONE,
} RdmadPodLife;

/* Asked for each allocation of a List and for holders at Allocate: it must not block. */
typedef RdmadPodLife (*RdmadPodLifeFunc)(const char *pod_namespace, const char *pod_name,
					 gpointer data);

/* `life` NULL: every pod is UNKNOWN. */
RDMAD_API void rdmad_allocations_set_liveness(RdmadAllocations *allocations, RdmadPodLifeFunc life,
					      gpointer data);
RDMAD_API RdmadPodLife rdmad_allocations_pod_life(RdmadAllocations *allocations,
						  const char *pod_namespace, const char *pod_name);

typedef struct {
	void (*granted)(const RdmadAllocation *allocation, gpointer data);
	void (*changed)(const RdmadAllocation *before, const RdmadAllocation *now, gpointer data);
	void (*ended)(const RdmadAllocation *allocation, const char *reason, gpointer data);
} RdmadAllocationOps;

/* From the top of the loop, as inventory watches; replays `granted` for what is there. */
RDMAD_API RdmadWatch *rdmad_allocations_watch(RdmadAllocations *allocations, RdmadModule *owner,
					      const RdmadAllocationOps *ops,
					      gpointer data) G_GNUC_WARN_UNUSED_RESULT;

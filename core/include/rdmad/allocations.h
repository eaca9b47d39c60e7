/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations: the holders of devices
 *
 * An allocation records that one container holds a set of slots of one resource, and the device
 * behind each slot.  It is written to the database before rdmad_allocations_grant() returns; if
 * that fails, the table is unchanged.  Allocations outlive rdmad, kubelet and the container
 * runtime.  They end when podresources no longer lists them, or when a module ends them.  An
 * allocation stays when its device is unplugged, because its holder still has to be notified.
 *
 * An allocation belongs to one container of one pod.  The containers of a pod may share slots,
 * because kubelet gives the devices of an init container to the containers after it; each of them
 * has its own allocation.  Allocate does not name the pod, so rdmad_allocations_grant() judges the
 * existing holders of a slot by the kubelet that vouches for them
 * (rdmad_allocations_set_kubelet()):
 *
 * - A kubelet that gave or listed a slot keeps a record of it.  When this kubelet gives the slot
 *   again, the holder has ended, or is an earlier container of the pod that is being admitted.
 *   Its allocation stays beside the new one until an admission has had its time and Lists of
 *   podresources lack the pod; before that, the next List decides between the two cases.
 * - A kubelet that started later may have lost its checkpoint, so that its Allocate proves nothing;
 *   nor does an Allocate that is answered while kubelet's socket is missing.  The holder lives if
 *   its cgroup does, or if kubelet lists its pod, with devices or without.
 * - A living cgroup is found by the name of the pod, which a later pod may have.  A List that is
 *   younger than the request decides: it shows the later pod with devices of its own.
 * - No process outlives the boot of the node.  A pod may, and then starts without an Allocate: the
 *   first kubelet of the boot vouches for the allocations of the previous boot.  One without a pod
 *   may be of an admission that the restart interrupted, and which goes on.  A kubelet that is
 *   younger than a process of a pod is not the first, and vouches for none of them.
 *
 * A device is held by each allocation that has a slot on it, or to which it is exposed, under
 * whatever resource. Mode "exclusive" leaves no room for another holder.  Kubelet's Allocate is
 * evidence about its own slots only, so a holder under another slot or resource, which may no
 * longer be configured, lives until its allocation ends or its cgroup is gone
 * (rdmad_allocations_find_holder()).
 *
 * RdmadAllocation is immutable and shared by reference, like RdmadDevice.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_ALLOCATION_MAX_SLOTS	 1024u
#define RDMAD_ALLOCATION_MAX_EXPOSED	 1024u
#define RDMAD_ALLOCATION_MAX_ATTACHMENTS 64u
#define RDMAD_ALLOCATION_MAX_FILES	 8192u

/* A network interface or RDMA device of an allocation in its pod's network namespace. */
struct RdmadAttachment {
	char *netns;	   /* path, as the runtime passed it */
	char *interface;   /* name in the pod */
	char *rdma_device; /* device name in the pod, or NULL */
	char **addresses;  /* "192.0.2.7/24" */
	int gid_index;	   /* RDMAD_UNKNOWN if there is none */
};

/* A character device file of one device, as it was when the container was given it.  The number of
 * a file, and the device behind it, may change while the container has it. */
typedef struct {
	char *device;	    /* stable id */
	char *path;	    /* on the host, "/dev/infiniband/uverbs0" */
	int kind;	    /* RdmadChardevKind */
	guint port;	    /* as in RdmadChardev */
	guint major, minor; /* 0, 0: unknown, or of an earlier boot */
} RdmadAllocationFile;

struct RdmadAllocation {
	int refs;
	char *id;	/* 16 lower-case hex digits, random; safe as a file name */
	char *resource; /* "rdma/hca" */
	char **slots;	/* as advertised to kubelet, sorted */
	char **devices; /* stable id behind each slot, in the same order; then those of exposed
			 * devices, which the container can open without a slot */
	char *owner; /* name of the module that granted it */
	char *mode;  /* "shared", "exclusive", "shared-multi" (each slot becomes its own
		     * interface); NULL: unknown */
	char *pod_namespace, *pod_name; /* NULL until podresources lists the pod */
	char *pod_cgroup; /* path relative to the sysroot, with the pod's UID at its end; NULL until
			   * the cgroup is found, and if another pod of the name may be the holder:
			   * podresources has no UIDs */
	char *container;  /* NULL while the pod is unknown, and for an init container, which
				 * podresources does not list */
	char *boot, *kubelet; /* boot and kubelet that gave or listed it with its slots last; NULL:
				 * unknown */
	gint64 since_us;      /* wall clock, microseconds since 1970 */
	gint64 number;	      /* of its row in the database; a younger one has a larger number */
	RdmadAttachment *attachments;
	guint n_attachments;
	RdmadAllocationFile *files; /* none: unknown */
	guint n_files;
	gboolean cdi; /* it was given CDI names, which the runtime resolves at each start */
};

/* For any thread. */
RDMAD_API const RdmadAllocation *rdmad_allocation_ref(const RdmadAllocation *allocation);
RDMAD_API void rdmad_allocation_unref(const RdmadAllocation *allocation);
typedef const RdmadAllocation RdmadAllocationRef;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadAllocationRef, rdmad_allocation_unref)
/* Returns whether a slot of the allocation is on the device, or the device is exposed. */
RDMAD_API gboolean rdmad_allocation_has_device(const RdmadAllocation *allocation,
					       const char *device_id);
/* Returns whether CNI may have moved devices of the allocation into its pod: it has them alone, or
 * has attachments. CNI moves a device before the allocation has an attachment. */
RDMAD_API gboolean rdmad_allocation_may_move(const RdmadAllocation *allocation);

typedef struct {
	const char *owner; /* module name */
	const char *resource;
	const char *const *slots;   /* NULL-terminated, in any order, without duplicates */
	const char *const *devices; /* stable id of the device behind each slot */
	const char *mode;	    /* may be NULL */
	gint64 asked_us; /* monotonic time of kubelet's request; a List requested before it proves
			  * nothing; 0: any List counts */
	const char *const
		*exposed; /* ids of further devices that the container can open; NULL: none */
	/* The device files that the container gets.  Those after RDMAD_ALLOCATION_MAX_FILES are not
	 * recorded. */
	const RdmadAllocationFile *files;
	guint n_files;
	gboolean cdi; /* it gets CDI names, which mean these files now */
} RdmadGrant;

/*
 * Gives the slots to a new holder, and returns its allocation and a reference to it.  Allocations
 * of holders that have ended are ended in the same transaction.  A slot or a device whose holder
 * lives, or may live, is refused if the grant or the holder is exclusive; else it is given, with a
 * warning in the event log if the slot has a holder. RDMAD_ERROR_INVALID: no slot, too many slots
 * or exposed devices, a duplicate slot, or not one device for each slot; RDMAD_ERROR_BUSY: the
 * holder of an exclusive slot or device lives or may live, and is named; RDMAD_ERROR_FAILED: the
 * allocation was not written.
 */
RDMAD_API const RdmadAllocation *rdmad_allocations_grant(RdmadAllocations *allocations,
							 const RdmadGrant *grant,
							 GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* One of several grants, and its result: an allocation with a reference, or an error, owned by the
 * caller. */
typedef struct {
	RdmadGrant grant;
	const RdmadAllocation *allocation;
	GError *error;
} RdmadGrantCall;

/* Grants each call in order, usually in one transaction.  The refusal of one does not affect the
 * others; if the transaction cannot be written, each call in it has that error. */
RDMAD_API void rdmad_allocations_grant_all(RdmadAllocations *allocations,
					   RdmadGrantCall *const *calls, guint n);

/* Returns whether a holder of the slots can be judged only by a new List of podresources: then call
 * rdmad_pods_refresh() before rdmad_allocations_grant(). */
RDMAD_API gboolean rdmad_allocations_in_doubt(RdmadAllocations *allocations,
					      const RdmadGrant *grant);

/* Ends an allocation.  RDMAD_ERROR_NOT_FOUND; RDMAD_ERROR_FAILED: the end was not written, and the
 * allocation is unchanged. */
RDMAD_API gboolean rdmad_allocations_end(RdmadAllocations *allocations, const char *id,
					 const char *reason, GError **error);

/* Adds an attachment, which is copied, or replaces the one with the same netns and interface.  The
 * write does not wait for the disk: it survives the end of rdmad at any moment, but not a power
 * failure. RDMAD_ERROR_NOT_FOUND: no such allocation; RDMAD_ERROR_LIMIT: too many attachments;
 * RDMAD_ERROR_INVALID; RDMAD_ERROR_FAILED: not written. */
RDMAD_API gboolean rdmad_allocations_attach(RdmadAllocations *allocations, const char *id,
					    const RdmadAttachment *attachment, GError **error);
/* Removes an attachment, with a write as in rdmad_allocations_attach().  RDMAD_ERROR_NOT_FOUND: no
 * such allocation or attachment; RDMAD_ERROR_FAILED: not written. */
RDMAD_API gboolean rdmad_allocations_detach(RdmadAllocations *allocations, const char *id,
					    const char *netns, const char *interface,
					    GError **error);

/* Returns an allocation, borrowed until the turn of the loop ends, or NULL. */
RDMAD_API const RdmadAllocation *rdmad_allocations_lookup(RdmadAllocations *allocations,
							  const char *id);
/* Returns the youngest holder of the slot, borrowed until the turn of the loop ends, or NULL. */
RDMAD_API const RdmadAllocation *rdmad_allocations_by_slot(RdmadAllocations *allocations,
							   const char *resource, const char *slot);

typedef enum {
	RDMAD_HOLD_ANY,
	RDMAD_HOLD_EXCLUSIVE,
} RdmadHold;
/* Returns the holds of a device that exclude an allocation of it in `mode`. */
RDMAD_API RdmadHold rdmad_hold_excluding(const char *mode);
/* Returns the oldest allocation with such a hold of the device, under whatever resource, for which
 * `is_wanted` returns TRUE (NULL: any), borrowed until the turn of the loop ends, or NULL. */
RDMAD_API const RdmadAllocation *
rdmad_allocations_find_holder(RdmadAllocations *allocations, const char *device_id, RdmadHold hold,
			      gboolean (*is_wanted)(const RdmadAllocation *holder, gpointer data),
			      gpointer data);

/* Returns whether the allocation ended with its pod while kubelet still listed its slots.  They may
 * be those of a later pod of the same name, which kubelet has admitted and will start with the same
 * directory. */
RDMAD_API gboolean rdmad_allocations_is_listed_after_end(RdmadAllocations *allocations,
							 const RdmadAllocation *allocation);
RDMAD_API guint rdmad_allocations_count(RdmadAllocations *allocations);
/* The numbers of allocations of one resource, and of slots that they hold, each counted once. */
typedef struct {
	guint allocations, slots;
} RdmadAllocationTotals;
RDMAD_API RdmadAllocationTotals rdmad_allocations_totals(RdmadAllocations *allocations,
							 const char *resource);
/* Calls `fn` for each allocation, oldest first.  `fn` must not change the table. */
RDMAD_API void rdmad_allocations_foreach(RdmadAllocations *allocations,
					 void (*fn)(const RdmadAllocation *allocation,
						    gpointer data),
					 gpointer data);
/* Returns the oldest allocation for which `is_wanted` returns TRUE, borrowed, or NULL. */
RDMAD_API const RdmadAllocation *
rdmad_allocations_find(RdmadAllocations *allocations,
		       gboolean (*is_wanted)(const RdmadAllocation *allocation, gconstpointer data),
		       gconstpointer data);

/*
 * A resolver knows a resource.  It rebuilds allocations after the loss of the database: kubelet
 * still lists the holder of a slot, and the module that owns the resource maps the slot to its
 * device.
 */
typedef struct {
	const char *owner; /* module name */
	const char *resource;
	/* Returns the stable id of the device behind a slot, valid until the next call, or NULL if
	 * there is no such slot. */
	const char *(*device_of)(const char *slot, gpointer data);
	/* Returns the id of the lost allocation of exactly these slots (sorted), g_free(), or NULL
	 * if it is unknown.  May be NULL. */
	char *(*id_of)(const char *const *slots, gpointer data);
	/* Returns the ids of the exposed devices of an allocation of these slots, g_strfreev(), or
	 * NULL.  May be NULL. */
	char **(*exposed_of)(const char *const *slots, gpointer data);
	/* Returns whether the resource selects this port of its device, whose others the holder
	 * does not use.  May be NULL: all. */
	gboolean (*port_counts)(const RdmadDevice *dev, const RdmadPort *port, gconstpointer data);
	/* Returns the mode of the resource.  May be NULL. */
	const char *(*mode_of)(gpointer data);
} RdmadAllocationResolver;

/* Sets the resolver of its resource, or removes it if `device_of` is NULL.  `resolver` is copied,
 * and removed with its owner.  It is called at the next List: call rdmad_pods_hint() once the slots
 * are known. */
RDMAD_API void rdmad_allocations_set_resolver(RdmadAllocations *allocations, RdmadModule *owner,
					      const RdmadAllocationResolver *resolver,
					      gpointer data);

/* Returns whether the port is one that the resource of the allocation selects; TRUE if nobody
 * knows. */
RDMAD_API gboolean rdmad_allocations_port_counts(RdmadAllocations *allocations,
						 const RdmadAllocation *allocation,
						 const RdmadDevice *dev, const RdmadPort *port);

/*
 * The state of a pod's cgroup.  EMPTY: the cgroup exists and its last process has ended; the pod
 * has ended once kubelet does not list it.  GONE: the cgroup existed and was removed.  UNKNOWN: the
 * pod has had no process yet, or its cgroups cannot be seen.
 */
typedef enum {
	RDMAD_POD_LIFE_UNKNOWN,
	RDMAD_POD_LIFE_ALIVE,
	RDMAD_POD_LIFE_EMPTY,
	RDMAD_POD_LIFE_GONE,
} RdmadPodLife;

/* Called for each allocation of a List, and for holders at Allocate; must not block.  `pod_cgroup`
 * NULL: of any pod that has the name. */
typedef RdmadPodLife (*RdmadPodLifeFunc)(const char *pod_namespace, const char *pod_name,
					 const char *pod_cgroup, gpointer data);

/* Sets the source of rdmad_allocations_pod_life().  `life` NULL: every pod is UNKNOWN. */
RDMAD_API void rdmad_allocations_set_liveness(RdmadAllocations *allocations, RdmadPodLifeFunc life,
					      gpointer data);
RDMAD_API RdmadPodLife rdmad_allocations_pod_life(RdmadAllocations *allocations,
						  const char *pod_namespace, const char *pod_name);

typedef struct {
	void (*granted)(const RdmadAllocation *allocation, gpointer data);
	void (*changed)(const RdmadAllocation *before, const RdmadAllocation *now, gpointer data);
	void (*ended)(const RdmadAllocation *allocation, const char *reason, gpointer data);
} RdmadAllocationOps;

/* Calls `ops`, which must outlive the watch, from the top of the loop, first `granted` for each
 * present allocation. */
RDMAD_API RdmadWatch *rdmad_allocations_watch(RdmadAllocations *allocations, RdmadModule *owner,
					      const RdmadAllocationOps *ops,
					      gpointer data) G_GNUC_WARN_UNUSED_RESULT;

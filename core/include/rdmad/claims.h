/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims: who holds which device
 *
 * A claim says that one container holds a set of tokens of one resource, and which devices stand
 * behind them.  It is written to the database before rdmad_claims_grant() returns; when that fails
 * the table is unchanged.  Claims outlive rdmad, kubelet and the container runtime; they end when
 * podresources no longer lists them, or when a module says so.  A claim stays when its device is
 * unplugged: the holder still has to be told.
 *
 * A claim belongs to one container of one pod.  The containers of a pod may share tokens, because
 * kubelet gives the devices of an init container to the containers after it; each of them has a
 * claim of its own.  Allocate does not name the pod, so rdmad_claims_grant() judges the claims that
 * hold a token already by who vouches for them (rdmad_claims_set_kubelet()):
 *
 * - A kubelet that gave or listed a token keeps books on it.  When this kubelet gives the token again,
 *   the holder has ended, or is an earlier container of the pod that is being admitted.  Such a claim
 *   stays beside the new one while it is younger than an admission may take; the next list of
 *   podresources tells which of the two it is.
 * - A kubelet that started later may have lost its checkpoint: its offer proves nothing.  The holder
 *   lives when its cgroup does, or when kubelet lists its pod, with its devices or without.
 * - No process outlives the boot of the node.  A pod may, and then starts without an Allocate: the first
 *   kubelet of the boot vouches for the claims of the last one.
 *
 * RdmadClaim is immutable and shared by reference, as RdmadDevice is.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_CLAIM_MAX_TOKENS	    1024u
#define RDMAD_CLAIM_MAX_ATTACHMENTS 64u

/* A network interface or RDMA device that was put into a pod for a claim. */
struct RdmadAttachment {
	char *netns;	   /* as the runtime named it */
	char *interface;   /* in the pod */
	char *rdma_device; /* kernel name in the pod, or NULL */
	char **addresses;  /* "192.0.2.7/24" */
	int gid_index;	   /* RDMAD_UNKNOWN where there is none */
};

struct RdmadClaim {
	int refs;
	char *id;	/* 16 lower-case hex digits, random; safe as a file name */
	char *resource; /* "rdma/hca" */
	char **tokens;	/* as advertised to kubelet, sorted */
	char **devices; /* stable id behind each token, same order, same length */
	char *owner;	/* the module that granted it */
	char *mode;	/* "shared", "exclusive", "shared-multi" (each token is to become an
				 * interface of its own); NULL where it was not told */
	char *pod_namespace, *pod_name; /* NULL until podresources has told */
	char *container; /* NULL while the pod is unknown, and for an init container, which
				 * podresources does not list */
	char *boot,
		*kubelet; /* in which boot, and by which kubelet, it was given or listed with its
				 * tokens last; NULL: not known */
	gint64 since_us;  /* wall clock, microseconds since 1970 */
	RdmadAttachment *attachments;
	guint n_attachments;
};

RDMAD_API const RdmadClaim *rdmad_claim_ref(const RdmadClaim *claim);
RDMAD_API void rdmad_claim_unref(const RdmadClaim *claim);
typedef const RdmadClaim RdmadClaimRef;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadClaimRef, rdmad_claim_unref)

typedef struct {
	const char *owner; /* module name */
	const char *resource;
	const char *const *tokens;  /* NULL-terminated, in any order, without repeats */
	const char *const *devices; /* behind each token */
	const char *mode;	    /* may be NULL */
	gint64 asked_us;	    /* monotonic: when kubelet asked; lists from before prove
					 * nothing; 0: any list will do */
} RdmadGrant;

/*
 * Gives the tokens to a new holder and returns its claim, a reference of the caller's own.  Claims of
 * holders that have ended are ended in the same transaction.  A token whose holder lives is refused
 * in mode "exclusive"; in other modes it is given, and the journal warns.
 * RDMAD_ERROR_INVALID: nothing or too much asked for, or a token twice; RDMAD_ERROR_BUSY: the holder
 * of an exclusive token lives, and is named; RDMAD_ERROR_FAILED: not written.
 */
RDMAD_API const RdmadClaim *rdmad_claims_grant(RdmadClaims *claims, const RdmadGrant *grant,
					       GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* RDMAD_ERROR_NOT_FOUND; RDMAD_ERROR_FAILED: not written, the claim is still there. */
/* Whether rdmad_claims_grant() could judge better after a List of podresources that is asked for now:
 * call rdmad_pods_refresh() first. */
RDMAD_API gboolean rdmad_claims_in_doubt(RdmadClaims *claims, const RdmadGrant *grant);

RDMAD_API gboolean rdmad_claims_end(RdmadClaims *claims, const char *id, const char *reason,
				    GError **error);

/* Adds an attachment, or replaces the one with the same netns and interface.
 * RDMAD_ERROR_NOT_FOUND, RDMAD_ERROR_LIMIT, RDMAD_ERROR_INVALID, RDMAD_ERROR_FAILED. */
RDMAD_API gboolean rdmad_claims_attach(RdmadClaims *claims, const char *id,
				       const RdmadAttachment *attachment, GError **error);
/* RDMAD_ERROR_NOT_FOUND: no such claim or attachment; RDMAD_ERROR_FAILED. */
RDMAD_API gboolean rdmad_claims_detach(RdmadClaims *claims, const char *id, const char *netns,
				       const char *interface, GError **error);

/* Borrowed until the turn of the loop ends. */
RDMAD_API const RdmadClaim *rdmad_claims_lookup(RdmadClaims *claims, const char *id);
/* The youngest, where several containers of a pod share the token. */
RDMAD_API const RdmadClaim *rdmad_claims_by_token(RdmadClaims *claims, const char *resource,
						  const char *token);
RDMAD_API guint rdmad_claims_count(RdmadClaims *claims);
/* Oldest first; may not change the table from inside. */
RDMAD_API void rdmad_claims_foreach(RdmadClaims *claims,
				    void (*fn)(const RdmadClaim *claim, gpointer data),
				    gpointer data);

/*
 * What lets claims be rebuilt after the database was lost: kubelet still knows who holds a token,
 * the module that owns the resource knows the device behind it.
 */
typedef struct {
	const char *owner; /* module name */
	const char *resource;
	/* The stable id of the device behind a token, valid until the next call; NULL: no such token. */
	const char *(*device_of)(const char *token, gpointer data);
	/* The id under which exactly these tokens (sorted) were claimed before, g_free(); NULL: not known.
	 * May be NULL. */
	char *(*id_of)(const char *const *tokens, gpointer data);
} RdmadClaimResolver;

/* `resolver` is copied and replaces the one of that resource; without `device_of` it is withdrawn.
 * It is asked at the next List: call rdmad_pods_hint() once it knows its tokens.
 * It goes with its owner. */
RDMAD_API void rdmad_claims_set_resolver(RdmadClaims *claims, RdmadModule *owner,
					 const RdmadClaimResolver *resolver, gpointer data);

/*
 * What the kernel knows of a pod.  EMPTY: its cgroup is there, and its last process has ended: it is
 * over once kubelet does not list it.  GONE: its cgroup was there and has been removed.  A pod that has
 * no cgroup yet, or whose cgroups cannot be seen, is UNKNOWN.
 */
typedef enum {
	RDMAD_POD_LIFE_UNKNOWN,
	RDMAD_POD_LIFE_ALIVE,
	RDMAD_POD_LIFE_EMPTY,
	RDMAD_POD_LIFE_GONE,
} RdmadPodLife;

/* Asked for each claim of a List and for holders at Allocate: it must not block. */
typedef RdmadPodLife (*RdmadPodLifeFunc)(const char *pod_namespace, const char *pod_name,
					 gpointer data);

/* `life` NULL: every pod is UNKNOWN. */
RDMAD_API void rdmad_claims_set_liveness(RdmadClaims *claims, RdmadPodLifeFunc life, gpointer data);
RDMAD_API RdmadPodLife rdmad_claims_pod_life(RdmadClaims *claims, const char *pod_namespace,
					     const char *pod_name);

typedef struct {
	void (*granted)(const RdmadClaim *claim, gpointer data);
	void (*changed)(const RdmadClaim *before, const RdmadClaim *now, gpointer data);
	void (*ended)(const RdmadClaim *claim, const char *reason, gpointer data);
} RdmadClaimOps;

/* From the top of the loop, as inventory watches; replays `granted` for what is there. */
RDMAD_API RdmadWatch *rdmad_claims_watch(RdmadClaims *claims, RdmadModule *owner,
					 const RdmadClaimOps *ops,
					 gpointer data) G_GNUC_WARN_UNUSED_RESULT;

/* SPDX-License-Identifier: Apache-2.0 */
/* Names of types.  Public headers include this one instead of each other, so that no cycle is
 * possible. */
#pragma once

#include <glib.h>

#define RDMAD_API __attribute__((visibility("default")))

typedef struct RdmadAttachment RdmadAttachment;
typedef struct RdmadChild RdmadChild;
typedef struct RdmadAllocation RdmadAllocation;
typedef struct RdmadAllocations RdmadAllocations;
typedef struct RdmadConfigNode RdmadConfigNode;
typedef struct RdmadDevice RdmadDevice;
typedef struct RdmadPort RdmadPort;
typedef struct RdmadEvent RdmadEvent;
typedef struct RdmadExecutor RdmadExecutor;
typedef struct RdmadKeeper RdmadKeeper;
typedef struct RdmadAttributes RdmadAttributes;
typedef struct RdmadDirectoryWatch RdmadDirectoryWatch;
typedef struct RdmadFetch RdmadFetch;
typedef struct RdmadFetcher RdmadFetcher;
typedef struct RdmadGpu RdmadGpu;
typedef struct RdmadHandOver RdmadHandOver;
typedef struct RdmadHandOverPart RdmadHandOverPart;
typedef struct RdmadHostRun RdmadHostRun;
typedef struct RdmadGrpcCall RdmadGrpcCall;
typedef struct RdmadGrpcChannel RdmadGrpcChannel;
typedef struct RdmadGrpcRequest RdmadGrpcRequest;
typedef struct RdmadGrpcServer RdmadGrpcServer;
typedef struct RdmadHttp RdmadHttp;
typedef struct RdmadHttpRequest RdmadHttpRequest;
typedef struct RdmadInventory RdmadInventory;
typedef struct RdmadJob RdmadJob;
typedef struct RdmadEventLog RdmadEventLog;
typedef struct RdmadLoop RdmadLoop;
typedef struct RdmadMessagePeer RdmadMessagePeer;
typedef struct RdmadMessageServer RdmadMessageServer;
typedef struct RdmadStat RdmadStat;
typedef struct RdmadStats RdmadStats;
typedef struct RdmadModule RdmadModule;
typedef struct RdmadNetwork RdmadNetwork;
typedef struct RdmadNetworkWatch RdmadNetworkWatch;
typedef struct RdmadPodMetadata RdmadPodMetadata;
typedef struct RdmadPodProvider RdmadPodProvider;
typedef struct RdmadPodQuery RdmadPodQuery;
typedef struct RdmadPods RdmadPods;
typedef struct RdmadPreparation RdmadPreparation;
typedef struct RdmadPreparations RdmadPreparations;
typedef struct RdmadPreparer RdmadPreparer;
typedef struct RdmadRow RdmadRow;
typedef struct RdmadSpareDirs RdmadSpareDirs;
typedef struct RdmadState RdmadState;
typedef struct RdmadSysroot RdmadSysroot;
typedef struct RdmadTables RdmadTables;
typedef struct RdmadWatch RdmadWatch;
typedef struct RdmadWorkers RdmadWorkers;

/* How long a change of a file or directory lasts, for disk.h and its users. */
typedef enum {
	RDMAD_DISK_FOR_GOOD, /* it is synced */
	/* Until the end of the boot.  It is not synced: its owner compares what it finds, and makes
	 * what is missing or damaged, at each start. */
	RDMAD_DISK_FOR_BOOT,
} RdmadDiskLife;

/* jansson's type of values, so that only files that build JSON include jansson. */
struct json_t;

/* SPDX-License-Identifier: Apache-2.0 */
/* The group `driver` of the module's configuration. */
#pragma once

#include <rdmad/config.h>

/* AUTO: the mode of the loaded driver; if none is loaded, OFED on a node with GPUs, else
 * DEFAULT. */
typedef enum {
	ERDMA_PREFER_AUTO,
	ERDMA_PREFER_DEFAULT,
	ERDMA_PREFER_COMPAT,
	ERDMA_PREFER_OFED,
} ErdmaPrefer;

/* FINIT: finit_module(2); AUTO: the host's kmod if it exists, else finit_module(2); NONE: rdmad
 * only watches the driver. */
typedef enum {
	ERDMA_LOAD_AUTO,
	ERDMA_LOAD_KMOD,
	ERDMA_LOAD_FINIT,
	ERDMA_LOAD_NONE,
} ErdmaLoadWith;

typedef struct {
	int prefer;	  /* ErdmaPrefer */
	int load_with;	  /* ErdmaLoadWith */
	char *module;	  /* "erdma" */
	char *pci_device; /* "1ded:107f"; "": load on every node */
	char *modprobe;	  /* path on the host */
	guint64 load_timeout_ms;
	guint64 retry_ms; /* delay after the first failure; each failure doubles it */
	/* The installer; NULL or empty: none. */
	char **install_command;
	char **install_environment; /* "NAME=value" */
	char *install_package;	    /* "": none; standard input of the command */
	char *install_sha256;	    /* of the package, in hexadecimal digits */
	guint64 install_timeout_ms;
	const RdmadConfigNode *install; /* the group; during parsing only */
} ErdmaDriverSettings;

/* Names in the configuration, by ErdmaPrefer. */
extern const char *const erdma_prefer_names[];

/* `config` NULL: the defaults.  RDMAD_ERROR_CONFIG. */
ErdmaDriverSettings *erdma_driver_settings_parse(const RdmadConfigNode *config, GError **error);
void erdma_driver_settings_free(ErdmaDriverSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaDriverSettings, erdma_driver_settings_free)

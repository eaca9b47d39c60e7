/* SPDX-License-Identifier: Apache-2.0 */
/* The group `driver` of the module's configuration. */
#pragma once

#include <rdmad/config.h>

/* AUTO: the mode that the driver has; OFED for a node with GPUs, else DEFAULT, where it is not loaded. */
typedef enum {
	ERDMA_PREFER_AUTO,
	ERDMA_PREFER_DEFAULT,
	ERDMA_PREFER_COMPAT,
	ERDMA_PREFER_OFED,
} ErdmaPrefer;

/* FINIT: finit_module(2); AUTO: the host's kmod, where it has one; NONE: the driver is watched, and left
 * to others. */
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
	char *pci_device; /* "1ded:107f"; "": the driver is loaded on every node */
	char *modprobe;	  /* a path of the host */
	guint64 load_timeout_ms;
	guint64 retry_ms; /* after the first failure; doubled with each */
	/* The installer: NULL or empty, there is none. */
	char **install_command;
	char **install_environment; /* "NAME=value" */
	char *install_package;	    /* "": none; read by the command from its standard input */
	char *install_sha256;	    /* of the package, in hexadecimal digits */
	guint64 install_timeout_ms;
	const RdmadConfigNode *install; /* its group; during parsing only */
} ErdmaDriverSettings;

/* As they are configured, by ErdmaPrefer. */
extern const char *const erdma_prefer_names[];

/* `config` NULL: the defaults.  RDMAD_ERROR_CONFIG. */
ErdmaDriverSettings *erdma_driver_settings_parse(const RdmadConfigNode *config, GError **error);
void erdma_driver_settings_free(ErdmaDriverSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaDriverSettings, erdma_driver_settings_free)

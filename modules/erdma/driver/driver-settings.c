/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/driver-settings.h"

#include <limits.h>
#include <rdmad/error.h>
#include <string.h>

#define COMMAND_MAX	64
#define MODULE_NAME_MAX 55 /* MODULE_NAME_LEN of 64-bit kernels, without its NUL */
#define SECOND_MS	1000
#define MINUTE_MS	(60 * SECOND_MS)
#define HOUR_MS		(60 * MINUTE_MS)

const char *const erdma_prefer_names[] = { "auto", "default", "compat", "ofed", NULL };
static const char *const LOADERS[] = { "auto", "kmod", "finit", "none", NULL };

static gboolean refuse(GError **error, const char *why, const char *value)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "\"%s\" %s", value, why);
	return FALSE;
}

/* The name is used in a path below /sys/module and as an argument of modprobe. */
static gboolean module_check(const char *name, GError **error)
{
	const char *rest = name + strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");

	return (*rest == '\0' && g_ascii_isalpha(name[0])) ||
	       refuse(error, "is not the name of a kernel module, as /sys/module has it", name);
}

/* "1ded:107f", or "". */
static gboolean pci_device_check(const char *text, GError **error)
{
	const gsize vendor = strspn(text, "0123456789abcdef");
	const gsize device =
		vendor == 4 && text[4] == ':' ? strspn(text + 5, "0123456789abcdef") : 0;

	return text[0] == '\0' || (device == 4 && text[9] == '\0') ||
	       refuse(error, "must be a PCI vendor and device, as \"1ded:107f\"", text);
}

static gboolean path_check(const char *path, GError **error)
{
	return path[0] == '/' || path[0] == '\0' || refuse(error, "must be an absolute path", path);
}

static gboolean environment_check(const char *entry, GError **error)
{
	const char *equals = strchr(entry, '=');

	return (equals && equals > entry) || refuse(error, "must be \"NAME=value\"", entry);
}

/* "" is valid: no checksum. */
static gboolean sha256_check(const char *text, GError **error)
{
	const gsize length = strspn(text, "0123456789abcdefABCDEF");

	return (text[length] == '\0' && (length == 64 || length == 0)) ||
	       refuse(error, "must be 64 hexadecimal digits", text);
}

static gboolean command_check(const RdmadConfigNode *node, char *const *command, GError **error)
{
	return !command || !command[0] || command[0][0] == '/' ||
	       rdmad_config_error(node, "command", error,
				  "\"%s\" must be the absolute path of a program of the host",
				  command[0]);
}

#define MEMBER(member_) .offset = G_STRUCT_OFFSET(ErdmaDriverSettings, member_)

static const RdmadConfigField INSTALL_FIELDS[] = {
	{ .key = "command",
	  .type = RDMAD_CONFIG_STRINGS,
	  MEMBER(install_command),
	  .max = COMMAND_MAX },
	{ .key = "environment",
	  .type = RDMAD_CONFIG_STRINGS,
	  MEMBER(install_environment),
	  .max = COMMAND_MAX,
	  .check = environment_check },
	{ .key = "package",
	  .type = RDMAD_CONFIG_STRING,
	  MEMBER(install_package),
	  .max = PATH_MAX,
	  .check = path_check },
	{ .key = "sha256",
	  .type = RDMAD_CONFIG_STRING,
	  MEMBER(install_sha256),
	  .max = 64,
	  .check = sha256_check },
	RDMAD_CONFIG_DURATION_FIELD("timeout", ErdmaDriverSettings, install_timeout_ms, SECOND_MS,
				    24 * HOUR_MS),
	RDMAD_CONFIG_FIELDS_END,
};

static const RdmadConfigField FIELDS[] = {
	RDMAD_CONFIG_ENUM_FIELD("prefer_driver", ErdmaDriverSettings, prefer, erdma_prefer_names),
	RDMAD_CONFIG_ENUM_FIELD("load_with", ErdmaDriverSettings, load_with, LOADERS),
	{ .key = "module",
	  .type = RDMAD_CONFIG_STRING,
	  MEMBER(module),
	  .min = 1,
	  .max = MODULE_NAME_MAX,
	  .check = module_check },
	{ .key = "pci_device",
	  .type = RDMAD_CONFIG_STRING,
	  MEMBER(pci_device),
	  .max = 9,
	  .check = pci_device_check },
	{ .key = "modprobe",
	  .type = RDMAD_CONFIG_STRING,
	  MEMBER(modprobe),
	  .min = 1,
	  .max = PATH_MAX,
	  .check = path_check },
	RDMAD_CONFIG_DURATION_FIELD("load_timeout", ErdmaDriverSettings, load_timeout_ms, SECOND_MS,
				    HOUR_MS),
	RDMAD_CONFIG_DURATION_FIELD("retry", ErdmaDriverSettings, retry_ms, 100, HOUR_MS),
	RDMAD_CONFIG_GROUP_FIELD("install", ErdmaDriverSettings, install),
	RDMAD_CONFIG_FIELDS_END,
};

/* Rejects a package without a checksum or without a command. */
static gboolean install_check(const RdmadConfigNode *node, const ErdmaDriverSettings *settings,
			      GError **error)
{
	const gboolean has_command = settings->install_command && settings->install_command[0];
	const gboolean has_checksum = settings->install_sha256 && settings->install_sha256[0];
	const gboolean has_package = settings->install_package && settings->install_package[0];

	if (!command_check(node, settings->install_command, error))
		return FALSE;
	if (has_package && !has_command)
		return rdmad_config_error(node, "package", error,
					  "needs a command that installs it");
	if (has_package && !has_checksum)
		return rdmad_config_error(node, "package", error, "needs its sha256");
	return has_package || !has_checksum ||
	       rdmad_config_error(node, "sha256", error, "needs the package that it is of");
}

ErdmaDriverSettings *erdma_driver_settings_parse(const RdmadConfigNode *config, GError **error)
{
	g_autoptr(ErdmaDriverSettings) settings = g_new0(ErdmaDriverSettings, 1);

	settings->module = g_strdup("erdma");
	settings->pci_device = g_strdup("1ded:107f");
	settings->modprobe = g_strdup("/sbin/modprobe");
	settings->load_timeout_ms = MINUTE_MS;
	settings->retry_ms = 30 * SECOND_MS;
	settings->install_timeout_ms = HOUR_MS;
	if (!rdmad_config_parse(config, FIELDS, settings, error) ||
	    !rdmad_config_parse(settings->install, INSTALL_FIELDS, settings, error) ||
	    !install_check(settings->install, settings, error))
		return NULL;
	return g_steal_pointer(&settings);
}

void erdma_driver_settings_free(ErdmaDriverSettings *settings)
{
	g_free(settings->module);
	g_free(settings->pci_device);
	g_free(settings->modprobe);
	g_strfreev(settings->install_command);
	g_strfreev(settings->install_environment);
	g_free(settings->install_package);
	g_free(settings->install_sha256);
	g_free(settings);
}

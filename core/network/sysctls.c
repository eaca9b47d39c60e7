/* SPDX-License-Identifier: Apache-2.0 */
/* Sysctls of a namespace: /proc/sys/net shows the namespace of the calling thread. */
#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <rdmad/netns.h>
#include <rdmad/network.h>
#include <string.h>
#include <unistd.h>

#include "network/network-private.h"

#define NODE_SYSCTLS   "/run/host/proc/sys"
#define NAME_MAX_BYTES 255
#define VALUE_MAX      4096

static gboolean name_check(const char *name, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(name, "/", -1);
	gboolean valid = g_str_has_prefix(name, "net/") && strlen(name) <= NAME_MAX_BYTES;

	for (guint i = 0; valid && parts[i]; i++)
		valid = *parts[i] && !g_str_equal(parts[i], ".") && !g_str_equal(parts[i], "..");
	if (!valid)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "invalid sysctl name \"%s\"",
			    name);
	return valid;
}

/* In a container /proc/sys is read-only; the manifest mounts the node's /proc/sys/net here before
 * rdmad starts, so the result is cached. */
static const char *sysctl_dir(void)
{
	static gsize dir;

	if (g_once_init_enter(&dir))
		g_once_init_leave(&dir,
				  (gsize)(access(NODE_SYSCTLS "/net", F_OK) == 0 ? NODE_SYSCTLS
										 : "/proc/sys"));
	return (const char *)dir;
}

static int sysctl_open(const char *name, int flags, GError **error)
{
	g_autofree char *path = g_build_filename(sysctl_dir(), name, NULL);
	int fd;

	if (!name_check(name, error))
		return -1;
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0)
		return fd;
	rdmad_error_errno(error, errno, "cannot open sysctl %s", name);
	if (error && errno == ENOENT)
		(*error)->code = RDMAD_ERROR_NOT_FOUND;
	return -1;
}

int network_open_sysctl(const char *name, GError **error)
{
	return sysctl_open(name ? name : "", O_RDONLY, error);
}

static gboolean call(int netns, RdmadNetnsFunc fn, gpointer data, GError **error)
{
	return netns ? rdmad_netns_call(netns, fn, data, error) : fn(data, error);
}

typedef struct {
	const RdmadSysctl *sysctls;
	guint n;
} Writing;

static gboolean sysctl_write(const RdmadSysctl *sysctl, GError **error)
{
	rdmad_autofd int fd = sysctl_open(sysctl->name, O_WRONLY, error);

	if (fd < 0)
		return FALSE;
	/* Each write() sets a whole value, so a short write is an error. */
	if (write(fd, sysctl->value, strlen(sysctl->value)) == (ssize_t)strlen(sysctl->value))
		return TRUE;
	return rdmad_error_errno(error, errno, "cannot set sysctl %s to \"%s\"", sysctl->name,
				 sysctl->value);
}

static gboolean sysctls_write(gpointer data, GError **error)
{
	const Writing *writing = data;

	for (guint i = 0; i < writing->n; i++)
		if (!sysctl_write(&writing->sysctls[i], error))
			return FALSE;
	return TRUE;
}

gboolean rdmad_sysctls_write(int netns, const RdmadSysctl *sysctls, guint n, GError **error)
{
	Writing writing = { sysctls, n };

	return call(netns, sysctls_write, &writing, error);
}

typedef struct {
	const char *name;
	char *value;
} Reading;

char *rdmad_sysctl_read_fd(int fd, GError **error)
{
	char text[VALUE_MAX];
	const ssize_t n = read(fd, text, sizeof(text));

	if (n >= 0)
		return g_strchomp(g_strndup(text, (gsize)n));
	rdmad_error_errno(error, errno, "cannot read a sysctl");
	return NULL;
}

static gboolean sysctl_read(gpointer data, GError **error)
{
	Reading *reading = data;
	rdmad_autofd int fd = sysctl_open(reading->name, O_RDONLY, error);

	if (fd < 0)
		return FALSE;
	reading->value = rdmad_sysctl_read_fd(fd, error);
	if (reading->value)
		return TRUE;
	/* The kernel's error for a secret that is not set (addrconf_sysctl_stable_secret());
	 * elsewhere it may pass. */
	if (error && errno == EIO && g_str_has_suffix(reading->name, "/stable_secret"))
		(*error)->code = RDMAD_ERROR_NOT_FOUND;
	g_prefix_error(error, "%s: ", reading->name);
	return FALSE;
}

char *rdmad_sysctl_read(int netns, const char *name, GError **error)
{
	Reading reading = { name, NULL };

	return call(netns, sysctl_read, &reading, error) ? reading.value : NULL;
}

typedef struct {
	const char *directory;
	char **names;
} Listing;

static gboolean sysctls_list(gpointer data, GError **error)
{
	Listing *listing = data;
	rdmad_autofd int fd = sysctl_open(listing->directory, O_RDONLY | O_DIRECTORY, error);

	if (fd < 0)
		return FALSE;
	listing->names = rdmad_fd_list(fd, ".");
	return listing->names ||
	       rdmad_error_errno(error, errno, "cannot list sysctls of %s", listing->directory);
}

char **rdmad_sysctls_list(int netns, const char *directory, GError **error)
{
	Listing listing = { directory, NULL };

	return call(netns, sysctls_list, &listing, error) ? listing.names : NULL;
}

static gboolean sysctl_restore(const RdmadSysctl *sysctl, GError **error)
{
	Reading now = { sysctl->name, NULL };
	GError *why = NULL;
	gboolean ok = sysctl_read(&now, &why);

	if (ok ? !g_str_equal(now.value, sysctl->value)
	       : g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND)) {
		g_clear_error(&why);
		ok = sysctl_write(sysctl, &why);
	}
	g_free(now.value);
	if (ok || g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND)) {
		g_clear_error(&why);
		return TRUE;
	}
	g_propagate_error(error, why);
	return FALSE;
}

static gboolean sysctls_restore(gpointer data, GError **error)
{
	const Writing *writing = data;

	for (guint i = 0; i < writing->n; i++)
		if (!sysctl_restore(&writing->sysctls[i], error))
			return FALSE;
	return TRUE;
}

gboolean rdmad_sysctls_restore(int netns, const RdmadSysctl *sysctls, guint n, GError **error)
{
	Writing writing = { sysctls, n };

	return call(netns, sysctls_restore, &writing, error);
}

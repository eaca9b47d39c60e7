/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/rdmad-cni.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NEWEST "1.1.0"

/* ---- environment ---- */

/* Only the variables for the daemon and IPAM plugins are forwarded. */
static int is_forwarded(const char *variable)
{
	static const char *const names[] = { "CNI_", "TRACEPARENT=", "TRACESTATE=", "BAGGAGE=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return 1;
	return 0;
}

static int environment_read(ShimRequest *request, const char **problem)
{
	for (char **variable = environ; *variable; variable++) {
		const size_t size = strlen(*variable) + 1;

		if (!is_forwarded(*variable))
			continue;
		if (size > sizeof(request->environment) - request->environment_size) {
			*problem = "the variables of CNI are larger than 64 KiB";
			return 4;
		}
		memcpy(request->environment + request->environment_size, *variable, size);
		request->environment_size += (uint32_t)size;
	}
	request->command = getenv("CNI_COMMAND");
	return 0;
}

/* ---- the version, which every error names ---- */

/* Returns the position after the quote that ends the string at `at`. */
static const char *string_end(const char *at, const char *end)
{
	for (; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at + 1 : end;
}

static const char *space_end(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
		at++;
	return at;
}

/* Reads "1.0.0" after the colon at `at`. */
static void version_take(ShimRequest *request, const char *at, const char *end)
{
	size_t length;

	at = space_end(at, end);
	if (at == end || *at != ':')
		return;
	at = space_end(at + 1, end);
	if (at == end || *at != '"')
		return;
	at++;
	for (length = 0; at + length < end && strchr("0123456789.", at[length]) && at[length];)
		length++;
	if (length && length < sizeof(request->version) && at + length < end && at[length] == '"') {
		memcpy(request->version, at, length);
		request->version[length] = '\0';
	}
}

/* Finds the key at the top level of the object only.  The daemon validates the rest of the JSON. */
static void version_find(ShimRequest *request)
{
	static const char key[] = "cniVersion\"";
	const char *at = request->input, *end = at + request->input_size;
	int depth = 0;

	snprintf(request->version, sizeof(request->version), NEWEST);
	while (at < end) {
		const char c = *at++;
		const char *after;

		depth += (c == '{' || c == '[') - (c == '}' || c == ']');
		if (c != '"')
			continue;
		after = string_end(at, end);
		if (depth == 1 && after - at == sizeof(key) - 1 &&
		    memcmp(at, key, sizeof(key) - 1) == 0)
			version_take(request, after, end);
		at = after;
	}
}

static int input_read(ShimRequest *request, Deadline deadline, const char **problem)
{
	const int64_t n = read_all(STDIN_FILENO, request->input, sizeof(request->input), deadline);
	const int errnum = errno;

	/* The beginning of a configuration that is too large still has the version. */
	if (n >= 0)
		request->input_size = (uint32_t)n;
	else if (errnum == EFBIG)
		request->input_size = sizeof(request->input);
	version_find(request);
	if (n >= 0)
		return 0;
	*problem = errnum == EFBIG	 ? "the network configuration is larger than 1 MiB"
		   : errnum == ETIMEDOUT ? "the network configuration did not come in time"
					 : "the network configuration cannot be read";
	return errnum == EFBIG ? 6 : 5;
}

/* ---- namespace ---- */

/* O_PATH opens without side effects first: a path may be a FIFO or a device. */
static int netns_open(ShimRequest *request, const char *path, const char **problem)
{
	const int found = open(path, O_PATH | O_CLOEXEC);
	struct statfs system;
	struct stat status;
	char again[32];

	*problem = "CNI_NETNS cannot be opened";
	if (found < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 8 : 5;
	*problem = "CNI_NETNS is not a network namespace";
	if (fstatfs(found, &system) < 0 || system.f_type != NSFS_MAGIC ||
	    fstat(found, &status) < 0) {
		close(found);
		return 8;
	}
	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	request->netns = open(again, O_RDONLY | O_CLOEXEC);
	close(found);
	*problem = "CNI_NETNS cannot be opened";
	if (request->netns < 0)
		return 5;
	request->netns_device = status.st_dev;
	request->netns_inode = status.st_ino;
	return 0;
}

/* Only ADD and CHECK fail without a namespace. */
static int netns_read(ShimRequest *request, const char **problem)
{
	const char *path = getenv("CNI_NETNS");
	const int needed = request->command && (strcmp(request->command, "ADD") == 0 ||
						strcmp(request->command, "CHECK") == 0);
	int code = 0;

	if (path && path[0])
		code = netns_open(request, path, problem);
	return needed ? code : 0;
}

int request_read(ShimRequest *request, Deadline deadline, const char **problem)
{
	int code;

	request->netns = -1;
	code = input_read(request, deadline, problem);
	if (!code)
		code = environment_read(request, problem);
	if (!code && (!request->command || !request->command[0])) {
		*problem = "required env variables [CNI_COMMAND] missing";
		code = 4;
	}
	return code ? code : netns_read(request, problem);
}

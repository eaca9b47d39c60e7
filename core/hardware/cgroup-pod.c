/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/cgroup-pod.h>

#include <string.h>

#define UID_DASHED   36
#define UID_PLAIN    32
#define CONTAINER_ID 64

/* A substring, not NUL-terminated. */
typedef struct {
	const char *text;
	gsize len;
} Part;

static gboolean part_has_prefix(Part part, const char *prefix)
{
	const gsize len = strlen(prefix);

	return part.len >= len && memcmp(part.text, prefix, len) == 0;
}

static const char *part_find(Part part, const char *what)
{
	return memmem(part.text, part.len, what, strlen(what));
}

static Part part_from(Part part, const char *at)
{
	return (Part){ at, part.len - (gsize)(at - part.text) };
}

/* Returns the text before `end` and moves behind it; all of the text if there is none. */
static Part part_take(Part *rest, char end)
{
	const char *at = memchr(rest->text, end, rest->len);
	const Part part = { rest->text, at ? (gsize)(at - rest->text) : rest->len };

	*rest = at ? part_from(*rest, at + 1) : (Part){ rest->text + rest->len, 0 };
	return part;
}

static gboolean is_hex(const char *text, gsize len)
{
	for (gsize i = 0; i < len; i++)
		if (!g_ascii_isdigit(text[i]) && (text[i] < 'a' || text[i] > 'f'))
			return FALSE;
	return TRUE;
}

/* 8-4-4-4-12, with systemd's "_" for "-". */
static gboolean take_dashed(Part part, char *uid)
{
	for (gsize i = 0; i < UID_DASHED; i++) {
		const gboolean dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? part.text[i] != '-' && part.text[i] != '_' : !is_hex(&part.text[i], 1))
			return FALSE;
		uid[i] = dash ? '-' : part.text[i];
	}
	uid[UID_DASHED] = '\0';
	return TRUE;
}

/* Parses a uid at the start of a part; the end of the part, "." or ":" must follow. */
static gboolean take_uid(Part part, char *uid)
{
	gsize len = UID_DASHED;

	if (part.len < UID_DASHED || !take_dashed(part, uid)) {
		len = UID_PLAIN;
		if (part.len < UID_PLAIN || !is_hex(part.text, UID_PLAIN))
			return FALSE;
		memcpy(uid, part.text, UID_PLAIN);
		uid[UID_PLAIN] = '\0';
	}
	return len == part.len || part.text[len] == '.' || part.text[len] == ':';
}

/* "kubelet-kubepods-burstable-pod<uid>.slice", "pod<uid>" */
static gboolean take_pod(Part segment, gboolean below_kubepods, char *uid)
{
	const char *kubepods = part_find(segment, "kubepods");
	const char *pod = kubepods ? part_find(part_from(segment, kubepods), "-pod") : NULL;

	if (pod)
		return take_uid(part_from(segment, pod + 4), uid);
	return below_kubepods && part_has_prefix(segment, "pod") &&
	       take_uid(part_from(segment, segment.text + 3), uid);
}

/*
 * "<id>", "cri-containerd-<id>.scope", "crio-<id>", "...pod<uid>.slice:cri-containerd:<id>".  The
 * monitor of a container ("crio-conmon-<id>.scope") has its id, but is not in the container.
 */
static void take_container(Part segment, char *id)
{
	const char *dot = part_find(segment, ".scope");
	const gsize len = dot ? (gsize)(dot - segment.text) : segment.len;
	const char *end = segment.text + len;

	if (*id || len < CONTAINER_ID || !is_hex(end - CONTAINER_ID, CONTAINER_ID))
		return;
	if (len > CONTAINER_ID && !strchr("-:", end[-CONTAINER_ID - 1]))
		return;
	if (part_find(segment, "conmon"))
		return;
	memcpy(id, end - CONTAINER_ID, CONTAINER_ID);
	id[CONTAINER_ID] = '\0';
}

/* In a cgroup namespace, the path above its root is "..", so the segment "kubepods" may be
 * missing. */
static gboolean path_parse(Part path, RdmadCgroupPod *pod)
{
	gboolean below = part_has_prefix(path, "/..");
	gboolean found = FALSE;

	pod->container_id[0] = '\0';
	while (path.len > 0) {
		Part segment = part_take(&path, '/');
		const char *deleted = part_find(segment, " (deleted)");

		/* cgroup v2 appends " (deleted)" after the removal. */
		if (deleted)
			segment.len = (gsize)(deleted - segment.text);
		if (!found)
			found = take_pod(segment, below, pod->uid);
		if (found)
			take_container(segment, pod->container_id);
		below = below || part_find(segment, "kubepods");
	}
	return found;
}

gboolean rdmad_cgroup_pod_parse(const char *text, RdmadCgroupPod *pod)
{
	Part rest = { text, strlen(text) };

	while (rest.len > 0) {
		/* hierarchy:controllers:path; the path may contain colons. */
		Part line = part_take(&rest, '\n');

		part_take(&line, ':');
		part_take(&line, ':');
		if (path_parse(line, pod))
			return TRUE;
	}
	return FALSE;
}

gboolean rdmad_cgroup_pod_directory(const char *name, char *uid)
{
	return take_pod((Part){ name, strlen(name) }, TRUE, uid);
}

gboolean rdmad_cgroup_pod_path(const char *path, char *uid)
{
	const char *slash = strrchr(path, '/');

	return rdmad_cgroup_pod_directory(slash ? slash + 1 : path, uid);
}

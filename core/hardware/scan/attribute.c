/* SPDX-License-Identifier: Apache-2.0 */
/* Reads sysfs attributes by a table: name, parser, and whether the attribute may be missing */
#include <errno.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>

#include "hardware/scan/parts.h"
#include "hardware/device.h"
#include "hardware/sysroot.h"

void rdmad_attr_problem(const RdmadAttrDir *dir, const GError *error)
{
	const char *text = error->message;
	const gsize len = strlen(dir->path);

	if (!strncmp(text, dir->path, len) && text[len] == '/')
		rdmad_device_add_problem(dir->dev, "%s%s", dir->label, text + len + 1);
	else
		rdmad_device_add_problem(dir->dev, "%s", text);
}

static gboolean is_problem(RdmadAttrNeed need, const GError *error, int errnum)
{
	switch (need) {
	case RDMAD_ATTR_REQUIRED:
		return TRUE;
	case RDMAD_ATTR_VALUE:
		return errnum != EINVAL;
	case RDMAD_ATTR_OPTIONAL:
		return !g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	case RDMAD_ATTR_QUIET:
		break;
	}
	return FALSE;
}

/* Reading by path reports the error for each attribute if the directory cannot be opened. */
static gboolean attr_text(const RdmadAttrDir *dir, const char *name,
			  char text[RDMAD_SYSROOT_ATTRIBUTE_SIZE], GError **error)
{
	g_autofree char *path = NULL, *value = NULL;

	if (dir->fd >= 0)
		return rdmad_sysroot_read_attribute(dir->fd, dir->path, name, text, error);
	path = g_strconcat(dir->path, "/", name, NULL);
	value = rdmad_sysroot_read(dir->root, path, error);
	if (!value)
		return FALSE;
	g_strlcpy(text, value, RDMAD_SYSROOT_ATTRIBUTE_SIZE);
	return TRUE;
}

static void attr_read(const RdmadAttrDir *dir, const RdmadAttr *attr, gpointer member)
{
	char text[RDMAD_SYSROOT_ATTRIBUTE_SIZE];
	g_autoptr(GError) error = NULL;
	const gboolean quiet = attr->need == RDMAD_ATTR_QUIET;

	errno = 0;
	if (!attr_text(dir, attr->name, text, quiet ? NULL : &error)) {
		if (is_problem(attr->need, error, errno))
			rdmad_attr_problem(dir, error);
		return;
	}
	if (!attr->parse(text, member) && !quiet)
		rdmad_device_add_problem(dir->dev, "%s%s: not understood: \"%.64s\"", dir->label,
					 attr->name, text);
}

void rdmad_attrs_read(const RdmadAttrDir *dir, const RdmadAttr *attrs, guint n, gpointer out)
{
	for (guint i = 0; i < n; i++)
		attr_read(dir, &attrs[i], G_STRUCT_MEMBER_P(out, attrs[i].offset));
}

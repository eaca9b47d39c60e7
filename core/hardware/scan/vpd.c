/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vital product data (VPD) of a PCI function
 *
 * It is a list of resources.  A small one has its type and its size in one byte, a large one has a
 * byte and a size of two bytes, little-endian.  The resource of read-only data is a list of
 * keywords: two characters, a size of one byte, the value.  Source: PCI Local Bus Specification
 * 3.0, appendix I.
 */
#include "hardware/scan/vpd.h"

#include <errno.h>
#include <rdmad/fd.h>

#include "base/error.h"
#include "hardware/device.h"
#include "hardware/scan/parts.h"
#include "hardware/sysroot.h"

#define VPD_MAX		32768u /* its addresses have 15 bits */
#define MODEL_MAX	64u
#define LARGE		0x80u
#define LARGE_READ_ONLY 0x90u
#define SMALL_TYPE(tag) ((tag) >> 3)
#define SMALL_END	0x0fu

/* Bytes that have not been parsed. */
typedef struct {
	const guint8 *at;
	gsize left;
} Bytes;

/* Returns the next `size` bytes, or as many as there are. */
static Bytes bytes_take(Bytes *bytes, gsize size)
{
	const Bytes taken = { bytes->at, MIN(size, bytes->left) };

	bytes->at += taken.left;
	bytes->left -= taken.left;
	return taken;
}

/* Returns FALSE at the end, which may lack its tag.  The data of a resource may be cut off. */
static gboolean resource_next(Bytes *vpd, guint *tag, Bytes *data)
{
	const Bytes head = bytes_take(vpd, 1);
	Bytes size;

	if (!head.left)
		return FALSE;
	*tag = head.at[0];
	if (!(*tag & LARGE)) {
		*data = bytes_take(vpd, *tag & 7);
		return SMALL_TYPE(*tag) != SMALL_END;
	}
	size = bytes_take(vpd, 2);
	if (size.left < 2)
		return FALSE;
	*data = bytes_take(vpd, size.at[0] | (gsize)size.at[1] << 8);
	return TRUE;
}

/* Returns FALSE at the end, and for a keyword that is cut off. */
static gboolean keyword_next(Bytes *resource, Bytes *name, Bytes *value)
{
	Bytes size;

	*name = bytes_take(resource, 2);
	size = bytes_take(resource, 1);
	if (!size.left)
		return FALSE;
	*value = bytes_take(resource, size.at[0]);
	return value->left == size.at[0];
}

/* The fields of NVIDIA's keyword VA: "MLX:MN=MLNX:CSKU=V2:MODL=CX7:SMDL=SW_MNG". */
static char *value_model(const Bytes *value)
{
	g_autofree char *text = g_strndup((const char *)value->at, value->left);
	g_auto(GStrv) fields = g_strsplit(text, ":", -1);

	for (guint i = 0; fields[i]; i++)
		if (g_str_has_prefix(fields[i], "SMDL=")) {
			g_autofree char *model = g_strndup(fields[i] + 5, MODEL_MAX);

			return g_utf8_make_valid(g_strstrip(model), -1);
		}
	return NULL;
}

static char *resource_model(Bytes resource)
{
	char *model = NULL;
	Bytes name, value;

	while (!model && keyword_next(&resource, &name, &value))
		if (name.at[0] == 'V')
			model = value_model(&value);
	return model;
}

char *rdmad_vpd_model(const guint8 *vpd, gsize size)
{
	Bytes left = { vpd, MIN(size, VPD_MAX) }, data;
	char *model = NULL;
	guint tag;

	while (!model && resource_next(&left, &tag, &data))
		if (tag == LARGE_READ_ONLY)
			model = resource_model(data);
	return model ?: g_strdup("");
}

/* Errors that may pass say nothing, and do not put the device in doubt: the next scan of all
 * devices tries again.  Until then it counts as a NIC.  A process without privileges may not read
 * the data. */
static gboolean is_problem(int errnum)
{
	return errnum != ENOENT && errnum != ENODEV && errnum != EACCES &&
	       !rdmad_errno_may_pass(errnum);
}

void rdmad_scan_vpd(const RdmadAttrDir *function)
{
	g_autoptr(GString) bytes = g_string_new(NULL);
	rdmad_autofd int fd = rdmad_sysroot_open_file_at(function->fd, "vpd");

	if (fd >= 0 && rdmad_fd_read_all(fd, VPD_MAX, bytes))
		function->dev->vpd_model = rdmad_vpd_model((const guint8 *)bytes->str, bytes->len);
	else if (is_problem(errno))
		rdmad_device_add_problem(function->dev, "%svpd: %s", function->label,
					 g_strerror(errno));
}

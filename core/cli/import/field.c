/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of selector values from the plugins' syntax to rdmad's */
#include "cli/import/field.h"

#include <rdmad/error.h>
#include <string.h>

#define PATTERN_MAX 128u

static char *value_refuse(GError **error, const char *text, const char *why)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "\"%s\" %s", text, why);
	return NULL;
}

char *rdmad_import_convert_pattern(const char *text, GError **error)
{
	if (!text[0] || strlen(text) > PATTERN_MAX || g_str_equal(text, "!"))
		return value_refuse(error, text, "should have 1 to 128 characters");
	for (const char *c = text; *c; c++)
		if ((guchar)*c <= ' ' || *c == 0x7f)
			return value_refuse(error, text, "has a blank or a control character");
	return g_strdup(text);
}

/* Converts "15b3" or "0x15B3" to "15b3"; returns NULL if it is invalid. */
static char *hex16(const char *text)
{
	const char *digits = g_str_has_prefix(text, "0x") ? text + 2 : text;

	if (strlen(digits) != 4 || strspn(digits, "0123456789abcdefABCDEF") != 4)
		return NULL;
	return g_ascii_strdown(digits, -1);
}

char *rdmad_import_convert_pci_id(const char *text, GError **error)
{
	return hex16(text)
		       ?: value_refuse(error, text,
				       "is not a PCI id: four hexadecimal digits, "
				       "as \"15b3\"");
}

char *rdmad_import_convert_pkey(const char *text, GError **error)
{
	return hex16(text)
		       ?: value_refuse(error, text,
				       "is not a P_Key: four hexadecimal digits, "
				       "as \"0x8001\"");
}

char *rdmad_import_convert_number(const char *text, GError **error)
{
	guint64 number;

	if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32, &number, NULL))
		return value_refuse(error, text, "is not a number");
	return g_strdup(text);
}

/* Checks `length` bytes for "0000:3b:00.0". */
static gboolean pci_address_ok(const char *text, gsize length)
{
	static const char form[] = "xxxx:xx:xx.o";

	if (length != sizeof(form) - 1)
		return FALSE;
	for (gsize i = 0; i < length; i++) {
		const gboolean ok = form[i] == 'x'   ? g_ascii_isxdigit(text[i])
				    : form[i] == 'o' ? text[i] >= '0' && text[i] <= '7'
						     : text[i] == form[i];

		if (!ok)
			return FALSE;
	}
	return TRUE;
}

char *rdmad_import_convert_pci_address(const char *text, GError **error)
{
	if (!pci_address_ok(text, strlen(text)))
		return value_refuse(error, text, "is not a PCI address such as \"0000:3b:00.0\"");
	return g_ascii_strdown(text, -1);
}

char *rdmad_import_convert_link_type(const char *text, GError **error)
{
	if (g_str_equal(text, "ether"))
		return g_strdup("ethernet");
	if (g_str_equal(text, "infiniband"))
		return g_strdup("infiniband");
	return value_refuse(error, text,
			    "is not a link type of RDMA devices: \"ether\" or \"infiniband\"");
}

/* Accepts "7" or "0-3". */
static gboolean range_ok(const char *part)
{
	g_auto(GStrv) ends = g_strsplit(part, "-", 3);
	guint64 numbers[2] = { 0, G_MAXUINT32 };

	if (!ends[0] || (ends[1] && ends[2]))
		return FALSE;
	for (guint i = 0; ends[i]; i++)
		if (!g_ascii_string_to_unsigned(ends[i], 10, 0, G_MAXUINT16, &numbers[i], NULL))
			return FALSE;
	return numbers[0] <= numbers[1];
}

/* Checks the part after "#": "0-3,7". */
static gboolean ranges_ok(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, ",", -1);

	for (guint i = 0; parts[i]; i++)
		if (!range_ok(parts[i]))
			return FALSE;
	return parts[0] != NULL;
}

char *rdmad_import_convert_netdev_range(const char *text, GError **error)
{
	const char *hash = strchr(text, '#');

	if (hash == text || (hash && !ranges_ok(hash + 1)))
		return value_refuse(error, text,
				    "is not an interface with functions such as \"ens1f0#0-3,7\"");
	return rdmad_import_convert_pattern(text, error);
}

char *rdmad_import_convert_pci_range(const char *text, GError **error)
{
	const char *hash = strchr(text, '#');

	if (!pci_address_ok(text, hash ? (gsize)(hash - text) : strlen(text)) ||
	    (hash && !ranges_ok(hash + 1)))
		return value_refuse(
			error, text,
			"is not a PCI address with functions such as \"0000:3b:00.0#0-3,7\"");
	return g_ascii_strdown(text, -1);
}

/* ---- The keys of a JSON object by a table, as the plugins' own parser takes them: case does not matter, null is absent, and a key that is not known is not an error ---- */

#define VALUES_MAX 8192u /* limit of all values; rdmad.conf may have twice as many settings */

static const char *type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "a whole number";
	case JSON_REAL:
		return "a number with a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
		return "null";
	}
	g_assert_not_reached();
}

static gboolean type_error(const RdmadImport *import, GError **error, const char *path,
			   const json_t *value, const char *wanted)
{
	return rdmad_import_error(import, error, path, "this is %s, and should be %s",
				  type_name(value), wanted);
}

json_t *rdmad_import_get(const json_t *object, const char *key)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)object, name, value) if (g_ascii_strcasecmp(name, key) == 0 &&
							       !json_is_null(value)) return value;
	return NULL;
}

static gboolean read_text(RdmadImport *import, const char *path, const json_t *value,
			  const char **out, GError **error)
{
	if (!json_is_string(value))
		return type_error(import, error, path, value, "a string");
	*out = json_string_value(value);
	return TRUE;
}

static gboolean read_number(RdmadImport *import, const char *path, const json_t *value, gint64 *out,
			    GError **error)
{
	if (!json_is_integer(value))
		return type_error(import, error, path, value, "a whole number");
	*out = json_integer_value(value);
	if (*out < 0)
		return rdmad_import_error(import, error, path, "%" G_GINT64_FORMAT " is negative",
					  *out);
	return TRUE;
}

static gboolean read_flag(RdmadImport *import, const char *path, const json_t *value, gboolean *out,
			  GError **error)
{
	if (!json_is_boolean(value))
		return type_error(import, error, path, value, "true or false");
	*out = json_is_true(value);
	return TRUE;
}

static void mind_value(RdmadImport *import, const RdmadImportField *field, const char *path,
		       const char *text)
{
	/* The plugins compare whole texts. */
	if (text[0] == '!' || strpbrk(text, "*?"))
		rdmad_import_mind(import, path,
				  "a pattern for rdmad; the plugin took it literally");
}

/* Replaces the driver of the RDMA subsystem, which common examples have, by that of the PCI
 * function. */
static char *driver_meant(RdmadImport *import, const RdmadImportField *field, const char *path,
			  char *text)
{
	if (!g_str_equal(field->ours, "drivers") || !g_str_equal(text, "mlx5_ib"))
		return text;
	rdmad_import_mind(import, path, "mlx5_ib is not a PCI driver: mlx5_core in its place");
	g_free(text);
	return g_strdup("mlx5_core");
}

static char *read_selector_value(RdmadImport *import, const RdmadImportField *field,
				 const char *path, const json_t *value, GError **error)
{
	g_autoptr(GError) why = NULL;
	char *converted;

	if (!json_is_string(value))
		return type_error(import, error, path, value, "a string"), NULL;
	converted = field->convert(json_string_value(value), &why);
	if (!converted) {
		rdmad_import_error(import, error, path, "%s", why->message);
		return NULL;
	}
	mind_value(import, field, path, converted);
	return driver_meant(import, field, path, converted);
}

static gboolean read_selector(RdmadImport *import, const RdmadImportField *field, const char *path,
			      const json_t *list, GArray *group, GError **error)
{
	g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);

	if (!json_is_array(list))
		return type_error(import, error, path, list, "a list of strings");
	if (rdmad_import_group_find(group, field->ours))
		return rdmad_import_error(import, error, path, "this key is here twice");
	import->n_values += 1 + (guint)json_array_size(list);
	if (import->n_values > VALUES_MAX)
		return rdmad_import_error(import, error, path,
					  "more values than rdmad.conf allows");
	for (gsize i = 0; i < json_array_size(list); i++) {
		g_autofree char *entry = g_strdup_printf("%s[%zu]", path, i);
		char *value =
			read_selector_value(import, field, entry, json_array_get(list, i), error);

		if (!value)
			return FALSE;
		g_ptr_array_add(values, value);
	}
	if (values->len == 0) /* an empty list counts as absent */
		return TRUE;
	g_ptr_array_add(values, NULL);
	rdmad_import_group_add(group, field->ours, (char **)g_ptr_array_steal(values, NULL));
	return TRUE;
}

static gboolean read_container(RdmadImport *import, const RdmadImportField *field, const char *path,
			       json_t *value, json_t **out, GError **error)
{
	if (field->type != RDMAD_IMPORT_LIST && json_is_object(value))
		*out = value;
	else if (field->type != RDMAD_IMPORT_OBJECT && json_is_array(value))
		*out = value;
	else
		return type_error(import, error, path, value,
				  field->type == RDMAD_IMPORT_LIST ? "a list" : "an object");
	return TRUE;
}

static gboolean read_field(RdmadImport *import, const RdmadImportField *field, const char *path,
			   json_t *value, gpointer out, GError **error)
{
	gpointer member = G_STRUCT_MEMBER_P(out, field->offset);

	switch (field->type) {
	case RDMAD_IMPORT_TEXT:
		return read_text(import, path, value, member, error);
	case RDMAD_IMPORT_NUMBER:
		return read_number(import, path, value, member, error);
	case RDMAD_IMPORT_FLAG:
		return read_flag(import, path, value, member, error);
	case RDMAD_IMPORT_OBJECT:
	case RDMAD_IMPORT_LIST:
	case RDMAD_IMPORT_OBJECTS:
		return read_container(import, field, path, value, member, error);
	case RDMAD_IMPORT_SELECTOR:
		return read_selector(import, field, path, value, *(GArray **)member, error);
	case RDMAD_IMPORT_LOST:
		return rdmad_import_lose(import, path, field->lost);
	}
	g_assert_not_reached();
}

static const RdmadImportField *field_find(const RdmadImportField *fields, const char *key)
{
	for (; fields->key; fields++)
		if (g_ascii_strcasecmp(fields->key, key) == 0)
			return fields;
	return NULL;
}

gboolean rdmad_import_read(RdmadImport *import, const char *path, const json_t *object,
			   const RdmadImportField *fields, gpointer out, GError **error)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return type_error(import, error, path, object, "an object");
	json_object_foreach((json_t *)object, key, value)
	{
		const RdmadImportField *field = field_find(fields, key);
		g_autofree char *inner = g_strconcat(path, *path ? "." : "", key, NULL);

		if (!field)
			rdmad_import_lose(import, inner, "the plugin has no such key");
		else if (!json_is_null(value) &&
			 !read_field(import, field, inner, value, out, error))
			return FALSE;
	}
	return TRUE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the resources as an rdmad.conf for people to read and edit */
#include <string.h>

#include "cli/import/parts.h"
#include "cli/table.h"

static void write_string(GString *out, const char *string)
{
	g_string_append_c(out, '"');
	for (; *string; string++) {
		if (*string == '"' || *string == '\\')
			g_string_append_printf(out, "\\%c", *string);
		else if ((guchar)*string < 0x20 || *string == 0x7f)
			g_string_append_printf(out, "\\x%02x", (guchar)*string);
		else
			g_string_append_c(out, *string);
	}
	g_string_append_c(out, '"');
}

/* Writes `key = "x";`, or a list of several values. */
static void write_strings(GString *out, const char *indent, const char *key,
			  const char *const *values, guint n_values)
{
	g_string_append_printf(out, "%s%s = %s", indent, key, n_values == 1 ? "" : "( ");
	for (guint i = 0; i < n_values; i++) {
		g_string_append(out, i ? ", " : "");
		write_string(out, values[i]);
	}
	g_string_append(out, n_values == 1 ? ";" : " );");
}

static void write_group(GString *out, const char *indent, const GArray *group)
{
	g_autofree char *deeper = g_strconcat(indent, "\t", NULL);

	g_string_append(out, "{\n");
	for (guint i = 0; i < group->len; i++) {
		const RdmadImportSelector *selector = &g_array_index(group, RdmadImportSelector, i);

		write_strings(out, deeper, selector->key, (const char *const *)selector->values,
			      g_strv_length(selector->values));
		if (selector->why)
			g_string_append_printf(out, "\t# %s", selector->why);
		g_string_append_c(out, '\n');
	}
	g_string_append_printf(out, "%s}", indent);
}

static void write_selectors(GString *out, const GPtrArray *groups)
{
	const GArray *first = groups->pdata[0];

	if (groups->len == 1 && first->len == 0)
		return; /* the default: every device */
	g_string_append(out, "\t\t\t\tselectors = ");
	if (groups->len == 1) {
		write_group(out, "\t\t\t\t", first);
		g_string_append(out, ";\n");
		return;
	}
	g_string_append(out, "(\n");
	for (guint i = 0; i < groups->len; i++) {
		g_string_append(out, "\t\t\t\t\t");
		write_group(out, "\t\t\t\t\t", groups->pdata[i]);
		g_string_append(out, i + 1 < groups->len ? ",\n" : "\n");
	}
	g_string_append(out, "\t\t\t\t);\n");
}

static void write_slots(GString *out, const RdmadImportResource *resource)
{
	if (resource->exclusive) {
		g_string_append(out, "\t\t\t\tmode = \"exclusive\";\n");
		return;
	}
	if (resource->mode_from) {
		g_string_append_printf(out,
				       "\t\t\t\tmode = \"shared\";\n"
				       "\t\t\t\tmode_from = \"%s\";\n"
				       "\t\t\t\tcount = %" G_GINT64_FORMAT ";\n"
				       "\t\t\t\tcount_per = \"device\";\n",
				       resource->mode_from, resource->count);
		return;
	}
	if (resource->per_device) {
		g_string_append_printf(out,
				       "\t\t\t\tcount = %" G_GINT64_FORMAT ";\n"
				       "\t\t\t\tcount_per = \"device\";\n"
				       "\t\t\t\tids = \"name\";	# erdma_0/7, as before\n"
				       "\t\t\t\tsmcr_pnet = true;\n"
				       "\t\t\t\texpose = \"%s\";\n",
				       resource->count, resource->all_devices ? "pool" : "device");
		return;
	}
	g_string_append_printf(out,
			       "\t\t\t\tmode = \"shared\";\n"
			       "\t\t\t\tcount = %" G_GINT64_FORMAT ";\n"
			       "\t\t\t\tcount_per = \"pool\";\n"
			       "\t\t\t\texpose = \"pool\";	# a slot gives every device here; "
			       "\"device\": only its own\n"
			       "\t\t\t\tbusy_pfs = true;	# also a PF whose VFs are in use\n",
			       resource->count);
}

static void write_resource(GString *out, const RdmadImportResource *resource)
{
	g_string_append_printf(out, "\t\t\t{\t# %s\n\t\t\t\tname = ", resource->origin);
	write_string(out, resource->name);
	g_string_append(out, ";\n");
	write_slots(out, resource);
	if (!resource->numa)
		g_string_append(out, "\t\t\t\tnuma = false;	# no topology was advertised\n");
	write_selectors(out, resource->groups);
	if (resource->shared_with->len) {
		write_strings(out, "\t\t\t\t", "shared_with",
			      (const char *const *)resource->shared_with->pdata,
			      resource->shared_with->len);
		g_string_append_c(out, '\n');
	}
	if (!resource->per_device && !resource->mode_from)
		g_string_append(
			out,
			"\t\t\t\tumad = true;	# as before; most pods do without these three\n"
			"\t\t\t\tissm = true;\n"
			"\t\t\t\tucm = true;\n");
	g_string_append(out, "\t\t\t}");
}

static void write_head(GString *out, const RdmadImport *import)
{
	g_autofree char *file = rdmad_text_escape(import->options->file);

	g_string_append_printf(out,
			       "# rdmad.conf, made by rdmad import-config from %s\n"
			       "# Read it, then try it: rdmad --check --config THIS-FILE\n",
			       file);
	if (import->notes->len)
		g_string_append(out, "#\n");
	for (guint i = 0; i < import->notes->len; i++)
		g_string_append_printf(out, "# %s\n", (const char *)import->notes->pdata[i]);
}

static void write_cni(GString *out, const char *network)
{
	g_string_append(out, "\tcni = {\n\t\tannotation_networks = ");
	write_string(out, network);
	g_string_append(out, ";\n"
			     "\t\t# The fabric knows only the NICs' own MAC addresses.\n"
			     "\t\tnetworks = ( { name = \"vke\"; link = \"ipvlan\"; } );\n\t};\n");
}

char *rdmad_import_write(const RdmadImport *import)
{
	GString *out = g_string_new(NULL);

	write_head(out, import);
	g_string_append(out, "\nmodules = {\n\tdevice-plugin = {\n\t\tresources = (\n");
	for (guint i = 0; i < import->resources->len; i++) {
		write_resource(out, import->resources->pdata[i]);
		g_string_append(out, i + 1 < import->resources->len ? ",\n" : "\n");
	}
	g_string_append(out, "\t\t);\n\t};\n");
	if (import->erdma_driver)
		g_string_append_printf(out,
				       "\terdma = {\n\t\tdriver = {\n"
				       "\t\t\tprefer_driver = \"%s\";\n"
				       "\t\t};\n\t};\n",
				       import->erdma_driver);
	if (import->cni_network)
		write_cni(out, import->cni_network);
	g_string_append(out, "};\n");
	return g_string_free(out, FALSE);
}

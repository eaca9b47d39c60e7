/* SPDX-License-Identifier: Apache-2.0 */
/* Vital product data: the model of a function, and data that are none */
#include <string.h>

#include "hardware/scan/vpd.h"
#include "../support/unit.h"

#define ID                                                                                         \
	"\x82\x04\x00"                                                                             \
	"ConX"
#define VA	    "MLX:MN=MLNX:CSKU=V2:UUID=V3:PCI=V0:MODL=CX7:SMDL=SW_MNG"
#define CHECKSUM    "RV\x01u"
#define END	    "x"
#define BYTES(text) (const guint8 *)(text), sizeof(text) - 1

static const struct {
	const char *name;
	const guint8 *vpd;
	gsize size;
	const char *model;
} cases[] = {
	{ "switch_management", BYTES(ID "\x90>\x00VA7" VA CHECKSUM END), "SW_MNG" },
	{ "without_an_end", BYTES(ID "\x90>\x00VA7" VA CHECKSUM), "SW_MNG" },
	{ "a_small_resource_first", BYTES("\x7a..\x90>\x00VA7" VA CHECKSUM END), "" },
	{ "a_small_resource_before_it", BYTES("\x0a..\x90>\x00VA7" VA CHECKSUM END), "SW_MNG" },
	{ "another_keyword_first",
	  BYTES("\x90\x42\x00PN\x05"
		"MCX75VA7" VA END),
	  "SW_MNG" },
	{ "an_empty_keyword_first", BYTES("\x90\x3d\x00PN\x00VA7" VA END), "SW_MNG" },
	{ "another_vendor_keyword", BYTES("\x90\x0e\x00V3\x0bSMDL=SW_MNG" END), "SW_MNG" },
	{ "another_model", BYTES("\x90\x0c\x00VA\x09SMDL=CX-7" END), "CX-7" },
	{ "blanks_around_it", BYTES("\x90\x11\x00VA\x0eSMDL= SW_MNG  " END), "SW_MNG" },
	{ "a_longer_model", BYTES("\x90\x0f\x00VA\x0cSMDL=SW_MNG2" END), "SW_MNG2" },
	{ "no_model", BYTES(ID "\x90\x0c\x00VA\x09MODL=CX-7" CHECKSUM END), "" },
	{ "an_empty_model", BYTES("\x90\x08\x00VA\x05SMDL=" END), "" },
	{ "a_field_that_ends_like_it", BYTES("\x90\x0f\x00VA\x0cXSMDL=SW_MNG" END), "" },
	{ "in_the_name_alone", BYTES("\x82\x0b\x00SMDL=SW_MNG" END), "" },
	{ "in_the_part_number", BYTES("\x90\x0e\x00PN\x0bSMDL=SW_MNG" END), "" },
	{ "in_data_that_may_be_written", BYTES("\x91\x0e\x00VA\x0bSMDL=SW_MNG" END), "" },
	{ "behind_the_end", BYTES(END "\x90\x0e\x00VA\x0bSMDL=SW_MNG"), "" },
	{ "a_resource_beyond_the_data", BYTES("\x90\xff\xffVA\x0bSMDL=SW_MNG"), "SW_MNG" },
	{ "a_keyword_beyond_the_data", BYTES("\x90\xff\xffVA\xffSMDL=SW_MNG"), "" },
	{ "a_keyword_beyond_its_resource", BYTES("\x90\x0d\x00VA\x0bSMDL=SW_MNG" END), "" },
	{ "a_keyword_cut_off", BYTES("\x90\x02\x00VA"), "" },
	{ "half_a_keyword", BYTES("\x90\x01\x00V"), "" },
	{ "a_large_resource_cut_off", BYTES("\x90\x02"), "" },
	{ "a_tag_alone", BYTES("\x90"), "" },
	{ "nothing", BYTES(""), "" },
	{ "zeros", BYTES("\0\0\0\0\0\0\0\0\0\0"), "" },
	{ "ones", BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"), "" },
	{ "text", BYTES("SMDL=SW_MNG"), "" },
};

static void test_the_model_is_the_field_of_a_vendor_keyword(gconstpointer data)
{
	const __typeof__(cases[0]) *c = data;
	g_autofree guint8 *vpd = g_memdup2(c->vpd, c->size); /* for the sanitizers */
	g_autofree char *model = rdmad_vpd_model(vpd, c->size);

	g_assert_cmpstr(model, ==, c->model);
}

static void test_a_model_is_short_and_valid(void)
{
	g_autoptr(GByteArray) vpd = g_byte_array_new();
	g_autofree char *long_model = g_strnfill(250, 'm');
	g_autofree char *model = NULL, *invalid = NULL;

	g_byte_array_append(vpd, BYTES("\x90\x02\x01VA\xffSMDL="));
	g_byte_array_append(vpd, (const guint8 *)long_model, 250);
	model = rdmad_vpd_model(vpd->data, vpd->len);
	g_assert_cmpuint(strlen(model), ==, 64);
	invalid = rdmad_vpd_model(BYTES("\x90\x0a\x00VA\x07SMDL=\xff\xfe"));
	g_assert_true(g_utf8_validate(invalid, -1, NULL));
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/vpd/the_model_is_the_field_of_a_vendor_keyword/", cases,
		   test_the_model_is_the_field_of_a_vendor_keyword),
	UNIT_TEST("/vpd/a_model_is_short_and_valid", test_a_model_is_short_and_valid),
	{ 0 },
};

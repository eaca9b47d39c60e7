/* SPDX-License-Identifier: Apache-2.0 */
#include "version.h"

const char *const cni_versions[] = { "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0", NULL };

CniVersion cni_version_parse(const char *text)
{
	CniVersion version;

	for (version = 0; version < CNI_N_VERSIONS; version++)
		if (g_strcmp0(cni_versions[version], text) == 0)
			break;
	return version;
}

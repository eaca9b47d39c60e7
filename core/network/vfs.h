/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/network.h>

struct nlattr;

/* Fills `vfs` from IFLA_VFINFO_LIST, which may be NULL. */
void network_parse_vfs(const struct nlattr *list, RdmadLink *link);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of rdmad in a shared object of its own (rdmad-NAME.so beside the modules)
 *
 * The libraries of a part cost an idle daemon memory when they are linked in, and most nodes do not
 * need them.  A part is loaded when it is needed.
 */
#pragma once

/* The exported symbol of a part begins with it. */
typedef struct {
	const char *version; /* of rdmad: the interface is stable only within one version */
} RdmadPart;

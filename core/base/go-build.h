/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go build: build information of a Go program
 *
 * The section .go.buildinfo holds, from Go 1.18 on, the version of Go and the text that `go version -m`
 * shows, as two strings with their lengths as varints at offset 32.
 *
 * Source: Go's src/debug/buildinfo/buildinfo.go and src/runtime/debug/mod.go.
 */
#pragma once

#include <rdmad/types.h>

/*
 * The version ("v1.35.4") of a module in the program behind `fd`: the linker's "gitVersion", as in
 * Kubernetes, or else that of `module`.  g_free(); NULL: not a Go program, or no version.
 */
char *rdmad_go_build_version(int fd, const char *module);

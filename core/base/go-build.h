/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go build: what a program that was built by Go says of itself
 *
 * The section .go.buildinfo holds, from Go 1.18 on, the version of Go and the text that `go version -m`
 * shows, as two strings with their lengths as varints at offset 32.
 *
 * Source: Go's src/debug/buildinfo/buildinfo.go and src/runtime/debug/mod.go.
 */
#pragma once

#include <rdmad/types.h>

/*
 * The version ("v1.35.4") of a module that the program behind `fd` was made of: what the linker was
 * told as "gitVersion", as Kubernetes does it, or else that of `module`.  g_free(); NULL: it is no such
 * program, or does not say.
 */
char *rdmad_go_build_version(int fd, const char *module);

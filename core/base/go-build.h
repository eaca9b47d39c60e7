/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The build information of a Go program
 *
 * Since Go 1.18, the section .go.buildinfo contains at offset 32 two strings, each with its length
 * as a varint: the version of Go and the text that `go version -m` shows.
 *
 * Source: Go's src/debug/buildinfo/buildinfo.go and src/runtime/debug/mod.go.
 */
#pragma once

#include <rdmad/types.h>

/*
 * Returns the version ("v1.35.4") of the program `fd`: "gitVersion", which Kubernetes sets with the
 * linker, or else the version of `module`.  g_free().  Returns NULL if it is not a Go program or
 * has no version.
 */
char *rdmad_go_build_version(int fd, const char *module);

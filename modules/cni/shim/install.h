/* SPDX-License-Identifier: Apache-2.0 */
/* Puts this program where runtimes look for plugins. */
#pragma once

/* 0, or -1 with a line on standard error. */
int install_into(const char *directory);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Host header of a request to a loopback address
 *
 * A web page can make its own name resolve to 127.0.0.1, and so read, in a browser on this host,
 * pages meant for this host only (DNS rebinding).  The browser then sends the page's name.  Other
 * clients reach loopback by address, as localhost, or by the node's name; a proxy on the node may
 * keep the name that its own client has asked for, which the administrator lists.
 */
#pragma once

#include <glib.h>

/* `node` is the node's name from uname(); `names` (may be NULL) are accepted as well. */
gboolean http_host_is_local(const char *host, const char *node, char *const *names);

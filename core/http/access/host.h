/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Host of a request that came to a loopback address
 *
 * A web page may have its own name resolve to 127.0.0.1 and so read, in a browser on this host, what is
 * meant for this host (DNS rebinding).  The browser then sends the page's name.  No other client does:
 * loopback is reached by address, as localhost, or by the node's own name.
 */
#pragma once

#include <glib.h>

/* `node`: the node's name, from uname(). */
gboolean http_host_is_local(const char *host, const char *node);

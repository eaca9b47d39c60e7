/* SPDX-License-Identifier: Apache-2.0 */
/* The thread sanitizer does not understand the lock of GLib's table of interned strings. */
#include <rdmad/intern.h>

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

GRefString *rdmad_intern(const char *text)
{
	GRefString *interned;

	pthread_mutex_lock(&lock);
	interned = g_ref_string_new_intern(text);
	pthread_mutex_unlock(&lock);
	return interned;
}

void rdmad_intern_release(GRefString *text)
{
	pthread_mutex_lock(&lock);
	g_ref_string_release(text);
	pthread_mutex_unlock(&lock);
}

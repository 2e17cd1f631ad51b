#include "model/curl_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct kw_curl curl;
static bool loaded;
static char why[300];

/* dlsym gives a data pointer; a function pointer has the same bits (POSIX). */
static bool find(void *lib, const char *name, void *out)
{
	void *p = dlsym(lib, name);

	memcpy(out, &p, sizeof(p));
	if (!p)
		snprintf(why, sizeof(why), "libcurl has no function %s", name);
	return p != NULL;
}

static void load(void)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so" };
	void *lib = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !lib; i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		snprintf(why, sizeof(why), "libcurl is not here (Debian: libcurl4); models behind HTTP need it");
		return;
	}
	loaded = find(lib, "curl_global_init", &curl.global_init) && find(lib, "curl_easy_init", &curl.easy_init) &&
		 find(lib, "curl_easy_setopt", &curl.easy_setopt) && find(lib, "curl_easy_perform", &curl.easy_perform) &&
		 find(lib, "curl_easy_getinfo", &curl.easy_getinfo) && find(lib, "curl_easy_cleanup", &curl.easy_cleanup) &&
		 find(lib, "curl_easy_strerror", &curl.easy_strerror) && find(lib, "curl_slist_append", &curl.slist_append) &&
		 find(lib, "curl_slist_free_all", &curl.slist_free_all);
	if (loaded && curl.global_init(3) != 0) { /* everything */
		loaded = false;
		snprintf(why, sizeof(why), "libcurl could not be started");
	}
}

const struct kw_curl *kw_curl_load(struct kw_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	if (loaded)
		return &curl;
	kw_fail(err, KW_ERR_ENV, "", "%s", why);
	return NULL;
}

/* The one file that may call malloc: the Makefile builds it with KW_BASE_UNSAFE. */
#include "base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* left counts down to the call that fails; 0 and below: no failure asked for (or done). */
static struct fail_point {
	const char *name;
	atomic_long left;
} fail_points[] = {
	{ .name = "KW_FAIL_ALLOC" },
	{ .name = "KW_FAIL_WRITE" },
	{ .name = "KW_FAIL_EXEC" },
};

enum { FAIL_POINT_COUNT = sizeof(fail_points) / sizeof(fail_points[0]) };

static pthread_once_t fail_once = PTHREAD_ONCE_INIT;

void kw_fail_reload(void)
{
	for (int i = 0; i < FAIL_POINT_COUNT; i++) {
		const char *value = getenv(fail_points[i].name);
		long n = value ? strtol(value, NULL, 10) : 0;

		atomic_store(&fail_points[i].left, n);
	}
}

bool kw_fail_nth(const char *variable)
{
	pthread_once(&fail_once, kw_fail_reload);
	for (int i = 0; i < FAIL_POINT_COUNT; i++) {
		struct fail_point *p = &fail_points[i];

		if (strcmp(p->name, variable) != 0)
			continue;
		if (atomic_load_explicit(&p->left, memory_order_relaxed) <= 0)
			return false;
		return atomic_fetch_sub(&p->left, 1) == 1;
	}
	return false;
}

void *kw_alloc(size_t bytes)
{
	if (kw_fail_nth("KW_FAIL_ALLOC") || bytes > PTRDIFF_MAX)
		return NULL;
	return malloc(bytes ? bytes : 1);
}

void *kw_calloc(size_t count, size_t bytes)
{
	size_t total;

	if (kw_fail_nth("KW_FAIL_ALLOC") || __builtin_mul_overflow(count, bytes, &total) ||
	    total > PTRDIFF_MAX)
		return NULL;
	return calloc(1, total ? total : 1);
}

void *kw_realloc(void *p, size_t bytes)
{
	if (kw_fail_nth("KW_FAIL_ALLOC") || bytes > PTRDIFF_MAX)
		return NULL;
	return realloc(p, bytes ? bytes : 1);
}

char *kw_strdup(const char *s)
{
	size_t bytes = strlen(s) + 1;
	char *copy = kw_alloc(bytes);

	if (copy)
		memcpy(copy, s, bytes);
	return copy;
}

void kw_free(void *p)
{
	free(p);
}

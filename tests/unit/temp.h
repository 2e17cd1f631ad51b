/* temp.h - a temporary folder for a test program; it is removed at exit. */
#ifndef KW_TESTS_TEMP_H
#define KW_TESTS_TEMP_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"

static char temp_path[PATH_MAX];
static pid_t temp_owner;

/* Not in a child that left by exit(). */
__attribute__((unused)) static void temp_remove(void)
{
	if (temp_owner == getpid())
		kw_rmtree(temp_path, NULL);
}

/* The folder's path, made at the first call. */
__attribute__((unused)) static const char *temp_dir(void)
{
	const char *base = getenv("TMPDIR");

	if (temp_path[0])
		return temp_path;
	snprintf(temp_path, sizeof(temp_path), "%s/kw-test-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(temp_path)) {
		perror(temp_path);
		exit(2);
	}
	temp_owner = getpid();
	atexit(temp_remove);
	return temp_path;
}

/* A path in the folder; valid until the eighth call after it. */
__attribute__((unused)) static const char *temp_file(const char *name)
{
	static char ring[8][PATH_MAX + 256];
	static unsigned next;
	char *out = ring[next++ % 8];

	snprintf(out, sizeof(ring[0]), "%s/%s", temp_dir(), name);
	return out;
}

#endif

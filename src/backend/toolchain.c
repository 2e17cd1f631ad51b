#include "backend/c.h"

#include "base/file.h"
#include "base/proc.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Compilers that this process has asked for their version. */
static struct kw_toolchain known[8];
static size_t known_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* "gcc (Debian 12.2.0-14+deb12u1) 12.2.0" -> "gcc 12.2.0"; "Debian clang version 14.0.6" -> "clang 14.0.6". */
static void short_version(struct kw_toolchain *t, const char *line)
{
	const char *clang = strstr(line, "clang version "), *last = strrchr(line, ' ');
	const char *number = clang ? clang + strlen("clang version ") : last ? last + 1 : line;

	t->clang = clang != NULL;
	snprintf(t->version, sizeof(t->version), "%s %.*s", t->clang ? "clang" : "gcc",
		 (int)strcspn(number, " -"), number);
}

static enum kw_status ask_version(struct kw_toolchain *t, const struct stat *st, struct kw_error *err)
{
	const char *const argv[] = { t->path, "--version", NULL };
	const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL };
	struct kw_proc_opts o = { .env = env, .timeout_ms = 20000, .max_out_bytes = 1 << 16 };
	struct kw_proc_result r;
	char line[200];
	enum kw_status s = kw_proc_run(argv, &o, &r, err);

	if (s != KW_OK)
		return s;
	if (r.exit_code != 0 || r.out.len == 0) {
		s = kw_fail(err, KW_ERR_ENV, t->path, "this is no C compiler: `--version` %s",
			    r.timed_out ? "did not end" : r.exit_code != 0 ? "failed" : "says nothing");
	} else {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(r.out.ptr, "\r\n"), r.out.ptr);
		short_version(t, line);
		snprintf(t->identity, sizeof(t->identity), "%.190s %lld %lld", line, (long long)st->st_size,
			 (long long)st->st_mtime);
	}
	kw_proc_result_release(&r);
	return s;
}

static enum kw_status identify(struct kw_toolchain *t, struct kw_error *err)
{
	struct stat st;
	enum kw_status s = KW_OK;

	if (stat(t->path, &st) != 0 || !S_ISREG(st.st_mode))
		return kw_fail(err, KW_ERR_ENV, t->path, "this is no program");
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < known_count; i++) {
		if (strcmp(known[i].path, t->path) == 0) {
			*t = known[i];
			goto out;
		}
	}
	s = ask_version(t, &st, err);
	if (s == KW_OK && known_count < sizeof(known) / sizeof(known[0]))
		known[known_count++] = *t;
out:
	pthread_mutex_unlock(&lock);
	return s;
}

enum kw_status kw_toolchain_find(const char *name, struct kw_toolchain *out, struct kw_error *err)
{
	const char *from_env = getenv("KWRIGHT_CC");

	*out = (struct kw_toolchain){ 0 };
	if (!name && from_env && from_env[0])
		name = from_env;
	if (name) {
		if (!kw_proc_which(name, out->path, sizeof(out->path)))
			return kw_fail(err, KW_ERR_ENV, "", "there is no C compiler '%s'%s", name,
				       from_env && strcmp(name, from_env) == 0 ? " (named by KWRIGHT_CC)" : "");
		return identify(out, err);
	}
	if (kw_proc_which("gcc", out->path, sizeof(out->path)) || kw_proc_which("clang", out->path, sizeof(out->path)))
		return identify(out, err);
	return kw_fail(err, KW_ERR_ENV, "", "there is no C compiler: install gcc (apt-get install gcc) or clang, or name "
		       "one in KWRIGHT_CC");
}

/* ---- the processor ---- */

static char cpu_text[8192];

static void read_cpu(void)
{
	struct kw_buf b;
	const char *p;

	kw_buf_init(&b, 1 << 20);
	/* /proc has no size: the first processor's lines are in the first part. */
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[8192];
	bool model = false, flags = false;

	while (f && (!model || !flags) && fgets(line, sizeof(line), f)) {
		p = strchr(line, ':');
		if (!p)
			continue;
		if (!model && strncmp(line, "model name", 10) == 0) {
			kw_buf_addz(&b, p);
			model = true;
		} else if (!flags && (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0)) {
			kw_buf_addz(&b, p);
			flags = true;
		}
	}
	if (f)
		fclose(f);
	snprintf(cpu_text, sizeof(cpu_text), "%s", b.ptr ? b.ptr : "");
	kw_buf_release(&b);
}

const char *kw_toolchain_cpu(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_cpu);
	return cpu_text;
}

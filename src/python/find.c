/* Which Python: asked of each interpreter itself, by its packages' records, so that nothing heavy is imported. */
#include "python/python.h"

#include "base/file.h"
#include "base/proc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ASK_TIMEOUT_MS = 30000, TRIES = 3, PLACES = 6, OLDEST_TORCH = 201, OLDEST_PYTHON = 309 };

/* A broken package may have no version: it is told as one that is not there. */
static const char question[] =
	"import json, platform, sys\n"
	"def version(name):\n"
	"    try:\n"
	"        from importlib import metadata\n"
	"        return metadata.version(name) or ''\n"
	"    except Exception:\n"
	"        return ''\n"
	"print(json.dumps({'python': platform.python_version(), 'torch': version('torch'), 'triton': version('triton'), 'path': sys.executable or ''}))\n";

static struct {
	pthread_mutex_t lock;
	const char *given;
	struct {
		char path[PATH_MAX], why_not[300];   /* why_not: it cannot be asked at all */
		struct kw_python_found found;
	} asked[PLACES];
	size_t asked_count;
} known = { .lock = PTHREAD_MUTEX_INITIALIZER };

void kw_python_use(const char *path)
{
	known.given = path;
}

static void copy(char *out, size_t bytes, const char *text)
{
	size_t n = strnlen(text, bytes - 1);

	memcpy(out, text, n);
	out[n] = '\0';
}

/* What pyenv and the like put into the PATH: it looks at files of its own, which a box does not show, and starts an interpreter. */
static bool is_script(const char *path)
{
	char start[2] = "";
	FILE *f = fopen(path, "re");
	bool script = f && fread(start, 1, sizeof(start), f) == sizeof(start) && start[0] == '#' && start[1] == '!';

	if (f)
		fclose(f);
	return script;
}

static void ask(const char *path, struct kw_python_found *f, char *why_not, size_t why_bytes)
{
	const char *argv[] = { path, "-c", question, NULL };
	struct kw_proc_opts o = { .cwd = "/", .timeout_ms = ASK_TIMEOUT_MS, .max_out_bytes = 1 << 16, .tries = TRIES };
	struct kw_proc_result r;
	struct kw_error err;
	json_t *j = NULL;

	kw_error_reset(&err);
	why_not[0] = '\0';
	if (kw_proc_run(argv, &o, &r, &err) != KW_OK)
		snprintf(why_not, why_bytes, "%.250s", err.text);
	else if (r.timed_out)
		snprintf(why_not, why_bytes, "did not say its version within %d s", ASK_TIMEOUT_MS / 1000);
	else if (kw_proc_was_killed(&r))
		snprintf(why_not, why_bytes, "was ended from outside by signal %d, %d times", r.signal, TRIES);
	else if (r.exit_code != 0 || kw_json_parse(path, r.out.ptr, r.out.len, &j, NULL) != KW_OK || !json_is_object(j))
		snprintf(why_not, why_bytes, "is no Python 3.9 or newer that works");
	copy(f->path, sizeof(f->path), kw_json_get_str(j, "path", "")[0] == '/' && is_script(path) ? kw_json_get_str(j, "path", "") : path);
	copy(f->version, sizeof(f->version), kw_json_get_str(j, "python", ""));
	copy(f->torch, sizeof(f->torch), kw_json_get_str(j, "torch", ""));
	copy(f->triton, sizeof(f->triton), kw_json_get_str(j, "triton", ""));
	json_decref(j);
	kw_proc_result_release(&r);
}

int kw_python_patience_ms(int usual)
{
	const char *text = getenv("KWRIGHT_PYTHON_TIMEOUT");
	double s;

	return text && kw_str_to_f64(kw_str_from(text), &s) && s > 0 && s < 1e6 ? (int)(s * 1000) : usual;
}

/* "2.11.0+cu130" as 211: enough to order what there is. */
static int version_number(const char *text)
{
	int major = 0, minor = 0;

	return sscanf(text, "%d.%d", &major, &minor) == 2 ? major * 100 + minor : 0;
}

/* What it lacks, or "". */
static void lacks(const struct kw_python_found *f, unsigned wants, char *out, size_t bytes)
{
	int torch = version_number(f->torch);

	out[0] = '\0';
	if (version_number(f->version) < OLDEST_PYTHON)
		snprintf(out, bytes, "Python %s is too old (3.9 or newer is needed)", f->version);
	else if ((wants & KW_PYTHON_TORCH) && !f->torch[0])
		snprintf(out, bytes, "Python %s without torch", f->version);
	else if ((wants & KW_PYTHON_TORCH) && torch < OLDEST_TORCH)
		snprintf(out, bytes, "torch %s is too old (2.1 or newer is needed)", f->torch);
	else if ((wants & KW_PYTHON_TRITON) && !f->triton[0])
		snprintf(out, bytes, "Python %s without triton", f->version);
}

/* Under the lock; NULL only if there are more places than we know of. */
static const struct kw_python_found *look(const char *path, const char **why_not)
{
	for (size_t i = 0; i < known.asked_count; i++)
		if (strcmp(known.asked[i].path, path) == 0) {
			*why_not = known.asked[i].why_not;
			return &known.asked[i].found;
		}
	if (known.asked_count == PLACES)
		known.asked_count = 0;
	copy(known.asked[known.asked_count].path, PATH_MAX, path);
	ask(path, &known.asked[known.asked_count].found, known.asked[known.asked_count].why_not,
	    sizeof(known.asked[known.asked_count].why_not));
	*why_not = known.asked[known.asked_count].why_not;
	return &known.asked[known.asked_count++].found;
}

struct place {
	const char *from;
	char path[PATH_MAX];
	bool named;                  /* by the user, so it is this one or none */
};

static void add(struct place *p, size_t *n, const char *from, bool named, const char *folder, const char *rest)
{
	if (!folder || !folder[0] || *n == PLACES)
		return;
	if (snprintf(p[*n].path, PATH_MAX, "%s%s", folder, rest) >= PATH_MAX)
		return;
	/* A folder that is none is no place; a path that the user named is told to be wrong. */
	if (!named && access(p[*n].path, X_OK) != 0)
		return;
	p[*n].from = from;
	p[*n].named = named;
	(*n)++;
}

/* It is started in other folders. Links are kept: a virtual environment is one. */
static void make_absolute(char path[PATH_MAX])
{
	char here[PATH_MAX], full[2 * PATH_MAX];

	if (path[0] == '/' || !strchr(path, '/') || !getcwd(here, sizeof(here)))
		return;
	snprintf(full, sizeof(full), "%s/%s", here, path);
	if (strlen(full) < PATH_MAX)
		copy(path, PATH_MAX, full);
}

/* build/kwright of a checkout finds what tools/setup made there from any folder. */
static void beside_program(char out[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);

	out[n > 0 ? n : 0] = '\0';
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(out, '/');

		if (slash)
			*slash = '\0';
	}
}

static size_t places(struct place p[PLACES])
{
	char on_path[PATH_MAX], program[PATH_MAX];
	size_t n = 0;

	add(p, &n, "--python", true, known.given, "");
	if (!n)
		add(p, &n, "$KWRIGHT_PYTHON", true, getenv("KWRIGHT_PYTHON"), "");
	if (n) {
		if (!strchr(p[0].path, '/') && kw_proc_which(p[0].path, on_path, sizeof(on_path)))
			copy(p[0].path, PATH_MAX, on_path);
		make_absolute(p[0].path);
		return n;
	}
	beside_program(program);
	add(p, &n, "$VIRTUAL_ENV", false, getenv("VIRTUAL_ENV"), "/bin/python3");
	add(p, &n, ".venv", false, ".venv", "/bin/python3");
	add(p, &n, ".venv", false, program, "/.venv/bin/python3");
	if (kw_proc_which("python3", on_path, sizeof(on_path)))
		add(p, &n, "PATH", false, on_path, "");
	for (size_t i = 0; i < n; i++)
		make_absolute(p[i].path);
	return n;
}

static enum kw_status none(unsigned wants, const struct kw_buf *seen, struct kw_error *err)
{
	const char *what = wants == KW_PYTHON_TRITON ? " triton" : wants & KW_PYTHON_TRITON ? " torch triton" : " torch";

	if (!wants)
		return kw_fail(err, KW_ERR_ENV, "", "there is no Python 3.9 or newer%s%s: install python3, or name one with --python or "
			       "$KWRIGHT_PYTHON", seen->len ? ": " : "", seen->len ? seen->ptr : "");
	return kw_fail(err, KW_ERR_ENV, "", "no Python with%s was found (%s): `pip install%s` in a virtual environment, or `tools/setup "
		       "--with-torch` in a checkout, installs it; --python or $KWRIGHT_PYTHON names another Python",
		       wants == KW_PYTHON_TRITON ? " triton" : wants & KW_PYTHON_TRITON ? " torch and triton" : " torch", seen->len ? seen->ptr : "there is no python3", what);
}

enum kw_status kw_python_find(unsigned wants, struct kw_python_found *out, struct kw_error *err)
{
	struct place p[PLACES];
	struct kw_buf seen;
	enum kw_status s = KW_NO;
	size_t n;

	kw_buf_init(&seen, 1000);
	pthread_mutex_lock(&known.lock);
	n = places(p);
	for (size_t i = 0; i < n && s == KW_NO; i++) {
		const char *why_not;
		const struct kw_python_found *f = look(p[i].path, &why_not);
		char why[320];

		if (why_not[0])
			snprintf(why, sizeof(why), "%s", why_not);
		else
			lacks(f, wants, why, sizeof(why));
		if (!why[0]) {
			*out = *f;
			copy(out->from, sizeof(out->from), p[i].from);
			s = KW_OK;
		} else if (p[i].named && why_not[0]) {
			s = kw_fail(err, KW_ERR_ENV, p[i].path, "%s (named by %s)", why, p[i].from);
		} else {
			kw_buf_printf(&seen, "%s%.300s by %s: %s", seen.len ? "; " : "", p[i].path, p[i].from, why);
		}
	}
	pthread_mutex_unlock(&known.lock);
	if (s == KW_NO)
		s = none(wants, &seen, err);
	kw_buf_release(&seen);
	return s;
}

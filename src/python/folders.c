/* What an interpreter reads to work: so that a box can allow this and nothing else. */
#include "python/python.h"

#include "base/alloc.h"
#include "base/proc.h"

#include <pthread.h>
#include <string.h>

enum { ASK_TIMEOUT_MS = 30000, MAX_FOLDERS = 64, MAX_ANSWER = 1 << 18 };

/* The place that a virtual environment was made from counts too. */
static const char question[] =
	"import json, os, sys, sysconfig\n"
	"paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.realpath(sys.executable), *sysconfig.get_paths().values(), "
	"*(p for p in sys.path if p and p != os.getcwd())]\n"
	"real = {os.path.realpath(p) for p in paths if os.path.exists(p)} | {p for p in paths if os.path.exists(p)}\n"
	"print(json.dumps(sorted(real - {'/'})))\n";

static struct {
	pthread_mutex_t lock;
	char path[PATH_MAX];
	char *text[MAX_FOLDERS + 1];   /* kept for the life of this process: who got them still has them */
	size_t count;
} known = { .lock = PTHREAD_MUTEX_INITIALIZER };

static enum kw_status ask(const char *path, struct kw_error *err)
{
	const char *argv[] = { path, "-c", question, NULL };
	struct kw_proc_opts o = { .cwd = "/", .timeout_ms = ASK_TIMEOUT_MS, .max_out_bytes = MAX_ANSWER, .tries = 3 };
	struct kw_proc_result r;
	json_t *list = NULL, *one;
	enum kw_status st = kw_proc_run(argv, &o, &r, err);
	size_t i;

	if (st != KW_OK)
		return st;
	if (r.exit_code != 0 || kw_json_parse(path, r.out.ptr, r.out.len, &list, NULL) != KW_OK || !json_is_array(list))
		st = kw_fail(err, KW_ERR_ENV, path, "does not say where its packages are");
	known.count = 0;
	json_array_foreach(list, i, one)
		if (st == KW_OK && json_is_string(one) && known.count < MAX_FOLDERS) {
			known.text[known.count] = kw_strdup(json_string_value(one));
			if (!known.text[known.count])
				st = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
			else
				known.count++;
		}
	known.text[known.count] = NULL;
	strncpy(known.path, st == KW_OK ? path : "", sizeof(known.path) - 1);
	json_decref(list);
	kw_proc_result_release(&r);
	return st;
}

enum kw_status kw_python_folders(const char *path, const char *const **out, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	pthread_mutex_lock(&known.lock);
	if (!known.path[0] || strcmp(known.path, path) != 0)
		st = ask(path, err);
	*out = (const char *const *)known.text;
	pthread_mutex_unlock(&known.lock);
	return st;
}

/* A candidate under compute-sanitizer: the object that was judged, launched by its plan in a process of its own on buffers of
 * exactly their sizes (device/sanitized.h), on a few small cases, with each of the tool's checkers. */
#include "judge/internal.h"

#include "backend/cuda.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/proc.h"
#include "device/sandbox.h"
#include "device/sanitized.h"
#include "judge/sanitizer_log.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CASES_MAX = 3, TOOL_TIMEOUT_MS = 120000, MAX_TEXT = 4 << 20, HIT_EXIT = 99 };
#define MOST_BYTES 6.4e7          /* a case: every access is looked at, which takes 10 to 100 times as long */
#define MOST_FLOPS 2e10
/* In their order: what the first finds explains what the others would say. */
static const char *const tools[] = { "memcheck", "racecheck", "initcheck", "synccheck" };
enum { TOOLS = sizeof tools / sizeof tools[0] };

/* ---- the program ---- */

enum kw_status kw_sanitizer_find(const char *backend, char path[PATH_MAX], struct kw_error *err)
{
	enum kw_status st;

	path[0] = '\0';
	if (strcmp(backend, "c") == 0)
		return kw_fail(err, KW_ERR_USAGE, "", "--sanitize is for CUDA kernels; every C kernel is judged between guard pages, each of "
						      "its buffers with its start and its end at one in turn");
	if (strcmp(backend, "cuda") != 0)
		return kw_fail(err, KW_ERR_USAGE, "", "--sanitize is for CUDA kernels (compute-sanitizer); there is no sanitizer for %s "
						      "kernels", backend);
	st = kw_cuda_tool("compute-sanitizer", "KWRIGHT_SANITIZER", path, err);
	if (st != KW_NO)
		return st;
	return kw_fail(err, KW_ERR_ENV, "", "there is no compute-sanitizer here: install it (it is part of NVIDIA's CUDA toolkit), or name the "
					    "program in KWRIGHT_SANITIZER");
}

/* ---- cases ---- */

static bool small(const struct stage *s)
{
	double bytes = 0;

	for (size_t i = 0; i < s->spec_count; i++)
		bytes += (double)s->spec[i].bytes;
	return bytes <= MOST_BYTES && s->cost.flops <= MOST_FLOPS;
}

/* The smallest case of each build first, then others. Cases of nothing have nothing to find. */
static double order_of(const struct stage *s, const struct stage *chosen, size_t count)
{
	bool seen = false;

	for (size_t i = 0; i < count; i++)
		seen = seen || chosen[i].code == s->code;
	return s->cost.bytes_read + s->cost.bytes_written + (seen ? 1e18 : 0);
}

static bool is_chosen(const struct stage *chosen, size_t count, const struct kw_case *c)
{
	for (size_t i = 0; i < count; i++)
		if (chosen[i].c == c)
			return true;
	return false;
}

/* Binds a case anew: its stage of the judgement is closed. *usable false: not for this. */
static enum kw_status bind(struct work *w, const struct kw_case *c, struct stage *s, bool *usable, struct kw_error *err)
{
	enum kw_status st = kw_stage_bind(s, w, c, err);

	*usable = false;
	if (st != KW_OK || !s->plan.applicable)
		return st;
	s->code = kw_builds_find(w, &s->plan);
	st = s->code ? kw_stage_workspaces(s, err) : KW_OK;
	*usable = st == KW_OK && s->code && small(s) && s->cost.bytes_written > 0;
	return st;
}

static enum kw_status choose(struct work *w, struct stage *chosen, size_t *count, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	for (*count = 0; *count < CASES_MAX && st == KW_OK;) {
		const struct kw_case *best = NULL;
		double least = 0;
		bool usable;

		for (size_t i = 0; i < w->t->case_count && st == KW_OK; i++) {
			struct stage s;

			if (is_chosen(chosen, *count, &w->t->cases[i]))
				continue;
			st = bind(w, &w->t->cases[i], &s, &usable, err);
			if (usable && (!best || order_of(&s, chosen, *count) < least)) {
				best = &w->t->cases[i];
				least = order_of(&s, chosen, *count);
			}
			kw_arena_release(&s.arena);
		}
		if (!best || st != KW_OK)
			break;
		st = bind(w, best, &chosen[*count], &usable, err);
		(*count)++;
	}
	return st;
}

/* ---- the box ---- */

/* What the tools run in, and with: made once for a judgement. */
struct box {
	struct kw_sandbox *files;         /* NULL: none */
	char self[PATH_MAX], job[PATH_MAX + 8], temporary[PATH_MAX + 8];
	const char **env;                 /* ours, with another folder for temporary files */
};

static enum kw_status box_env(struct box *b, struct kw_error *err)
{
	size_t n = 0, count = 0;

	while (environ[n])
		n++;
	b->env = kw_calloc(n + 2, sizeof *b->env);
	if (!b->env)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "TMPDIR=", 7) != 0)
			b->env[count++] = environ[i];
	b->env[count] = b->temporary;
	return KW_OK;
}

/* The tool reads what a driver reads, and writes its own folder and the device only, and files in /proc: under the tool the driver gives its threads
 * names and fails without (error 304). The kernel that it watches runs on the device; the process that starts it is ours
 * (device/nvidia_alone.c), and writes files of its own there only. */
static enum kw_status box_open(struct box *b, const char *tool, const char *dir, struct kw_error *err)
{
	enum { MOST = 64, OWN = 5 };
	const char *read[MOST] = { b->self, "/proc", "/sys", "/etc", "/dev/shm" };
	char home[PATH_MAX], *end;
	size_t n = OWN;
	ssize_t length = readlink("/proc/self/exe", b->self, sizeof b->self - 1);
	glob_t devices = { 0 };
	enum kw_status st = length < 0 ? kw_fail(err, KW_ERR_ENV, "/proc/self/exe", "cannot be read") : box_env(b, err);

	if (st != KW_OK)
		return st;
	b->self[length] = '\0';
	snprintf(b->job, sizeof b->job, "%.*s/job", PATH_MAX - 1, dir);
	snprintf(b->temporary, sizeof b->temporary, "TMPDIR=%.*s", PATH_MAX - 1, dir);
	if (!realpath(tool, home))
		snprintf(home, sizeof home, "%.*s", PATH_MAX - 1, tool);
	if ((end = strrchr(home, '/')) != NULL && end > home)
		*end = '\0';
	read[n++] = home;
	glob("/dev/nvidia*", 0, NULL, &devices);
	for (size_t i = 0; i < devices.gl_pathc && n < MOST - 1; i++)
		read[n++] = devices.gl_pathv[i];
	read[n] = NULL;
	st = kw_sandbox_compiler_new(dir, read, &b->files, err);
	if (st == KW_OK)
		kw_sandbox_for_names(b->files);
	globfree(&devices);
	return st;
}

static void box_close(struct box *b)
{
	kw_sandbox_free(b->files);
	kw_free(b->env);
}

/* ---- one job ---- */

static enum kw_status run_tool(const struct work *w, const struct box *b, const char *tool, struct kw_proc_result *r,
			       struct kw_error *err)
{
	char code[16];
	const char *argv[24];
	struct kw_proc_opts o = { .timeout_ms = TOOL_TIMEOUT_MS, .max_out_bytes = MAX_TEXT, .env = b->env, .tries = 3,
				  .before_exec = b->files ? kw_sandbox_enter_files : NULL, .before_exec_arg = b->files };
	size_t k = 0;

	snprintf(code, sizeof code, "%d", HIT_EXIT);
	argv[k++] = w->sanitizer;
	argv[k++] = "--tool";
	argv[k++] = tool;
	argv[k++] = "--error-exitcode";
	argv[k++] = code;
	argv[k++] = "--show-backtrace";
	argv[k++] = "device";
	argv[k++] = "--print-limit";
	argv[k++] = "100";
	/* Allocations lie side by side: without a gap one element too far may be another buffer's. */
	if (strcmp(tool, "memcheck") == 0) {
		argv[k++] = "--padding";
		argv[k++] = "256";
	}
	if (b->files) {
		argv[k++] = b->self;
		argv[k++] = "__boxed";
		argv[k++] = strchr(b->temporary, '=') + 1;
	}
	argv[k++] = b->self;
	argv[k++] = "__sanitized";
	argv[k++] = b->job;
	argv[k] = NULL;
	return kw_proc_run(argv, &o, r, err);
}

/* ---- what it found ---- */

static void place_text(const struct work *w, const struct kw_sanitizer_place *p, char *out, size_t n)
{
	const char *file = kw_path_base(p->file);

	/* The compilers know it by one name. */
	if (strcmp(file, "candidate.cu") == 0)
		file = w->c->name;
	if (p->line)
		snprintf(out, n, "%s:%d", file, p->line);
	else
		snprintf(out, n, "%s", p->kernel[0] ? p->kernel : "a place that is not known");
}

/* The buffer that the process told to lie there: "buffer 1 0x7f3c7ec00000 4096". -1: none. */
static int buffer_at(const char *text, uint64_t address, bool nearest, uint64_t allocation, int64_t *offset)
{
	for (const char *at = strstr(text, "buffer "); at; at = strstr(at + 1, "buffer ")) {
		unsigned index;
		unsigned long long base, bytes;

		if (sscanf(at, "buffer %u 0x%llx %llu", &index, &base, &bytes) != 3)
			continue;
		if (nearest ? base != allocation : address < base || address >= base + bytes)
			continue;
		*offset = (int64_t)(address - base);
		return (int)index;
	}
	return -1;
}

static void element_text(const struct stage *s, const struct kw_sanitizer_hit *h, const char *text, char *out, size_t n)
{
	int64_t offset = 0, unit, index;
	int b = h->has_address ? buffer_at(text, h->address, h->has_allocation, h->allocation, &offset) : -1;

	out[0] = '\0';
	if (b < 0 || (size_t)b >= s->spec_count)
		return;
	unit = b < s->tensors ? (int64_t)kw_dtype_bytes((enum kw_dtype)s->view[b].dtype) : 1;
	offset -= (int64_t)s->spec[b].misalign_bytes;
	index = offset >= 0 ? offset / unit : -((-offset + unit - 1) / unit);
	snprintf(out, n, "%s %lld of %s, which has %lld", b < s->tensors ? "element" : "byte", (long long)index, s->spec[b].name,
		 (long long)((int64_t)s->spec[b].bytes / unit));
}

static void sentence(const struct work *w, const struct stage *s, const char *tool, const struct kw_sanitizer_hit *h,
		     const char *text, char *out, size_t n)
{
	char at[160], other[160], element[240];

	place_text(w, &h->at, at, sizeof at);
	place_text(w, &h->other, other, sizeof other);
	element_text(s, h, text, element, sizeof element);
	if (h->subclass == KW_S_RACE && h->other.kernel[0])
		snprintf(out, n, "%s: a race in shared memory of kernel %s, between %s and %s: is there a barrier missing?", tool, h->kernel,
			 at, other);
	else
		snprintf(out, n, "%s: %s%s%s%s: kernel %s, %s", tool, h->what, *element ? " (" : "", element, *element ? ")" : "",
			 h->kernel[0] ? h->kernel : "unknown", at);
}

static void evidence_text(const struct work *w, const struct stage *s, const char *tool, const struct kw_sanitizer_log *l,
			  size_t first, const char *text, struct kw_buf *out)
{
	const struct kw_sanitizer_hit *h = &l->hits[first];
	char line[1200];

	kw_buf_printf(out, "case: %s\ntool: compute-sanitizer %s\n%s\nkernel: %s\n", s->c->label, tool, h->what, h->kernel);
	place_text(w, &h->at, line, sizeof line);
	kw_buf_printf(out, "place: %s in %s\n", line, h->at.kernel);
	if (h->has_thread)
		kw_buf_printf(out, "thread: (%d, %d, %d) of block (%d, %d, %d)\n", h->thread[0], h->thread[1], h->thread[2],
			      h->block[0], h->block[1], h->block[2]);
	element_text(s, h, text, line, sizeof line);
	if (h->has_address)
		kw_buf_printf(out, "address: 0x%llx%s%s\n", (unsigned long long)h->address, *line ? ": " : "", line);
	if (h->hazards)
		kw_buf_printf(out, "hazards: %lld\n", (long long)h->hazards);
	if (h->times > 1)
		kw_buf_printf(out, "told for %lld threads\n", (long long)h->times);
	for (size_t i = first + 1; i < l->count; i++) {
		sentence(w, s, tool, &l->hits[i], text, line, sizeof line);
		kw_buf_printf(out, "also: %s\n", line);
	}
}

/* A hit is the verdict; what the tool only warns of goes with the verdict. */
static void judge_log(struct work *w, const struct stage *s, const char *tool, const struct kw_sanitizer_log *l, const char *text)
{
	char line[1200];
	struct kw_buf evidence;

	for (size_t i = 0; i < l->count && !w->failed; i++) {
		sentence(w, s, tool, &l->hits[i], text, line, sizeof line);
		if (l->hits[i].warning) {
			kw_note(w, line);
			continue;
		}
		kw_buf_init(&evidence, 1 << 16);
		evidence_text(w, s, tool, l, i, text, &evidence);
		kw_fail_verdict(w, s->c->label, l->hits[i].subclass, line, evidence.ptr ? evidence.ptr : "");
		kw_buf_release(&evidence);
	}
}

static bool says_something(const struct kw_proc_result *r, const struct kw_sanitizer_log *l)
{
	return l->count || (l->finished && l->errors == 0 && r->exit_code == 0);
}

/* false: no word about the candidate can be had this way; why is noted. */
static bool worked(struct work *w, const char *tool, const struct kw_proc_result *r, const struct kw_sanitizer_log *l)
{
	char note[400];
	const char *why = l->trouble[0] ? l->trouble : r->err.len ? r->err.ptr : "it said nothing";

	if (says_something(r, l))
		return true;
	if (r->timed_out)
		why = "it did not end in time";
	snprintf(note, sizeof note, "not checked by compute-sanitizer %s: %.*s", tool, (int)strcspn(why, "\n"), why);
	kw_note(w, note);
	return false;
}

/* The tools on one case, side by side: each starts a driver, which takes most of the time. */
struct round {
	struct work *w;
	struct box *box;
	bool works[TOOLS];
	struct kw_proc_result result[TOOLS];
	struct kw_sanitizer_log *log[TOOLS];
	enum kw_status status[TOOLS];
	struct kw_error error[TOOLS];
};

static void run_one(void *arg, int64_t k)
{
	struct round *r = arg;

	r->result[k] = (struct kw_proc_result){ .exit_code = -1 };
	r->log[k] = r->works[k] ? kw_alloc(sizeof *r->log[k]) : NULL;
	r->status[k] = KW_OK;
	if (r->works[k] && !r->log[k])
		r->status[k] = kw_fail(&r->error[k], KW_ERR_NOMEM, "", "out of memory");
	else if (r->works[k])
		r->status[k] = run_tool(r->w, r->box, tools[k], &r->result[k], &r->error[k]);
	if (r->log[k])
		kw_sanitizer_parse(r->result[k].out.len ? r->result[k].out.ptr : "", r->log[k]);
}

static void clear(struct round *r)
{
	for (size_t k = 0; k < TOOLS; k++) {
		kw_proc_result_release(&r->result[k]);
		kw_free(r->log[k]);
		r->log[k] = NULL;
	}
}

/* None of them came as far as a word: what keeps them may be the box, which knows not every machine's driver. */
static bool nothing_said(const struct round *r)
{
	for (size_t k = 0; k < TOOLS; k++)
		if (r->status[k] != KW_OK || (r->log[k] && says_something(&r->result[k], r->log[k])))
			return false;
	return true;
}

static enum kw_status check(struct round *r, const struct stage *s, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	kw_parallel(TOOLS, TOOLS, run_one, r);
	if (r->box->files && nothing_said(r)) {
		clear(r);
		kw_sandbox_free(r->box->files);
		r->box->files = NULL;
		kw_parallel(TOOLS, TOOLS, run_one, r);
		if (!nothing_said(r))
			kw_note(r->w, "compute-sanitizer does not work in its box on this machine, so it was run without one");
	}
	for (size_t k = 0; k < TOOLS; k++) {
		if (st == KW_OK && (st = r->status[k]) != KW_OK)
			*err = r->error[k];
		/* What does not work on one case does not on the next. What the first found is the verdict. */
		if (st != KW_OK || !r->log[k] || r->w->failed)
			continue;
		r->works[k] = worked(r->w, tools[k], &r->result[k], r->log[k]);
		judge_log(r->w, s, tools[k], r->log[k], r->result[k].out.len ? r->result[k].out.ptr : "");
	}
	clear(r);
	return st;
}

static enum kw_status check_all(struct work *w, struct stage *chosen, size_t count, const char *dir, struct kw_error *err)
{
	struct box box = { .files = NULL };
	struct round *r = kw_calloc(1, sizeof *r);
	struct kw_error mine = { 0 };
	char note[200];
	size_t done = 0;
	enum kw_status st = r ? box_open(&box, w->sanitizer, dir, &mine) : kw_fail(&mine, KW_ERR_NOMEM, "", "out of memory");

	if (r)
		*r = (struct round){ .w = w, .box = &box, .works = { true, true, true, true } };
	for (size_t i = 0; i < count && st == KW_OK && !w->failed; i++) {
		if (w->o.progress)
			w->o.progress(w->o.progress_arg, "compute-sanitizer");
		st = kw_stage_write_job(&chosen[i], box.job, &mine);
		if (st == KW_OK)
			st = check(r, &chosen[i], &mine);
	}
	for (size_t k = 0; r && k < TOOLS; k++)
		done += r->works[k];
	snprintf(note, sizeof note, "nothing found by compute-sanitizer's %zu checkers on %zu small case%s", done, count,
		 count == 1 ? "" : "s");
	if (st == KW_OK && !w->failed && done)
		kw_note(w, note);
	if (st != KW_OK && err)
		*err = mine;
	box_close(&box);
	kw_free(r);
	return st;
}

enum kw_status kw_sanitize(struct work *w, struct kw_error *err)
{
	struct stage *chosen;
	struct kw_error missing = { 0 };
	char dir[PATH_MAX];
	size_t count = 0;
	enum kw_status st;

	if (w->o.sanitize == KW_SANITIZE_NO || strcmp(w->c->backend, "cuda") != 0)
		return KW_OK;
	if (!w->sanitizer[0] && kw_sanitizer_find(w->c->backend, w->sanitizer, &missing) != KW_OK) {
		kw_note(w, "not run under compute-sanitizer, which is not here");
		return KW_OK;
	}
	chosen = kw_calloc(CASES_MAX, sizeof *chosen);
	if (!chosen)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	st = choose(w, chosen, &count, err);
	if (st == KW_OK && count == 0)
		kw_note(w, "not run under compute-sanitizer: no case is small enough");
	if (st == KW_OK && count > 0 && (st = kw_temp_folder("kw-sanitize", dir, err)) == KW_OK) {
		st = check_all(w, chosen, count, dir, err);
		kw_rmtree(dir, NULL);
	}
	for (size_t i = 0; i < count; i++)
		kw_arena_release(&chosen[i].arena);
	kw_free(chosen);
	return st == KW_OK ? st : kw_error_while(err, "running compute-sanitizer");
}

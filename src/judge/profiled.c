/* A right candidate under a profiler: the object that was judged, launched once by its plan in a process of its own
 * (device/sanitized.h) on a timed case, with Nsight Compute around it. What it prints is not read here. */
#include "judge/internal.h"

#include "backend/cuda.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "device/sanitized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CASES_MAX = 3, PROFILE_TIMEOUT_MS = 180000 };
#define MOST_TEXT ((size_t)16 << 20)
#define MOST_BYTES 1.5e9          /* of a case: it is written to a file, and its memory is saved and restored for each pass */

enum kw_status kw_stage_write_job(struct stage *s, const char *path, struct kw_error *err)
{
	void *memory[KW_MAX_TENSORS] = { NULL };
	const void *contents[KW_MAX_TENSORS] = { NULL };
	struct kw_view views[KW_MAX_TENSORS];
	struct kw_sanitized job = { .code = s->code, .plan = &s->plan, .buffers = s->spec, .buffer_count = s->spec_count,
				    .tensor_count = (size_t)s->tensors, .contents = contents };
	enum kw_status st = KW_OK;

	memcpy(views, s->view, sizeof views);
	for (int i = 0; i < s->inputs && st == KW_OK; i++) {
		memory[i] = kw_calloc(1, s->spec[i].bytes + 64);
		contents[i] = views[i].base = memory[i];
		if (!memory[i])
			st = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for an input");
		else if (s->w->t->inputs[i].inout) /* what the kernel gets lies in the buffer of what it makes of it */
			contents[s->inputs + s->w->t->inputs[i].partner] = memory[i];
	}
	if (st == KW_OK)
		st = kw_stage_fill_views(s, views, KW_FILL_DECLARED, err);
	if (st == KW_OK)
		st = kw_sanitized_write(&job, path, err);
	for (int i = 0; i < s->inputs; i++)
		kw_free(memory[i]);
	return st;
}

/* What is asked for in sections and not by metric: which metrics there are differs between chips, and a profiler that misses one gives
 * none. Clocks are left as they are, since the times beside it were taken so; caches are flushed before each pass, as in a cold call. */
static const char *const wanted[] = { "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--section", "SpeedOfLight",
				      "--section", "ComputeWorkloadAnalysis", "--section", "MemoryWorkloadAnalysis", "--section",
				      "MemoryWorkloadAnalysis_Tables", "--section", "SchedulerStats", "--section", "WarpStateStats",
				      "--section", "InstructionStats", "--section", "LaunchStats", "--section", "Occupancy", "--section",
				      "SourceCounters" };
enum { WANTED = sizeof wanted / sizeof wanted[0] };

struct profiler {
	bool cupti;                       /* else Nsight Compute */
	char path[PATH_MAX];              /* of the program, or of the library; "" the loader's */
};

static enum kw_status run_ncu(const char *ncu, const char *dir, const char *job, struct kw_proc_result *r, struct kw_buf *text,
			      struct kw_error *err)
{
	char self[PATH_MAX], file[PATH_MAX + 8];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	const char *argv[WANTED + 8] = { ncu, "--log-file", file };
	struct kw_proc_opts o = { .timeout_ms = PROFILE_TIMEOUT_MS, .max_out_bytes = MOST_TEXT, .cwd = dir };
	enum kw_status st;

	if (n < 0)
		return kw_fail(err, KW_ERR_ENV, "/proc/self/exe", "cannot be read");
	self[n] = '\0';
	snprintf(file, sizeof file, "%s/ncu.csv", dir);
	memcpy(argv + 3, wanted, sizeof wanted);
	argv[3 + WANTED] = self;
	argv[4 + WANTED] = "__sanitized";
	argv[5 + WANTED] = job;
	unlink(file);
	st = kw_proc_run(argv, &o, r, err);
	if (st == KW_OK && access(file, R_OK) == 0)
		st = kw_file_read(file, MOST_TEXT, text, err);
	return st;
}

/* Where Nsight Compute is not: the process counts its own launches by CUPTI, which comes with toolkits and with PyTorch. */
static enum kw_status run_cupti(const char *library, const char *dir, const char *job, struct kw_proc_result *r, struct kw_buf *text,
				struct kw_error *err)
{
	char self[PATH_MAX], file[PATH_MAX + 12];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	const char *argv[] = { self, "__sanitized", job, library, file, NULL };
	struct kw_proc_opts o = { .timeout_ms = PROFILE_TIMEOUT_MS, .max_out_bytes = MOST_TEXT, .cwd = dir };
	enum kw_status st;

	if (n < 0)
		return kw_fail(err, KW_ERR_ENV, "/proc/self/exe", "cannot be read");
	self[n] = '\0';
	snprintf(file, sizeof file, "%s/cupti.csv", dir);
	unlink(file);
	st = kw_proc_run(argv, &o, r, err);
	if (st == KW_OK && access(file, R_OK) == 0)
		st = kw_file_read(file, MOST_TEXT, text, err);
	return st;
}

static enum kw_status profile_case(struct work *w, const struct profiler *p, const char *dir, struct stage *s, struct kw_error *err)
{
	struct kw_proc_result r = { 0 };
	struct kw_buf text;
	char job[PATH_MAX + 8], why[300] = "";
	enum kw_status st;

	kw_buf_init(&text, MOST_TEXT);
	snprintf(job, sizeof job, "%s/job", dir);
	if (w->o.progress)
		w->o.progress(w->o.progress_arg, p->cupti ? "CUPTI" : "Nsight Compute");
	st = kw_stage_write_job(s, job, err);
	if (st == KW_OK)
		st = (p->cupti ? run_cupti : run_ncu)(p->path, dir, job, &r, &text, err);
	if (st == KW_OK && r.timed_out)
		snprintf(why, sizeof why, "the profiler did not end within %d s", PROFILE_TIMEOUT_MS / 1000);
	else if (st == KW_OK && !text.len)
		snprintf(why, sizeof why, "the profiler said nothing%s%.200s", r.err.len ? ": " : "", r.err.len ? r.err.ptr : "");
	if (st == KW_OK)
		w->o.profiled(w->o.profiled_arg, s->c->label, *why ? NULL : text.ptr, text.len, why);
	kw_buf_release(&text);
	kw_proc_result_release(&r);
	return st;
}

static double bytes_of(const struct stage *s)
{
	double bytes = 0;

	for (size_t i = 0; i < s->spec_count; i++)
		bytes += (double)s->spec[i].bytes;
	return bytes;
}

static enum kw_status try_case(struct work *w, const struct profiler *p, const char *dir, const struct kw_case *c, int *count, struct kw_error *err)
{
	struct stage s;
	enum kw_status st = kw_stage_bind(&s, w, c, err);

	if (st == KW_OK && s.plan.applicable && (s.code = kw_builds_find(w, &s.plan)) != NULL && strcmp(s.code->kind, "cubin") == 0) {
		st = kw_stage_workspaces(&s, err);
		if (st == KW_OK && bytes_of(&s) > MOST_BYTES) {
			w->o.profiled(w->o.profiled_arg, c->label, NULL, 0, "the case is too large to be profiled");
		} else if (st == KW_OK) {
			st = profile_case(w, p, dir, &s, err);
			(*count)++;
		}
	}
	kw_arena_release(&s.arena);
	return st;
}

/* Nsight Compute first: it knows more, and has been tried more. KWRIGHT_NCU=none asks for the other. */
static enum kw_status find_profiler(struct profiler *p, struct kw_error *err)
{
	const char *named = getenv("KWRIGHT_NCU");
	enum kw_status st = named && strcmp(named, "none") == 0 ? KW_NO : kw_cuda_tool("ncu", "KWRIGHT_NCU", p->path, err);

	if (st != KW_NO)
		return st;
	p->cupti = true;
	kw_error_reset(err);
	st = kw_cuda_library("libcupti.so*", "KWRIGHT_CUPTI", p->path, err);
	/* The loader may know one all the same; the process says so. */
	return st == KW_NO ? KW_OK : st;
}

enum kw_status kw_profile(struct work *w, struct kw_error *err)
{
	struct kw_error missing = { 0 };
	struct profiler p = { .cupti = false };
	char dir[PATH_MAX];
	int count = 0;
	enum kw_status st;

	if (!w->o.profiled || strcmp(w->j->dev->ops->name, "nvidia") != 0)
		return KW_OK;
	st = find_profiler(&p, &missing);
	if (st != KW_OK) {
		w->o.profiled(w->o.profiled_arg, NULL, NULL, 0, missing.text);
		return KW_OK;
	}
	st = kw_temp_folder("kw-profile", dir, err);
	if (st != KW_OK)
		return st;
	for (size_t i = 0; i < w->v->case_count && count < CASES_MAX && st == KW_OK; i++) {
		const struct kw_case_result *r = &w->v->cases[i];
		const struct kw_case *c = NULL;

		for (size_t k = 0; r->perf && r->has_times && k < w->t->case_count && !c; k++)
			if (strcmp(w->t->cases[k].label, r->label) == 0)
				c = &w->t->cases[k];
		if (kw_interrupted())
			st = kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
		else if (c)
			st = try_case(w, &p, dir, c, &count, err);
	}
	kw_rmtree(dir, NULL);
	return st == KW_OK ? st : kw_error_while(err, "profiling");
}

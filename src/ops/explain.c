/* Explain: reads whatever the user names, by its content, and explains it. Reading a profile needs no device. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda.h"
#include "base/file.h"
#include "base/proc.h"
#include "ops/explain_internal.h"
#include "profile/ncu.h"
#include "profile/trace.h"

enum { HEAD_BYTES = 1 << 20, WHOLE_BYTES = 64 << 20, CHUNK_BYTES = 1 << 18, LINE_BYTES = 4 << 20, NCU_MS = 600000,
       NCU_BYTES = 1 << 30 };
#define ARENA_BYTES ((size_t)2 << 30)

/* ---- bytes ---- */

static enum kw_status open_input(const char *path, int *fd, struct kw_error *err)
{
	if (strcmp(path, "-") == 0) {
		*fd = dup(0);
		return *fd >= 0 ? KW_OK
				: kw_fail(err, KW_ERR_IO, "-", "cannot read standard input: %s", strerror(errno));
	}
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd >= 0)
		return KW_OK;
	if (errno == ENOENT)
		return kw_fail(err, KW_ERR_NOT_FOUND, path, "there is no such file");
	return kw_fail(err, KW_ERR_IO, path, "cannot open it: %s", strerror(errno));
}

/* Up to max bytes more. *ended: nothing is left. */
static enum kw_status read_more(int fd, const char *path, struct kw_buf *out, size_t max, bool *ended,
				struct kw_error *err)
{
	char chunk[CHUNK_BYTES / 4];
	size_t got = 0;

	*ended = false;
	while (got < max) {
		size_t want = max - got < sizeof(chunk) ? max - got : sizeof(chunk);
		ssize_t n = read(fd, chunk, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return kw_fail(err, errno == EISDIR ? KW_ERR_INPUT : KW_ERR_IO, path,
				       errno == EISDIR ? "this is a directory" : "cannot read it: %s", strerror(errno));
		if (n == 0) {
			*ended = true;
			return KW_OK;
		}
		kw_buf_add(out, chunk, (size_t)n);
		if (out->full)
			return kw_fail(err, KW_ERR_NOMEM, path, "out of memory for %zu bytes", out->len + (size_t)n);
		got += (size_t)n;
	}
	return KW_OK;
}

static uint32_t unit_at(const char *p, bool little)
{
	return little ? (uint32_t)(unsigned char)p[0] | (uint32_t)(unsigned char)p[1] << 8
		      : (uint32_t)(unsigned char)p[1] | (uint32_t)(unsigned char)p[0] << 8;
}

static void add_utf8(struct kw_buf *out, uint32_t c)
{
	if (c < 0x80) {
		kw_buf_addc(out, (char)c);
	} else if (c < 0x800) {
		kw_buf_addc(out, (char)(0xc0 | c >> 6));
		kw_buf_addc(out, (char)(0x80 | (c & 63)));
	} else {
		kw_buf_addc(out, (char)(0xe0 | c >> 12));
		kw_buf_addc(out, (char)(0x80 | (c >> 6 & 63)));
		kw_buf_addc(out, (char)(0x80 | (c & 63)));
	}
}

/* A shell of Windows writes what a program prints as UTF-16 with a mark in front. */
static enum kw_status from_utf16(const char *path, struct kw_buf *b, struct kw_error *err)
{
	bool little = (unsigned char)b->ptr[0] == 0xff;
	struct kw_buf out;

	kw_buf_init(&out, b->max_bytes);
	for (size_t i = 2; i + 1 < b->len; i += 2) {
		uint32_t c = unit_at(b->ptr + i, little);

		/* Halves of a pair are no letter that any reader looks for. */
		add_utf8(&out, c >= 0xd800 && c < 0xe000 ? '?' : c ? c : ' ');
	}
	kw_buf_release(b);
	*b = out;
	return out.full ? kw_fail(err, KW_ERR_NOMEM, path, "out of memory") : KW_OK;
}

static bool is_utf16(const struct kw_buf *b)
{
	return b->len >= 2 && (memcmp(b->ptr, "\xff\xfe", 2) == 0 || memcmp(b->ptr, "\xfe\xff", 2) == 0);
}

/* An export of any size: lines as they come, so that memory holds what is found and not the file. */
static enum kw_status stream(int fd, const char *path, struct kw_buf *b, struct kw_launches *out, struct kw_error *err)
{
	struct kw_ncu r;
	bool ended = false;
	enum kw_status s = KW_OK;

	kw_ncu_init(&r, out, kw_number_style_of(b->ptr, b->len));
	while (s == KW_OK) {
		struct kw_str rest = kw_buf_str(b), line;
		char *last = memrchr(b->ptr, '\n', b->len);
		size_t whole = last ? (size_t)(last - b->ptr) + 1 : 0;

		if (!ended && whole == 0 && b->len > LINE_BYTES) {
			kw_launches_note(out, r.line, "a line is over 4 MB; it was left out");
			kw_buf_reset(b);
		}
		rest.len = kw_text_without_escapes(b->ptr, ended ? b->len : whole ? whole - 1 : 0);
		while (rest.len && kw_str_split(&rest, '\n', &line))
			kw_ncu_line(&r, line);
		if (ended)
			break;
		memmove(b->ptr, b->ptr + whole, b->len - whole);
		b->len -= whole;
		s = read_more(fd, path, b, CHUNK_BYTES, &ended, err);
	}
	kw_ncu_finish(&r);
	return s;
}

/* A trace of any size, in the same way. */
static enum kw_status stream_trace(int fd, const char *path, struct kw_buf *b, bool ended, struct kw_launches *out, struct kw_error *err)
{
	struct kw_trace t;
	enum kw_status s = KW_OK;

	kw_trace_init(&t, out);
	for (;;) {
		kw_trace_add(&t, b->ptr, b->len);
		kw_buf_reset(b);
		if (ended || s != KW_OK)
			break;
		s = read_more(fd, path, b, CHUNK_BYTES, &ended, err);
	}
	kw_trace_finish(&t);
	return s;
}

/* What a machine that stopped leaves of a text that was being written: zeros behind it. */
static void cut_zeros(struct kw_buf *b, struct kw_launches *out)
{
	size_t text = b->len ? strnlen(b->ptr, b->len) : 0, i = text;

	while (i < b->len && b->ptr[i] == '\0')
		i++;
	if (text == 0 || text == b->len || i < b->len)
		return;
	kw_launches_note(out, 0, "%zu zero bytes stand behind the text, as where it was cut; they were left out", b->len - text);
	b->len = text;
}

/* Colours of a terminal, in what one showed; where more comes, of the whole lines. */
static void cut_escapes(struct kw_buf *b, bool ended)
{
	const char *last = b->len ? memrchr(b->ptr, '\n', b->len) : NULL;
	size_t whole = ended ? b->len : last ? (size_t)(last - b->ptr) + 1 : 0, left;

	if (whole == 0 || memchr(b->ptr, '\0', b->len))
		return;
	left = kw_text_without_escapes(b->ptr, whole);
	memmove(b->ptr + left, b->ptr + whole, b->len - whole);
	b->len -= whole - left;
	b->ptr[b->len] = '\0';
}

/* ---- a report file of Nsight Compute ---- */

static enum kw_status import_report(const char *path, struct kw_buf *out, struct kw_error *err)
{
	char program[PATH_MAX];
	const char *argv[] = { program, "--import", path, "--csv", "--page", "raw", NULL };
	struct kw_proc_opts o = { .timeout_ms = NCU_MS, .max_out_bytes = NCU_BYTES };
	struct kw_proc_result r;
	enum kw_status s;

	s = kw_cuda_tool("ncu", "KWRIGHT_NCU", program, err);
	if (s != KW_OK && s != KW_NO)
		return s;
	if (s == KW_NO)
		return kw_fail(err, KW_ERR_ENV, path,
			       "this is a report file and ncu is not here to read it; where it is: ncu --import %s "
			       "--csv --page "
			       "raw > export.csv, then kwright explain export.csv",
			       kw_path_base(path));
	s = kw_proc_run(argv, &o, &r, err);
	if (s != KW_OK)
		return s;
	if (r.exit_code != 0)
		s = kw_fail(err, KW_ERR_INPUT, path, "ncu cannot read this report: %.200s",
			    r.err.len	? r.err.ptr
			    : r.out.len ? r.out.ptr
					: "");
	else
		kw_buf_add(out, r.out.ptr, r.out.len);
	kw_proc_result_release(&r);
	return s == KW_OK && out->full ? kw_fail(err, KW_ERR_NOMEM, path, "out of memory") : s;
}

/* ---- one input ---- */

static enum kw_status refuse(const char *path, enum kw_input_kind kind, struct kw_error *err)
{
	switch (kind) {
	case KW_INPUT_EMPTY:
		return kw_fail(err, KW_ERR_INPUT, path, "the file is empty");
	case KW_INPUT_BINARY:
		return kw_fail(err, KW_ERR_INPUT, path,
			       "this is a binary file that is neither a CUDA object nor a report of Nsight Compute");
	case KW_INPUT_TASK:
		return kw_fail(err, KW_ERR_USAGE, path,
			       "this is a task; give its candidate too: kwright explain TASK FILE");
	case KW_INPUT_NCU_SOURCE:
		return kw_fail(err, KW_ERR_INPUT, path,
			       "this is the source page of Nsight Compute, which has no metric of a launch; give another page of the same report: "
			       "ncu --import REPORT --csv --page raw");
	case KW_INPUT_ROCPROF_OTHER:
		return kw_fail(err, KW_ERR_INPUT, path,
			       "this is %s in a form that is not read; give their CSV: rocprofv3 --kernel-trace --output-format csv, or --pmc with counters; the "
			       "pmc_perf.csv of rocprof-compute is read too",
			       kw_input_name(kind));
	case KW_INPUT_COMPRESSED:
		return kw_fail(err, KW_ERR_INPUT, path, "this is a compressed file; unpack it first (gunzip, unzip, unzstd) and give what is in it");
	case KW_INPUT_DATABASE:
		return kw_fail(err, KW_ERR_INPUT, path,
			       "this is an SQLite database; of Nsight Systems: nsys stats --report cuda_gpu_kern_sum,cuda_gpu_trace --format csv FILE; of rocprofv3: "
			       "run it again with --output-format csv");
	case KW_INPUT_NSYS_REPORT:
		return kw_fail(err, KW_ERR_INPUT, path,
			       "this is a report file of Nsight Systems; export it: nsys stats --report cuda_gpu_kern_sum,cuda_gpu_trace --format csv %s",
			       kw_path_base(path));
	case KW_INPUT_PERF_DATA:
		return kw_fail(err, KW_ERR_INPUT, path,
			       "this is a recording of perf, which says where the time goes and not why; give what it counts: perf stat -d PROGRAM");
	case KW_INPUT_PROGRAM:
		return kw_fail(err, KW_ERR_INPUT, path,
			       "this is a program or a library; kernels of CUDA in it: cuobjdump -sass %s, or -res-usage, or -xelf all for the objects",
			       kw_path_base(path));
	case KW_INPUT_NOTEBOOK:
		return kw_fail(err, KW_ERR_INPUT, path, "this is a notebook; give its code: jupyter nbconvert --to script %s", kw_path_base(path));
	case KW_INPUT_NVPROF:
	case KW_INPUT_GPROF:
		return kw_fail(
			err, KW_ERR_INPUT, path,
			"this is %s, which is not read; give an export of Nsight Compute (ncu --csv), perf stat, "
			"source or an object",
			kw_input_name(kind));
	default:
		return kw_fail(err, KW_ERR_INPUT, path, "this is no export, log, object or source that is known here");
	}
}

/* What no header and no row could be read of. */
static enum kw_status check_found(const struct kw_explained_input *in, struct kw_error *err)
{
	const struct kw_launches *l = &in->launches;
	char where[512];

	if (l->count || in->message_count || l->outcome_count || in->kind == KW_INPUT_PYTHON)
		return KW_OK;
	if ((in->kind == KW_INPUT_NCU || in->kind == KW_INPUT_ROCPROF || in->kind == KW_INPUT_TRACE) && l->note_count &&
	    l->notes[0].line) {
		snprintf(where, sizeof(where), "%.400s:%d", in->file, l->notes[0].line);
		return kw_fail(err, KW_ERR_INPUT, where, "no launch could be read: %s", l->notes[0].text);
	}
	if (in->kind == KW_INPUT_NCU && !l->form[0])
		return kw_fail(err, KW_ERR_INPUT, in->file,
			       "this is no export, though it has words of one of Nsight Compute: there is no row of column names and no section of "
			       "metrics in it");
	if (in->kind == KW_INPUT_NCU)
		return kw_fail(err, KW_ERR_INPUT, in->file, "there is no launch in this export");
	if (l->note_count)
		return kw_fail(err, KW_ERR_INPUT, in->file, "%s", l->notes[0].text);
	if (in->kind == KW_INPUT_LOG)
		return kw_fail(err, KW_ERR_INPUT, in->file, "there is nothing in this log that a rule explains");
	return kw_fail(err, KW_ERR_INPUT, in->file, "there is nothing in this file to explain");
}

static void fill_sheet(struct kw_explained_input *in, const struct kw_hardware *device)
{
	for (size_t i = 0; i < in->launches.count; i++) {
		struct kw_launch *k = in->launches.list[i];
		struct kw_hardware own;
		struct kw_arena a;
		struct kw_error ignored;
		const struct kw_hardware *h = device;

		kw_arena_init(&a, 1 << 20);
		if (!h && k->device[0] && kw_hardware_match(k->device, &a, &own, &ignored) == KW_OK)
			h = &own;
		if (h && k->value[KW_M_GPU] <= 0 && h->limits.warp_size > 0)
			h = NULL;
		if (h && !kw_launch_has(k, KW_M_SMS))
			kw_launch_set(k, KW_M_SMS, h->units);
		if (h && !kw_launch_has(k, KW_M_PEAK_RATE) && h->memory_bytes_per_s > 0)
			kw_launch_set(k, KW_M_PEAK_RATE, h->memory_bytes_per_s);
		kw_arena_release(&a);
	}
}

/* AMD's profilers number devices and do not name them. */
static void note_device(struct kw_explained_input *in)
{
	for (size_t i = 0; i < in->launches.count; i++)
		if (kw_launch_has(in->launches.list[i], KW_M_DRAM_READ) || kw_launch_has(in->launches.list[i], KW_M_GRID)) {
			kw_launches_note(&in->launches, 0,
					 "the file does not name its device, so shares of its memory's rate and idle compute units are not known: --device mi300x, or a "
					 "sheet of your own");
			return;
		}
}

static enum kw_status read_whole(const char *path, struct kw_explained_input *in, struct kw_buf *b,
				 const struct kw_rule_set *set, struct kw_arena *a, struct kw_error *err)
{
	/* A line that a rule explains makes a text a log, whatever else is in it. */
	if (in->kind == KW_INPUT_OTHER && b->len <= LINE_BYTES) {
		if (!kw_explain_text(set, in, b->ptr, b->len, "", a))
			return kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
		if (in->message_count) {
			in->kind = KW_INPUT_LOG;
			in->launches.form = "a log";
			return KW_OK;
		}
	}
	if (!kw_input_read(in->kind, b->ptr, b->len, &in->launches))
		return refuse(path, in->kind, err);
	if (in->kind == KW_INPUT_CUDA)
		kw_explain_compile_cuda(b->ptr, b->len, &in->launches);
	else if (in->kind == KW_INPUT_C)
		kw_explain_compile_c(b->ptr, b->len, &in->launches);
	else if (in->kind == KW_INPUT_CUBIN)
		kw_explain_disassemble(b->ptr, b->len, &in->launches);
	if (in->kind != KW_INPUT_LOG)
		return KW_OK;
	return kw_explain_text(set, in, b->ptr, b->len, "", a) ? KW_OK : kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
}

/* Lines of a profiler that measured nothing are messages like those of a log. */
static enum kw_status read_ncu(int fd, const char *path, struct kw_explained_input *in, struct kw_buf *b,
			       const struct kw_rule_set *set, struct kw_arena *a, struct kw_error *err)
{
	size_t head = b->len < 65536 ? b->len : 65536;
	char *text = kw_arena_strndup(a, b->ptr, head);
	enum kw_status s;

	if (!text)
		return kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
	s = stream(fd, path, b, &in->launches, err);
	if (s == KW_OK && !kw_explain_text(set, in, text, head, in->launches.outcome_count || !in->launches.count ? "" : "==ERROR== ", a))
		s = kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
	return s;
}

static enum kw_status read_input(const char *path, struct kw_explained_input *in, const struct kw_rule_set *set,
				 struct kw_arena *a, struct kw_error *err)
{
	struct kw_buf b;
	bool ended = true;
	int fd = -1;
	enum kw_status s = open_input(path, &fd, err);

	if (s != KW_OK)
		return s;
	kw_buf_init(&b, NCU_BYTES);
	in->file = strcmp(path, "-") == 0 ? "standard input" : path;
	kw_launches_init(&in->launches, a, in->file);
	s = read_more(fd, path, &b, HEAD_BYTES, &ended, err);
	if (s == KW_OK && is_utf16(&b)) {
		if (!ended)
			s = read_more(fd, path, &b, WHOLE_BYTES, &ended, err);
		if (s == KW_OK && !ended)
			s = kw_fail(err, KW_ERR_LIMIT, path, "UTF-16 text of over 64 MB is not read");
		if (s == KW_OK)
			s = from_utf16(path, &b, err);
	}
	if (s == KW_OK && ended)
		cut_zeros(&b, &in->launches);
	if (s == KW_OK) {
		cut_escapes(&b, ended);
		kw_buf_addz(&b, "");
		in->kind = kw_input_recognise(path, b.ptr ? b.ptr : "", b.len);
	}
	if (s == KW_OK && in->kind == KW_INPUT_NCU_REPORT) {
		kw_buf_reset(&b);
		s = import_report(path, &b, err);
		in->kind = KW_INPUT_NCU;
		ended = true;
	}
	if (s == KW_OK && in->kind == KW_INPUT_NCU) {
		s = read_ncu(fd, path, in, &b, set, a, err);
	} else if (s == KW_OK && in->kind == KW_INPUT_TRACE) {
		s = stream_trace(fd, path, &b, ended, &in->launches, err);
	} else if (s == KW_OK) {
		if (!ended)
			s = read_more(fd, path, &b, WHOLE_BYTES, &ended, err);
		if (s == KW_OK && !ended)
			s = kw_fail(err, KW_ERR_LIMIT, path, "%s of over 64 MB is not read", kw_input_name(in->kind));
		cut_escapes(&b, true);
		if (s == KW_OK)
			s = read_whole(path, in, &b, set, a, err);
	}
	close(fd);
	kw_buf_release(&b);
	if (s == KW_OK && in->launches.full)
		s = kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
	return s == KW_OK ? check_found(in, err) : s;
}

/* ---- records of the rules ---- */

static enum kw_status load_records(struct kw_op_explain *r, struct kw_error *err)
{
	struct kw_store *memory;
	enum kw_status s = kw_store_memory_open(&memory, err);

	/* Without a store there is no record, which is no fault of an explanation. */
	if (s != KW_OK) {
		kw_error_reset(err);
		return KW_OK;
	}
	s = kw_op_rule_records(memory, &r->arena, &r->records, &r->set.record_count, err);
	r->set.records = r->records;
	kw_store_close(memory);
	return s;
}

static bool is_task(const char *word)
{
	struct kw_op_task t = { 0 };
	struct kw_error ignored;
	bool good;

	kw_error_reset(&ignored);
	good = kw_op_task_load(word, NULL, 0, &t, &ignored) == KW_OK;
	kw_op_task_release(&t);
	return good;
}

static bool compares(const struct kw_explained_input *in)
{
	for (size_t i = 0; i < in->launches.count; i++)
		for (size_t k = 0; k < in->explained[i].count; k++)
			if (in->explained[i].findings[k].rule->about == KW_ABOUT_COMPARE)
				return true;
	return false;
}

/* Two explanations side by side are no comparison: it takes a time of the same kernel in both. */
static enum kw_status check_compared(const struct kw_explanation *all, struct kw_error *err)
{
	static const char takes[] = "--compare takes two exports of a profiler, outputs of perf stat or tables of times";

	if (compares(&all->inputs[1]))
		return KW_OK;
	for (size_t i = 0; i < 2; i++)
		if (isnan(all->inputs[i].total_ns) && all->inputs[i].launches.outcome_count)
			return kw_fail(err, KW_ERR_INPUT, all->inputs[i].file,
				       "the profiler measured nothing there (%s), so nothing says what the change did; kwright explain %s says what to do",
				       kw_outcome_name(all->inputs[i].launches.outcomes[0]), all->inputs[i].file);
	for (size_t i = 0; i < 2; i++)
		if (isnan(all->inputs[i].total_ns))
			return kw_fail(err, KW_ERR_USAGE, all->inputs[i].file,
				       "there is no time in this input (%s), so nothing says what the change did; %s, and kwright explain TASK FILE "
				       "times a kernel from its source",
				       kw_input_name(all->inputs[i].kind), takes);
	return kw_fail(err, KW_ERR_INPUT, all->inputs[1].file, "no kernel of this input has its time in %.300s too, so there is nothing to compare",
		       all->inputs[0].file);
}

/* A word that is no file: a task without its candidate, a task's name with a slip, or a file that is not there. */
static enum kw_status no_such_input(const char *word, struct kw_error *err)
{
	struct kw_op_task t = { 0 };
	enum kw_status s;

	if (strpbrk(word, "/."))
		return kw_fail(err, KW_ERR_NOT_FOUND, word, "there is no such file");
	s = kw_op_task_load(word, NULL, 0, &t, err);
	kw_op_task_release(&t);
	if (s != KW_OK)
		return s;
	kw_error_reset(err);
	return refuse(word, KW_INPUT_TASK, err);
}

enum kw_status kw_op_explain(const struct kw_op_env *env, const struct kw_op_explain_opts *o, struct kw_op_explain *out,
			     struct kw_error *err)
{
	struct kw_hardware device;
	const struct kw_rule *rules;
	struct kw_rule *loaded = NULL;
	enum kw_status s;

	*out = (struct kw_op_explain){ .rule_count = 0 };
	kw_arena_init(&out->arena, ARENA_BYTES);
	s = kw_rules_load(&out->arena, &loaded, &out->rule_count, err);
	out->rules = loaded;
	rules = loaded;
	out->set = (struct kw_rule_set){ .rules = rules, .count = out->rule_count };
	out->all.rules = &out->set;
	out->all.verdict_class = "";
	if (s == KW_OK)
		s = load_records(out, err);
	if (s == KW_OK && o->device)
		s = kw_hardware_load(o->device, &out->arena, &device, err);
	out->all.inputs = kw_arena_calloc(&out->arena, o->count + 1, sizeof(*out->all.inputs));
	if (s == KW_OK && !out->all.inputs)
		s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (s == KW_OK && o->compare && o->count != 2)
		s = kw_fail(err, KW_ERR_USAGE, "", "--compare takes two inputs: the one before and the one after");
	if (s == KW_OK && o->count == 2 && !o->compare && is_task(o->inputs[0]))
		return kw_explain_candidate(env, o, out, err);
	for (size_t i = 0; s == KW_OK && i < o->count; i++) {
		struct kw_explained_input *in = &out->all.inputs[i];

		s = strcmp(o->inputs[i], "-") != 0 && !kw_path_exists(o->inputs[i])
			    ? no_such_input(o->inputs[i], err)
			    : read_input(o->inputs[i], in, &out->set, &out->arena, err);
		if (s != KW_OK)
			break;
		out->all.count++;
		fill_sheet(in, o->device ? &device : NULL);
		if (in->kind == KW_INPUT_ROCPROF && !o->device)
			note_device(in);
		out->all.compared = o->compare;
		if (!kw_explain_input(&out->set, in, o->compare && i == 1 ? &out->all.inputs[0] : NULL, &out->arena))
			s = kw_fail(err, KW_ERR_NOMEM, in->file, "out of memory");
	}
	if (s == KW_OK && o->compare)
		s = check_compared(&out->all, err);
	if (s == KW_OK && o->applied)
		s = kw_op_rule_applied(out, o->applied, err);
	if (s != KW_OK)
		kw_op_explain_release(out);
	return s;
}

void kw_op_explain_release(struct kw_op_explain *r)
{
	kw_rules_release(r->rules, r->rule_count);
	kw_arena_release(&r->arena);
	*r = (struct kw_op_explain){ .rule_count = 0 };
}

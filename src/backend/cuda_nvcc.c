/* nvcc, where there is no NVRTC: a program that runs others, in the compiler's box, in a fresh
 * folder. */
#include "backend/cuda.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/proc.h"
#include "device/sandbox.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ARGS = 192, MAX_CUBIN = 64 << 20, MAX_TEXT = 2 << 20 };

/* NVRTC's options as nvcc has them; NULL: it has none, and needs none. */
static const char *as_nvcc(const char *option, struct kw_arena *a)
{
	static const char *const without[] = { "-default-device", "-device-int128",
					       "-no-source-include" };
	static const char arch[] = "--gpu-architecture=sm_";

	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		if (strcmp(option, without[i]) == 0)
			return NULL;
	/* One target and no PTX: the short form also makes a plain one on some versions. */
	if (strncmp(option, arch, strlen(arch)) == 0)
		return kw_arena_printf(a, "-gencode=arch=compute_%s,code=sm_%s",
				       option + strlen(arch), option + strlen(arch));
	return option;
}

static enum kw_status make_folder(char dir[PATH_MAX], const struct kw_cuda_input *in,
				  struct kw_arena *a, struct kw_error *err)
{
	char *source, *header;
	enum kw_status s = kw_temp_folder("kw-build", dir, err);

	if (s != KW_OK)
		return s;
	source = kw_path_join(a, dir, KW_CUDA_FILE);
	header = kw_path_join(a, dir, "kw.h");
	if (!source || !header)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	s = kw_file_write_scratch(source, in->source, in->source_len, err);
	return s == KW_OK ? kw_file_write_scratch(header, in->header, strlen(in->header), err) : s;
}

static enum kw_status run(const struct kw_cuda_input *in, const char *dir, struct kw_arena *a,
			  struct kw_proc_result *r, struct kw_cuda_output *out,
			  struct kw_error *err)
{
	const char *read[] = { in->kit->home, NULL }, *argv[MAX_ARGS];
	const char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL, NULL, NULL };
	struct kw_proc_opts o = {
		.tries = 3,
		.env = env, .cwd = dir, .timeout_ms = in->timeout_ms, .max_out_bytes = MAX_TEXT
	};
	struct kw_sandbox *box = NULL;
	size_t n = 0;
	enum kw_status s;

	env[2] = kw_arena_printf(a, "TMPDIR=%s", dir);
	env[3] = kw_arena_printf(a, "HOME=%s", dir);
	argv[n++] = in->kit->nvcc;
	argv[n++] = "-cubin";
	for (size_t i = 0; in->options[i] && n < MAX_ARGS - 4; i++) {
		argv[n] = as_nvcc(in->options[i], a);
		n += argv[n] != NULL;
	}
	argv[n++] = "-o";
	argv[n++] = "candidate.cubin";
	argv[n++] = KW_CUDA_FILE;
	argv[n] = NULL;
	s = kw_sandbox_compiler_new(dir, read, &box, err);
	if (s != KW_OK)
		return s;
	snprintf(out->layers, sizeof(out->layers), "%.90s", kw_sandbox_layers(box));
	o.before_exec = kw_sandbox_enter;
	o.before_exec_arg = box;
	s = kw_proc_run(argv, &o, r, err);
	kw_sandbox_free(box);
	return s;
}

static enum kw_status read_cubin(const char *dir, struct kw_arena *a, struct kw_cuda_output *out,
				 struct kw_error *err)
{
	const char *path = kw_path_join(a, dir, "candidate.cubin");
	struct kw_buf bytes;
	enum kw_status s;

	kw_buf_init(&bytes, MAX_CUBIN);
	s = path ? kw_file_read(path, MAX_CUBIN, &bytes, err)
		 : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (s == KW_OK) {
		out->cubin_bytes = bytes.len;
		out->cubin = kw_buf_take(&bytes);
		out->good = out->cubin && out->cubin_bytes;
	}
	kw_buf_release(&bytes);
	return s;
}

enum kw_status kw_nvcc_compile(const struct kw_cuda_input *in, struct kw_cuda_output *out,
			       struct kw_error *err)
{
	struct kw_proc_result r = { 0 };
	struct kw_arena a;
	char dir[PATH_MAX] = "";
	enum kw_status s;

	*out = (struct kw_cuda_output){ .good = false };
	kw_arena_init(&a, 1 << 20);
	s = make_folder(dir, in, &a, err);
	if (s == KW_OK)
		s = run(in, dir, &a, &r, out, err);
	if (s == KW_OK) {
		out->timed_out = r.timed_out;
		out->signal = r.signal;
		snprintf(out->what, sizeof(out->what), "nvcc ended with code %d", r.exit_code);
		out->log = kw_calloc(1, r.out.len + r.err.len + 2);
		if (!out->log)
			s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
		else if (r.out.len)
			memcpy(out->log, r.out.ptr, r.out.len);
		if (out->log && r.err.len)
			memcpy(out->log + r.out.len, r.err.ptr, r.err.len);
		if (s == KW_OK && r.exit_code == 0 && !r.timed_out && !r.signal)
			s = read_cubin(dir, &a, out, err);
	}
	kw_proc_result_release(&r);
	if (dir[0])
		kw_rmtree(dir, NULL);
	kw_arena_release(&a);
	if (s != KW_OK)
		kw_cuda_output_release(out);
	return s;
}

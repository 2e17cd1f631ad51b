/* A call of a kernel with no judge at the other end: written to a file here, run from it by `kwright __sanitized FILE`. */
#include "device/nvidia_wire.h"
#include "device/sandbox.h"
#include "device/sanitized.h"

#include "base/alloc.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORD "__sanitized"
#define BOXED "__boxed"
#define MOST_BYTES ((size_t)4 << 30)

/* ---- writing ---- */

static bool written(const struct kw_sanitized *s, size_t i)
{
	return s->contents[i] && s->buffers[i].bytes > 0;
}

static enum kw_status write_parts(const struct kw_sanitized *s, const struct gpu_job *job, int fd, const char *path,
				  struct kw_error *err)
{
	enum kw_status st = kw_fd_write_all(fd, job, sizeof(*job), path, err);

	for (size_t i = 0; i < s->buffer_count && st == KW_OK; i++) {
		struct gpu_job_buffer b = { .bytes = s->buffers[i].bytes, .offset = s->buffers[i].misalign_bytes,
					    .written = written(s, i), .zero = s->buffers[i].zero };

		st = kw_fd_write_all(fd, &b, sizeof(b), path, err);
	}
	if (st == KW_OK)
		st = kw_fd_write_all(fd, s->code->code, s->code->code_bytes, path, err);
	for (size_t i = 0; i < s->buffer_count && st == KW_OK; i++)
		if (written(s, i))
			st = kw_fd_write_all(fd, s->contents[i], s->buffers[i].bytes, path, err);
	return st;
}

enum kw_status kw_sanitized_write(const struct kw_sanitized *s, const char *path, struct kw_error *err)
{
	struct gpu_layout layout = { s->buffer_count, s->tensor_count };
	struct gpu_job *job = kw_calloc(1, sizeof(*job));
	int fd = -1;
	enum kw_status st = KW_OK;

	if (!job)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a job");
	job->magic = GPU_JOB_MAGIC;
	job->code_bytes = s->code->code_bytes;
	job->buffers = (uint32_t)s->buffer_count;
	st = kw_gpu_load_make(&layout, s->code, s->plan, &job->load, err);
	if (st == KW_OK && (fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) < 0)
		st = kw_fail(err, KW_ERR_IO, path, "cannot be written");
	if (st == KW_OK)
		st = write_parts(s, job, fd, path, err);
	if (fd >= 0)
		close(fd);
	kw_free(job);
	return st;
}

/* ---- the process ---- */

static _Noreturn void give_up(const char *why)
{
	dprintf(2, "the job cannot be used: %s\n", why);
	_exit(1);
}

/* The next n bytes of the file. */
static const char *take(const struct kw_buf *file, size_t *at, size_t n)
{
	const char *p = file->ptr + *at;

	if (n > file->len - *at)
		give_up("it is cut");
	*at += n;
	return p;
}

static _Noreturn void run_file(const char *path, const struct gpu_counted *counted)
{
	struct gpu_job *job = kw_alloc(sizeof(*job));
	struct gpu_job_buffer *buffers;
	const void **contents;
	struct kw_buf file;
	struct kw_error err = { 0 };
	const char *code;
	size_t at = 0;

	kw_buf_init(&file, MOST_BYTES);
	if (!job || kw_file_read(path, MOST_BYTES, &file, &err) != KW_OK)
		give_up(err.text);
	memcpy(job, take(&file, &at, sizeof(*job)), sizeof(*job));
	if (job->magic != GPU_JOB_MAGIC || job->buffers > 4096)
		give_up("it is none of this program");
	buffers = kw_calloc(job->buffers + 1, sizeof(*buffers));
	contents = kw_calloc(job->buffers + 1, sizeof(*contents));
	if (!buffers || !contents)
		give_up("out of memory");
	memcpy(buffers, take(&file, &at, job->buffers * sizeof(*buffers)), job->buffers * sizeof(*buffers));
	code = take(&file, &at, job->code_bytes);
	for (uint32_t i = 0; i < job->buffers; i++)
		contents[i] = buffers[i].written ? take(&file, &at, buffers[i].bytes) : NULL;
	kw_gpu_alone_start();
	_exit(kw_gpu_alone_run(&job->load, code, job->code_bytes, buffers, contents, job->buffers, counted) ? 0 : 1);
}

static _Noreturn void run_boxed(char **argv)
{
	if (!kw_sandbox_own_proc(argv[0]))
		give_up("its box cannot be entered");
	execv(argv[1], argv + 1);
	give_up("it cannot be run");
}

/* Before main, as in spawn.c: test programs need no line for it. */
__attribute__((constructor)) static void become_sanitized(int argc, char **argv)
{
	struct gpu_counted counted;

	if (argc > 3 && strcmp(argv[1], BOXED) == 0)
		run_boxed(argv + 2);
	if (argc == 3 && strcmp(argv[1], WORD) == 0)
		run_file(argv[2], NULL);
	if (argc != 5 || strcmp(argv[1], WORD) != 0)
		return;
	counted = (struct gpu_counted){ argv[3], open(argv[4], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) };
	if (counted.fd < 0)
		give_up("its counters cannot be written");
	run_file(argv[2], &counted);
}

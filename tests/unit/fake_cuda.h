/* fake_cuda.h - builds fake_cuda.c as a folder's libcuda.so.1, and tells it how to fail. */
#ifndef KW_TESTS_FAKE_CUDA_H
#define KW_TESTS_FAKE_CUDA_H

#include <sys/stat.h>

#include "base/file.h"
#include "base/proc.h"
#include "tap.h"

/* define: "-DTOO_OLD" leaves a function out. False, and why as a comment, when it does not compile. */
__attribute__((unused)) static bool fake_cuda_build(const char *dir, const char *define)
{
	const char *top = getenv("KW_TOP");
	char c[PATH_MAX], so[PATH_MAX], include[PATH_MAX];
	const char *argv[] = { "gcc", "-O1", "-w", "-shared", "-fPIC", "-D_GNU_SOURCE", include, "-o", so, c, define, NULL };
	struct kw_proc_opts o = { .timeout_ms = 120000, .max_out_bytes = 1 << 16 };
	struct kw_proc_result r;
	bool good;

	mkdir(dir, 0755);
	snprintf(include, sizeof(include), "-I%s/src", top ? top : ".");
	snprintf(c, sizeof(c), "%s/tests/unit/fake_cuda.c", top ? top : ".");
	snprintf(so, sizeof(so), "%s/libcuda.so.1", dir);
	if (kw_proc_run(argv, &o, &r, NULL) != KW_OK)
		return false;
	good = r.exit_code == 0;
	if (!good)
		diag("%s", r.err.ptr);
	kw_proc_result_release(&r);
	return good;
}

/* fake_nvml.c as the folder's libnvidia-ml.so.1. */
__attribute__((unused)) static bool fake_nvml_build(const char *dir)
{
	const char *top = getenv("KW_TOP");
	char c[PATH_MAX], so[PATH_MAX];
	const char *argv[] = { "gcc", "-O1", "-w", "-shared", "-fPIC", "-o", so, c, NULL };
	struct kw_proc_opts o = { .timeout_ms = 120000, .max_out_bytes = 1 << 16 };
	struct kw_proc_result r = { 0 };
	bool good;

	snprintf(c, sizeof(c), "%s/tests/unit/fake_nvml.c", top ? top : ".");
	snprintf(so, sizeof(so), "%s/libnvidia-ml.so.1", dir);
	good = kw_proc_run(argv, &o, &r, NULL) == KW_OK && r.exit_code == 0;
	kw_proc_result_release(&r);
	return good;
}

/* For programs that load it from now on. */
__attribute__((unused)) static void fake_cuda_mode(const char *dir, const char *mode)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s/mode", dir);
	kw_file_write(path, mode, strlen(mode), NULL);
}

#endif

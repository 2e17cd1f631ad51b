/* Where the CUDA toolkit is, and which version. */
#include "backend/cuda.h"

#include "base/file.h"
#include "base/proc.h"

#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HINT                                                                                       \
	"install NVIDIA's CUDA toolkit (nvrtc and the headers are enough), or name its folder in " \
	"KWRIGHT_CUDA"

static const char *const library_dirs[] = { "lib64", "lib", "targets/x86_64-linux/lib",
					    "targets/sbsa-linux/lib" };
static const char *const libraries[] = { "libnvrtc.so.14", "libnvrtc.so.13", "libnvrtc.so.12",
					 "libnvrtc.so.11.2", "libnvrtc.so" };
enum {
	DIRS = sizeof(library_dirs) / sizeof(library_dirs[0]),
	LIBRARIES = sizeof(libraries) / sizeof(libraries[0])
};

/* What was found, by the question: asking NVRTC takes a process. */
static struct known {
	char key[1200];
	struct kw_cuda_toolkit kit;
} known[4];
static size_t known_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The name without links; false when it is too long or not there. */
static bool real_path(const char *path, char out[KW_CUDA_PATH])
{
	char full[PATH_MAX];

	if (!realpath(path, full) || strlen(full) >= KW_CUDA_PATH)
		return false;
	memcpy(out, full, strlen(full) + 1);
	return true;
}

static void parent_of(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		slash[slash == path] = '\0';
}

/* DIR/include, or DIR/targets/…/include; CCCL's headers are in it, or in a folder of their own
 * since CUDA 13. */
static void find_headers(struct kw_cuda_toolkit *kit, const char *dir)
{
	static const char *const places[] = { "include", "targets/x86_64-linux/include",
					      "targets/sbsa-linux/include" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !kit->include[0][0]; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s/cuda_fp16.h", dir, places[i]);
		if (!is_file(path))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, places[i]);
		real_path(path, kit->include[0]);
		snprintf(path, sizeof(path), "%s/%s/cccl/cuda/std/cstdint", dir, places[i]);
		if (!is_file(path))
			continue;
		snprintf(path, sizeof(path), "%s/%s/cccl", dir, places[i]);
		real_path(path, kit->include[1]);
	}
}

/* The library of a toolkit's folder, as a path without links. */
static bool find_library(const char *dir, char out[KW_CUDA_PATH])
{
	for (size_t i = 0; i < LIBRARIES; i++)
		for (size_t k = 0; k < DIRS; k++) {
			char path[PATH_MAX];

			snprintf(path, sizeof(path), "%s/%s/%s", dir, library_dirs[k],
				 libraries[i]);
			if (is_file(path) && real_path(path, out))
				return true;
		}
	return false;
}

static void find_nvcc(struct kw_cuda_toolkit *kit, const char *dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/bin/nvcc", dir);
	if (is_file(path) && real_path(path, kit->nvcc))
		real_path(dir, kit->home);
}

/* One folder; true when there is a compiler in it. */
static bool look_in(struct kw_cuda_toolkit *kit, const char *dir, bool library)
{
	struct kw_error ignored;
	char path[KW_CUDA_PATH];

	*kit = (struct kw_cuda_toolkit){ .arch_count = 0 };
	kw_error_reset(&ignored);
	find_nvcc(kit, dir);
	if (library && find_library(dir, path) && kw_nvrtc_probe(&kw_rtc_nvrtc, path, kit, &ignored) == KW_OK) {
		memcpy(kit->library_dir, path, sizeof(path));
		parent_of(kit->library_dir);
	}
	find_headers(kit, dir);
	return kit->nvrtc[0] || kit->nvcc[0];
}

/* What the loader finds by a name; its toolkit's folder is above it. */
static bool look_in_loader(struct kw_cuda_toolkit *kit)
{
	for (size_t i = 0; i < LIBRARIES; i++) {
		struct kw_error ignored;
		char path[KW_CUDA_PATH], dir[KW_CUDA_PATH];

		*kit = (struct kw_cuda_toolkit){ .arch_count = 0 };
		kw_error_reset(&ignored);
		if (kw_nvrtc_probe(&kw_rtc_nvrtc, libraries[i], kit, &ignored) != KW_OK ||
		    !real_path(kit->nvrtc, path))
			continue;
		memcpy(kit->library_dir, path, sizeof(path));
		parent_of(kit->library_dir);
		memcpy(dir, kit->library_dir, sizeof(dir));
		for (int up = 0; up < 3 && !kit->include[0][0] && strlen(dir) > 1; up++) {
			parent_of(dir);
			find_headers(kit, dir);
		}
		return true;
	}
	return false;
}

/* Folders in the order in which they are tried. */
static size_t list_dirs(char out[5][KW_CUDA_PATH])
{
	static const char *const names[] = { "CUDA_HOME", "CUDA_PATH" };
	char nvcc[PATH_MAX];
	size_t n = 0;

	for (size_t i = 0; i < 2; i++)
		if (getenv(names[i]) && getenv(names[i])[0])
			snprintf(out[n++], KW_CUDA_PATH, "%s", getenv(names[i]));
	snprintf(out[n++], KW_CUDA_PATH, "/usr/local/cuda");
	if (kw_proc_which("nvcc", nvcc, sizeof(nvcc)) && real_path(nvcc, out[n])) {
		parent_of(out[n]);
		parent_of(out[n]);
		n++;
	}
	return n;
}

/* "Cuda compilation tools, release 13.0, V13.0.88" */
static enum kw_status ask_nvcc(struct kw_cuda_toolkit *kit, struct kw_error *err)
{
	const char *const argv[] = { kit->nvcc, "--version", NULL };
	struct kw_proc_opts o = { .timeout_ms = 20000, .max_out_bytes = 1 << 16 };
	struct kw_proc_result r;
	const char *at;
	enum kw_status s = kw_proc_run(argv, &o, &r, err);

	if (s != KW_OK)
		return s;
	at = r.exit_code == 0 && r.out.len ? strstr(r.out.ptr, "release ") : NULL;
	if (at)
		snprintf(kit->version, sizeof(kit->version), "nvcc %.*s",
			 (int)strcspn(at + 8, ",\n"), at + 8);
	else
		s = kw_fail(err, KW_ERR_ENV, kit->nvcc,
			    "this is no nvcc: `--version` says nothing of a release");
	kw_proc_result_release(&r);
	return s;
}

/* "compute_75" and so on, a line each; older ones do not know the question, and then every architecture is tried. */
static void ask_archs(struct kw_cuda_toolkit *kit)
{
	const char *const argv[] = { kit->nvcc, "--list-gpu-arch", NULL };
	struct kw_proc_opts o = { .timeout_ms = 20000, .max_out_bytes = 1 << 16 };
	struct kw_proc_result r;
	struct kw_str rest, line;
	int sm;

	if (kw_proc_run(argv, &o, &r, NULL) != KW_OK)
		return;
	rest = kw_str_from(r.exit_code == 0 && r.out.len ? r.out.ptr : "");
	while (kw_str_split(&rest, '\n', &line) && kit->arch_count < KW_CUDA_ARCHS)
		if (sscanf(line.ptr, "compute_%d", &sm) == 1)
			kit->archs[kit->arch_count++] = sm;
	kw_proc_result_release(&r);
}

static enum kw_status identify(struct kw_cuda_toolkit *kit, struct kw_error *err)
{
	const char *compiler = kit->nvrtc[0] ? kit->nvrtc : kit->nvcc;
	char header[KW_CUDA_PATH + 16];
	struct stat st = { 0 }, headers = { 0 };
	enum kw_status s = kit->nvrtc[0] ? KW_OK : ask_nvcc(kit, err);

	if (s != KW_OK)
		return s;
	if (!kit->nvrtc[0])
		ask_archs(kit);
	snprintf(header, sizeof(header), "%s/cuda_fp16.h", kit->include[0]);
	stat(compiler, &st);
	stat(header, &headers);
	snprintf(kit->identity, sizeof(kit->identity), "%s %lld %lld %lld %.120s", kit->version,
		 (long long)st.st_size, (long long)st.st_mtime, (long long)headers.st_mtime,
		 kit->include[0]);
	return KW_OK;
}

static enum kw_status find(bool library, struct kw_cuda_toolkit *kit, struct kw_error *err)
{
	const char *only = getenv("KWRIGHT_CUDA");
	char dirs[5][KW_CUDA_PATH];
	size_t n;

	if (only && only[0]) {
		if (look_in(kit, only, library))
			return identify(kit, err);
		return kw_fail(err, KW_ERR_ENV, only,
			       "there is no CUDA toolkit (named by KWRIGHT_CUDA): neither libnvrtc "
			       "nor bin/nvcc");
	}
	n = list_dirs(dirs);
	for (size_t i = 0; i < n; i++)
		if (look_in(kit, dirs[i], library) && (kit->nvrtc[0] || !library))
			return identify(kit, err);
	if (library && look_in_loader(kit))
		return identify(kit, err);
	for (size_t i = 0; i < n; i++) /* a folder with nvcc only */
		if (look_in(kit, dirs[i], false))
			return identify(kit, err);
	return kw_fail(err, KW_ERR_ENV, "", "there is no CUDA compiler: " HINT);
}

static const char *text_of(const char *name)
{
	const char *v = getenv(name);

	return v ? v : "";
}

enum kw_status kw_cuda_find(const char *compiler, struct kw_cuda_toolkit *out, struct kw_error *err)
{
	bool library = !compiler || strcmp(compiler, "nvcc") != 0;
	char key[sizeof(known[0].key)];
	enum kw_status s = KW_OK;

	snprintf(key, sizeof(key), "%d %.300s|%.300s|%.300s", library, text_of("KWRIGHT_CUDA"),
		 text_of("CUDA_HOME"), text_of("CUDA_PATH"));
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < known_count; i++)
		if (strcmp(known[i].key, key) == 0) {
			*out = known[i].kit;
			goto out;
		}
	s = find(library, out, err);
	if (s == KW_OK && known_count < sizeof(known) / sizeof(known[0])) {
		memcpy(known[known_count].key, key, sizeof(key));
		known[known_count++].kit = *out;
	}
out:
	pthread_mutex_unlock(&lock);
	return s;
}

/* ---- other programs of the toolkit ---- */

static bool file_in(const char *folder, const char *below, const char *program, int mode, char path[PATH_MAX])
{
	char pattern[PATH_MAX];
	glob_t found = { 0 };
	bool there = false;

	if (!folder || !*folder || snprintf(pattern, sizeof pattern, "%s/%s/%s", folder, below, program) >= PATH_MAX)
		return false;
	/* Of several versions the last one by name. */
	if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0)
		there = access(found.gl_pathv[found.gl_pathc - 1], mode) == 0 &&
			snprintf(path, PATH_MAX, "%s", found.gl_pathv[found.gl_pathc - 1]) < PATH_MAX;
	globfree(&found);
	return there;
}

static bool tool_in(const char *folder, const char *below, const char *program, char path[PATH_MAX])
{
	return file_in(folder, below, program, X_OK, path);
}

enum kw_status kw_cuda_tool(const char *program, const char *variable, char path[PATH_MAX], struct kw_error *err)
{
	const char *named = getenv(variable), *folders[] = { getenv("KWRIGHT_CUDA"), getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda" };
	static const char *const below[] = { "bin", "compute-sanitizer", "nsight-compute*" };

	if (named && *named) {
		snprintf(path, PATH_MAX, "%s", named);
		return access(path, X_OK) == 0 ? KW_OK : kw_fail(err, KW_ERR_ENV, named, "there is no program (named by %s)", variable);
	}
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		if (i == 3 && kw_proc_which(program, path, PATH_MAX))
			return KW_OK;
		for (size_t k = 0; k < sizeof below / sizeof below[0]; k++)
			if (tool_in(folders[i], below[k], program, path))
				return KW_OK;
	}
	if (tool_in("/opt/nvidia/nsight-compute", "*", program, path))
		return KW_OK;
	path[0] = '\0';
	return kw_fail(err, KW_NO, "", "there is no %s here", program);
}

enum kw_status kw_cuda_library(const char *pattern, const char *variable, char path[PATH_MAX], struct kw_error *err)
{
	const char *named = getenv(variable), *folders[] = { getenv("KWRIGHT_CUDA"), getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", NULL };
	static const char *const below[] = { "extras/CUPTI/lib64", "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "." };
	struct kw_cuda_toolkit kit;
	struct kw_error ignored = { 0 };

	if (named && *named) {
		snprintf(path, PATH_MAX, "%s", named);
		return access(path, R_OK) == 0 ? KW_OK : kw_fail(err, KW_ERR_ENV, named, "there is no library (named by %s)", variable);
	}
	/* nvidia/cuda_nvrtc/lib has nvidia/cuda_cupti/lib for a neighbour. */
	if (kw_cuda_find(NULL, &kit, &ignored) == KW_OK && kit.library_dir[0]) {
		folders[4] = kit.library_dir;
		if (file_in(kit.library_dir, ".", pattern, R_OK, path) || file_in(kit.library_dir, "../../cuda_cupti/lib", pattern, R_OK, path))
			return KW_OK;
	}
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
		for (size_t k = 0; k < sizeof below / sizeof below[0]; k++)
			if (file_in(folders[i], below[k], pattern, R_OK, path))
				return KW_OK;
	path[0] = '\0';
	return kw_fail(err, KW_NO, "", "there is no %s here", pattern);
}

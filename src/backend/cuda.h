/* cuda.h - the pieces of the CUDA backend: where the toolkit is (cuda_find.c), NVRTC in a child
 * (cuda_nvrtc.c), nvcc where there is no NVRTC (cuda_nvcc.c), what they print (cuda_log.c), the
 * headers that we bring (cuda_headers.c), and the build itself (cuda.c). No header of CUDA is
 * needed to build this program.
 *
 * NVRTC is a library that reads the candidate's text, so it runs in a child of its own: this same
 * program as `kwright
 * __nvrtc`, which loads the library, locks itself down (it can then read the toolkit's headers and
 * nothing else, and write nothing), compiles, answers and ends. It can be killed at any time. */
#ifndef KW_BACKEND_CUDA_H
#define KW_BACKEND_CUDA_H

#include <limits.h>

#include "backend/backend.h"
#include "backend/diagnostics.h"

enum { KW_CUDA_PATH = 512, KW_CUDA_ARCHS = 64 };

struct kw_cuda_toolkit {
	char nvrtc[KW_CUDA_PATH]; /* the library; "": none */
	char nvcc[KW_CUDA_PATH];  /* the program; "": none */
	char home[KW_CUDA_PATH];  /* folder that nvcc needs */
	char library_dir[KW_CUDA_PATH];
	char include[2][KW_CUDA_PATH]; /* the toolkit's headers, and CCCL's where they are apart;
					  "": none */
	int archs[KW_CUDA_ARCHS];      /* 75, 80, ...: what NVRTC builds for; none: not known */
	size_t arch_count;
	char version[64];   /* "NVRTC 13.0" */
	char identity[256]; /* version, size and time of the compiler; where its headers are */
};
/* $KWRIGHT_CUDA alone where it is set; else $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, where nvcc on
 * PATH is, and the loader's folders. KW_ERR_ENV with what to install. compiler "nvcc": as if there
 * were no NVRTC. */
enum kw_status kw_cuda_find(const char *compiler, struct kw_cuda_toolkit *out,
			    struct kw_error *err);

/* A program of the toolkit ("compute-sanitizer", "ncu"): what the environment variable names, else in the toolkit's folders, on PATH, in
 * /opt/nvidia. KW_NO: it is not here; KW_ERR_ENV: what the variable names is not. */
enum kw_status kw_cuda_tool(const char *program, const char *variable, char path[PATH_MAX], struct kw_error *err);
/* A library beside those of the toolkit, or of the packages that PyTorch comes with; pattern: of its name. Else as above. */
enum kw_status kw_cuda_library(const char *pattern, const char *variable, char path[PATH_MAX], struct kw_error *err);

/* --- what a compiler run gives --- */
struct kw_cuda_output {
	bool good; /* it made a cubin */
	bool timed_out;
	int signal;
	char *log;   /* kw_free; all that it printed */
	void *cubin; /* kw_free */
	size_t cubin_bytes;
	char what[160];	 /* "NVRTC_ERROR_COMPILATION" */
	char layers[96]; /* of its box */
};
void kw_cuda_output_release(struct kw_cuda_output *o);
/* A compiler that is a library with NVRTC's interface, under names of its own. */
struct kw_rtc {
	const char *name;		 /* "NVRTC" */
	const char *prefix;		 /* "nvrtc": of its functions */
	const char *code_size, *code;	 /* the functions that hand over the object, without the prefix */
	const char *file;		 /* what the source is called in messages */
	bool brings_headers;		 /* the standard ones, of cuda_headers.c */
};
extern const struct kw_rtc kw_rtc_nvrtc, kw_rtc_hiprtc;
extern const struct kw_rtc kw_rtc_nvrtc_ptx; /* hands over PTX, which needs no disassembler to be read */
struct kw_cuda_input {
	const struct kw_rtc *rtc;   /* NULL: NVRTC */
	const char *dir;	    /* a folder that the library may write to; NULL: none */
	const struct kw_cuda_toolkit *kit;
	const char *source;
	size_t source_len;
	const char *header;	    /* text of kw.h */
	const char *const *options; /* as NVRTC spells them; NULL-terminated */
	int timeout_ms;
};
#define KW_CUDA_FILE "candidate.cu" /* what the source is called in messages */
enum kw_status kw_nvrtc_compile(const struct kw_cuda_input *in, struct kw_cuda_output *out,
				struct kw_error *err);
enum kw_status kw_nvcc_compile(const struct kw_cuda_input *in, struct kw_cuda_output *out,
			       struct kw_error *err);
/* Asks a library (or, where it is only a name, the loader) for its version; fills nvrtc, version
 * and archs. KW_NO: it cannot be loaded. */
enum kw_status kw_nvrtc_probe(const struct kw_rtc *rtc, const char *library,
			      struct kw_cuda_toolkit *out, struct kw_error *err);

/* --- cuda_log.c --- */
struct kw_cuda_usage {
	char symbol[256];
	int64_t spill_store_bytes, spill_load_bytes, stack_bytes, smem_bytes;
	int registers;
};
/* NVRTC's or nvcc's and ptxas' text: messages into d, whose path is KW_CUDA_FILE; what each function uses into usage
 * (room for max). Returns how many it has. source: to find lines that a message does not tell. kit: a message about a
 * file that is neither the candidate nor one of the toolkit's headers loses its words, for where no Landlock keeps
 * the compiler from reading it; NULL: every file is fine. */
size_t kw_cuda_log_parse(struct kw_diagnostics *d, const char *text, const char *source,
			 const struct kw_cuda_toolkit *kit, struct kw_cuda_usage *usage, size_t max);
/* Class of a message by its words. */
enum kw_subclass kw_cuda_message_class(const char *message);

/* --- cuda_headers.c: standard headers that NVRTC lacks, by name --- */
size_t kw_cuda_header_count(void);
void kw_cuda_header(size_t i, const char **name, const char **text);

/* Flags that a candidate may ask for; a '=' ends a prefix. */
const char *const *kw_cuda_flags_allowed(size_t *count);

#endif

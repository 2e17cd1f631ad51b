/* input.h - what an input is, by its content, and the readers for all that is no profiler export.
 *
 *     enum kw_input_kind kind = kw_input_recognise("k.cu", text, len);
 *     kw_input_read(kind, text, len, &launches);
 *
 * A reader adds one launch a kernel (or one for the file) with what it found and the lines it found it on, and notes
 * what it could not read. Facts of source text are what the text says, not what a compiler makes of it. Text must be
 * followed by a NUL that len does not count. Any thread. */
#ifndef KW_PROFILE_INPUT_H
#define KW_PROFILE_INPUT_H

#include "profile/launches.h"
#include "profile/tokens.h"

#define KW_INPUT_LIST(X)                                    \
	X(EMPTY, "an empty file")                           \
	X(BINARY, "a binary file")                          \
	X(NCU, "an Nsight Compute export")                  \
	X(NCU_REPORT, "an Nsight Compute report file")      \
	X(NSYS, "a report of Nsight Systems")               \
	X(TABLE, "a table of times")                        \
	X(PERF_STAT, "counters of perf stat")               \
	X(CUBIN, "a CUDA object (cubin)")                   \
	X(PTX, "PTX")                                       \
	X(SASS, "a disassembly (SASS)")                     \
	X(LOG, "a log")                                     \
	X(CUDA, "CUDA source")                              \
	X(HIP, "HIP source")                                \
	X(OPENCL, "OpenCL source")                          \
	X(C, "C source")                                    \
	X(PYTHON, "Python source")                          \
	X(TASK, "a task")                                   \
	X(NVPROF, "a report of nvprof")                     \
	X(ROCPROF, "a CSV of rocprof")                      \
	X(ROCPROF_OTHER, "a report of AMD's profilers")     \
	X(NCU_SOURCE, "the source page of Nsight Compute")  \
	X(GPROF, "a report of gprof")                       \
	X(TRACE, "a trace for a browser")                   \
	X(TORCH_TABLE, "a table of PyTorch's profiler")     \
	X(COMPRESSED, "a compressed file")                  \
	X(DATABASE, "an SQLite database")                   \
	X(NSYS_REPORT, "a report file of Nsight Systems")   \
	X(PERF_DATA, "a recording of perf")                 \
	X(PROGRAM, "a program or a library")                \
	X(NOTEBOOK, "a notebook")                           \
	X(OTHER, "text of another kind")
enum kw_input_kind {
#define X(e, name) KW_INPUT_##e,
	KW_INPUT_LIST(X)
#undef X
};
const char *kw_input_name(enum kw_input_kind k);
/* name: its ending helps where the content does not decide (a header of C or CUDA). */
enum kw_input_kind kw_input_recognise(const char *name, const char *text, size_t len);
/* False: this kind has no reader. */
bool kw_input_read(enum kw_input_kind kind, const char *text, size_t len, struct kw_launches *out);

/* --- one reader a file --- */
void kw_read_ncu(const char *text, size_t len, struct kw_launches *out);      /* input.c */
void kw_read_table(const char *text, size_t len, struct kw_launches *out);    /* table.c: sweeps, timings, launches */
void kw_read_nsys(const char *text, size_t len, struct kw_launches *out);      /* nsys.c */
void kw_read_rocprof(const char *text, size_t len, struct kw_launches *out);   /* rocprof.c */
void kw_read_trace(const char *text, size_t len, struct kw_launches *out);     /* trace.c */
void kw_read_torch_table(const char *text, size_t len, struct kw_launches *out); /* torch_table.c */
void kw_read_perf_stat(const char *text, size_t len, struct kw_launches *out); /* perf_stat.c */
void kw_read_ptx(const char *text, size_t len, struct kw_launches *out);      /* machine.c */
void kw_read_sass(const char *text, size_t len, struct kw_launches *out);     /* machine.c */
void kw_read_cubin(const char *bytes, size_t len, struct kw_launches *out);   /* resources.c */
void kw_read_log(const char *text, size_t len, struct kw_launches *out);      /* resources.c: what ptxas says */
void kw_read_source(enum kw_input_kind kind, const char *text, size_t len, struct kw_launches *out); /* source.c */
void kw_read_python(const char *text, size_t len, struct kw_launches *out);   /* source_python.c */
void kw_read_host(const struct kw_tokens *t, struct kw_launches *out);        /* timing.c: clocks around launches */
void kw_read_c(const struct kw_tokens *t, size_t from, size_t to, struct kw_launch *k); /* source_c.c: a function's loops */
/* A line of what the compiler said of loops (-fopt-info-vec-all): where, and whether it took the loop. False: about something else. */
bool kw_read_vector_line(struct kw_str line, int *number, bool *vectorised);
/* Ways of a conflict when 32 lanes read words at lane * stride of shared memory, with `swizzle_bits` low bits of the lane
 * XORed into the column (0: none): how often a warp must go to read one column of a tile that is `stride` words wide. */
int kw_bank_conflict_ways(int stride, int swizzle_bits);
/* A mangled name in a person's form: "_Z6updateIdEvPT_" is "update"; others are themselves. out: 128 bytes. */
const char *kw_plain_name(const char *name, char *out, size_t out_bytes);

#endif

/* backend.h - turns a kernel language into an artefact (design 2). One file per backend, one row in
 * backends.def. A build that fails is a result (artefact with diagnostics, verdict class in *cls), not an
 * error; KW_ERR_ENV when the compiler is missing.
 *
 * The build cache (build/cache of $XDG_CACHE_HOME/kernelwright) is keyed by the canonical bytes of {source, define
 * and tune values, flags, headers, toolchain version, CPU features}; entries are written to a temporary name and
 * renamed, need no lock, and are verified by their hash when read (cases E11, cheat 33). */
#ifndef KW_BACKEND_BACKEND_H
#define KW_BACKEND_BACKEND_H

#include "core/artefact.h"
#include "core/candidate.h"
#include "core/hardware.h"

struct kw_build_opts {
	const char *compiler;             /* NULL: the backend's own order (C: $KWRIGHT_CC, gcc, clang); CUDA: "nvcc" */
	const char *arch;                 /* what the device needs: its kw_hardware.arch ("sm_90a"); C: not looked at */
	const char *extra_flags[8];       /* trusted flags from us (baselines: "-fno-openmp"…); NULL-terminated */
	int timeout_ms;                   /* 0: 30 s; CUDA: 60 s */
	bool no_cache;                    /* neither read nor write the cache */
	bool trusted;                     /* a baseline: no sandbox around the compiler needed */
	bool naive_flags;                 /* "-O3" only: no -march=native, no -fopenmp */
};
struct kw_build_result {
	enum kw_verdict_class cls;        /* KW_V_OK or KW_V_BUILD_ERROR */
	enum kw_subclass subclass;
	struct kw_artefact artefact;      /* diagnostics are filled in both cases */
};

struct kw_backend {
	const char *name, *language, *extensions; /* "c", "C17", ".c" */
	const char *device;                       /* device kind that runs it: "cpu" */
	const char *header;                       /* kw.h in this language: a path among the built-in files; NULL: none */
	bool per_block;                           /* the code depends on block and smem too, not on the defines alone */
	bool per_number;                          /* and on which arguments are multiples of 16 */
	/* Where `device` is not to be had: a device that tells right from wrong, and no times. NULL: none. */
	const char *checker;
	/* Required. Whether it works here; fills text ("gcc 12.2.0, clang 14.0.6") or says what to install. */
	enum kw_status (*probe)(char *text, size_t text_bytes, struct kw_error *err);
	/* Required. Builds for one set of define values. Thread-safe. */
	enum kw_status (*build)(const struct kw_candidate *c, const struct kw_bound_plan *bound,
				const struct kw_build_opts *opts, struct kw_build_result *out,
				struct kw_error *err);
};

const struct kw_backend *kw_backend_find(const char *name);       /* NULL when unknown */
const struct kw_backend *const *kw_backend_all(size_t *count);
/* Wrapper: checks, times, traces. */
enum kw_status kw_build(const struct kw_backend *b, const struct kw_candidate *c,
			const struct kw_bound_plan *bound, const struct kw_build_opts *opts,
			struct kw_build_result *out, struct kw_error *err);
void kw_build_result_release(struct kw_build_result *r);
/* Adds what else than the defines the code depends on: plans whose texts differ need a build each. */
void kw_build_variant(const struct kw_backend *b, const struct kw_bound_plan *bound, struct kw_buf *out);

#endif

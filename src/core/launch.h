/* launch.h - whether a device can launch a kernel as its plan says, known before it is tried.
 *
 *     struct kw_kernel_facts f;
 *     kw_kernel_facts_get(artefact->facts, "softmax_row", &f);
 *     if (!kw_launch_check(&bound.kernels[0], &f, &hardware, &subclass, why, sizeof(why)))
 *             // "block=(2048) has 2048 threads; NVIDIA H200 allows 1024 in a block"
 *
 * The facts of a kernel are what its compiler says of it; they travel as JSON in the artefact,
 * under "kernels". Sheets without limits (a CPU) refuse nothing. The rules are those of the CUDA
 * C++ Programming Guide and of cuda_occupancy.h. Pure functions; any thread. */
#ifndef KW_CORE_LAUNCH_H
#define KW_CORE_LAUNCH_H

#include "base/json.h"
#include "core/hardware.h"
#include "core/plan.h"
#include "core/verdict.h"

struct kw_kernel_facts {
	char symbol[256]; /* its name in the object */
	int registers;	  /* a thread */
	int max_threads;  /* a block, by __launch_bounds__; 0: not said */
	int max_cluster;  /* blocks in a cluster, likewise */
	int barriers;
	int64_t static_smem_bytes, stack_bytes, spill_store_bytes, spill_load_bytes;
	int64_t param_count, param_bytes;
	int64_t block[3], cluster[3]; /* fixed at compile time; 0: not */
	/* Where the compiler chooses the launch, and a plan gives the grid alone (Triton). */
	bool own_launch;
	int64_t dynamic_smem_bytes;
	int blocks_per_program; /* the grid counts programs */
	int hidden_args;	/* pointers to scratch behind the plan's arguments; NULL where it has 0 bytes */
	int64_t scratch_bytes, profile_bytes; /* of each block */
	int64_t code_offset;	/* where its object begins in the artefact's code */
};
enum { KW_HIDDEN_ARGS_MAX = 2 };
/* False when the facts know no such kernel. */
bool kw_kernel_facts_get(const json_t *facts, const char *kernel, struct kw_kernel_facts *out);
/* NULL: out of memory. */
json_t *kw_kernel_facts_to_json(const struct kw_kernel_facts *f);

/* The launch as it really is: where the compiler chose it, its block, shared memory and grid. */
struct kw_bound_kernel kw_launch_actual(const struct kw_bound_kernel *k, const struct kw_kernel_facts *f);
/* The cluster that it really runs with: the plan's, else the one fixed at compile time, else 1,
 * 1, 1. */
void kw_launch_cluster(const struct kw_bound_kernel *k, const struct kw_kernel_facts *f,
		       int64_t out[3]);
/* False: why holds one sentence with the limit and the value, subclass is one of KW_V_LAUNCH_ERROR.
 * A grid of 0 launches nothing and is fine. */
bool kw_launch_check(const struct kw_bound_kernel *k, const struct kw_kernel_facts *f,
		     const struct kw_hardware *h, enum kw_subclass *subclass, char *why,
		     size_t why_bytes);

/* Theoretical occupancy (NVIDIA). */
struct kw_occupancy {
	int blocks;	   /* at once on one multiprocessor; 0: not one fits, or not known */
	double share;	   /* of the threads that it can hold */
	const char *limit; /* "registers", "shared memory", "threads", "blocks" */
	double waves;	   /* grid over what the whole device holds at once */
};
struct kw_occupancy kw_launch_occupancy(const struct kw_bound_kernel *k,
					const struct kw_kernel_facts *f,
					const struct kw_hardware *h);

#endif

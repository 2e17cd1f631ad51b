/* opencl.h - the OpenCL devices of this machine, as a child of ours saw them, and how its children are spoken to.
 *
 *     struct kw_cl_info d;
 *     if (kw_cl_find(&d, err) == KW_OK) printf("%s\n", d.name);   // KW_ERR_ENV says what to install
 *
 * A vendor's runtime is never loaded into the judge: `kwright __opencl` loads it, answers one question from standard input
 * on standard output (a line of JSON, then bytes) and ends. The machine is asked once a process. Any thread. */
#ifndef KW_DEVICE_OPENCL_H
#define KW_DEVICE_OPENCL_H

#include "base/error.h"
#include "base/json.h"
#include "base/proc.h"
#include "device/device.h"

struct kw_cl_info {
	uint32_t platform, device;        /* numbers in the loader's order */
	char platform_name[96], platform_version[128];
	char name[128], vendor[64], version[64], driver[64], c_version[64];
	bool cpu, gpu;                    /* cpu: kernels run in the player's own process, on the judge's buffers */
	bool pocl, compiler, fp64, fp16;
	int64_t units, clock_mhz, memory_bytes, cache_bytes, local_bytes, group_size, group[3];
	int64_t base_align_bytes;         /* of sub-buffers */
	char identity[512];               /* whatever the code it compiles depends on */
};
enum { KW_CL_DEVICES_MAX = 32 };

/* Every device. KW_ERR_ENV when there is no loader or no device, with what to install. */
enum kw_status kw_cl_list(const struct kw_cl_info **out, size_t *count, struct kw_error *err);
/* The one to use: $KWRIGHT_OPENCL (a part of "platform: device", or "0:1"), else the first GPU, else the first of all. */
enum kw_status kw_cl_find(struct kw_cl_info *out, struct kw_error *err);

/* --- questions to a child --- */
extern const char kw_cl_word[];       /* its argument; naming it links the child's half */
struct kw_cl_answer {
	json_t *head;                     /* NULL: it gave none (timed out, killed) */
	const char *bytes;                /* behind the head */
	size_t len;
	bool timed_out;
	int signal;
	struct kw_proc_result run;
};
/* dir: where the child may leave files, the runtime's caches among them. before: its box, entered before anything of it
 * runs; NULL: none. */
enum kw_status kw_cl_ask(const json_t *question, const char *dir, int timeout_ms, int (*before)(void *), void *before_arg,
			 struct kw_cl_answer *out, struct kw_error *err);
void kw_cl_answer_release(struct kw_cl_answer *a);

/* --- opencl_measure.c --- */
/* The child's half: what it is asked to measure, as the head of an answer. */
struct kw_cl;
json_t *kw_cl_measure(const struct kw_cl *cl, const json_t *question);
/* Of this device, by its own events; kept as all ceilings are (h says of what). KW_NO: not known, or nothing of the kind. */
enum kw_status kw_cl_ceiling(const struct kw_cl_info *i, const struct kw_hardware *h, enum kw_ceiling_kind kind, int64_t bytes,
			     enum kw_measure measure, struct kw_ceiling *out, struct kw_error *err);
enum kw_status kw_cl_overheads(const struct kw_cl_info *i, struct kw_overheads *out, struct kw_error *err);

#endif

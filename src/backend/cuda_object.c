/* What a CUDA object must be like, whichever compiler made it: its kernels are those of the plan, they take what the plan passes,
 * and they call nothing that is not there. */
#include "backend/cuda_object.h"

#include <stdio.h>
#include <string.h>

enum { POINTER = 8, MAP_BYTES = 128, MAP_ALIGN = 64 };

/* Functions of the device's runtime that a judged kernel has no use for, and why. */
static const struct {
	const char *name, *why;
} runtime[] = {
	{ "vprintf", "printf: a judged kernel prints nothing" },
	{ "malloc", "malloc or new: a kernel gets its memory from `workspace` lines" },
	{ "free", "free or delete: a kernel gets its memory from `workspace` lines" },
	{ "__assertfail", "assert: a judged kernel has no assertions" },
	{ "cudaLaunchDevice", "a launch from a kernel: kernels are launched by plan lines" },
	{ "cudaLaunchDeviceV2", "a launch from a kernel: kernels are launched by plan lines" },
	{ "cudaGetParameterBuffer", "a launch from a kernel: kernels are launched by plan lines" },
	{ "cudaGetParameterBufferV2",
	  "a launch from a kernel: kernels are launched by plan lines" },
};

/* What a runtime function is written as. */
static void find_use(const struct kw_cuda_check *b, const char *name, int *line, int *column)
{
	const char *word = strcmp(name, "vprintf") == 0	       ? "printf"
			   : strcmp(name, "__assertfail") == 0 ? "assert"
							       : name;
	const char *start = b->job->c->source, *at = strstr(start, word);

	*line = *column = at ? 1 : 0;
	for (const char *p = start; at && p < at; p++)
		if (*p == '\n') {
			(*line)++;
			start = p + 1;
		}
	if (at)
		*column = (int)(at - start) + 1;
}

void kw_cuda_check_undefined(struct kw_cuda_check *b, const struct kw_cubin *cubin)
{
	const char *name;

	for (size_t i = 0; (name = kw_cubin_undefined(cubin, i)); i++) {
		char message[300];
		const char *why = NULL;
		int line, column;

		for (size_t k = 0; k < sizeof(runtime) / sizeof(runtime[0]); k++)
			if (strcmp(runtime[k].name, name) == 0)
				why = runtime[k].why;
		if (why)
			snprintf(message, sizeof(message), "the kernel calls %s", why);
		else
			snprintf(message, sizeof(message), "'%.150s' is called and defined nowhere",
				 name);
		find_use(b, name, &line, &column);
		kw_build_reject(b->job, KW_V_BUILD_ERROR, KW_S_UNDEFINED, line, column, message);
	}
}

static int64_t arg_bytes(const struct kw_bound_arg *a)
{
	switch (a->kind) {
	case KW_ARG_TENSOR:
	case KW_ARG_WORKSPACE:
		return POINTER;
	case KW_ARG_TENSORMAP:
		return MAP_BYTES;
	default:
		return (int64_t)kw_dtype_bytes(a->dtype);
	}
}

/* "cols:i32 (4 bytes)" as the plan has it. */
static void describe(const struct kw_plan_arg *p, const struct kw_bound_arg *a, char *out,
		     size_t out_bytes)
{
	if (p->expr)
		snprintf(out, out_bytes, "%.80s:%s", kw_intexpr_text(p->expr),
			 kw_dtype_name(a->dtype));
	else
		snprintf(out, out_bytes, "%.80s%s%s", p->name, a->kind == KW_ARG_PARAM ? ":" : "",
			 a->kind == KW_ARG_PARAM ? kw_dtype_name(a->dtype) : "");
}

/* The plan's arguments against the kernel's own parameters: sizes are all that an object tells. */
static bool check_params(struct kw_cuda_check *b, size_t index, size_t hidden, const struct kw_cubin_kernel *k)
{
	const struct kw_bound_kernel *bound = &b->job->bound->kernels[index];
	const struct kw_plan_kernel *plan = &b->job->c->plan.kernels[index];
	char message[400], text[128];

	for (size_t i = 0; i < hidden; i++)
		if (k->param_count != bound->arg_count + hidden || k->params[bound->arg_count + i].bytes != POINTER) {
			snprintf(message, sizeof(message), "the object of '%.100s' has %zu parameters, not %zu and %zu hidden pointers: "
				 "this compiler passes arguments in another way than is known", plan->name, k->param_count,
				 bound->arg_count, hidden);
			kw_build_reject(b->job, KW_V_BUILD_ERROR, KW_S_TYPE, plan->line, 1, message);
			return false;
		}
	if (k->param_count != bound->arg_count + hidden) {
		snprintf(message, sizeof(message),
			 "kernel '%.100s' has %zu parameter%s and the plan passes %zu", plan->name,
			 k->param_count, k->param_count == 1 ? "" : "s", bound->arg_count);
		kw_build_reject(b->job, KW_V_BUILD_ERROR, KW_S_TYPE, plan->line, 1, message);
		return false;
	}
	for (size_t i = 0; i < bound->arg_count; i++) {
		const struct kw_bound_arg *a = &bound->args[i];
		bool map = a->kind == KW_ARG_TENSORMAP,
		     aligned = !map || (k->param_base + k->params[i].offset) % MAP_ALIGN == 0;

		if (k->params[i].bytes == arg_bytes(a) && aligned)
			continue;
		describe(&plan->args[i], a, text, sizeof(text));
		if (map)
			snprintf(message, sizeof(message),
				 "parameter %zu of '%.100s' is to be the tensor map '%s'; declare "
				 "it `const "
				 "__grid_constant__ CUtensorMap` (or kw_tensormap): %d bytes "
				 "aligned to %d, not %d bytes",
				 i + 1, plan->name, text, MAP_BYTES, MAP_ALIGN, k->params[i].bytes);
		else
			snprintf(message, sizeof(message),
				 "parameter %zu of '%.100s' has %d bytes and the plan passes '%s' "
				 "of %lld",
				 i + 1, plan->name, k->params[i].bytes, text,
				 (long long)arg_bytes(a));
		kw_build_reject(b->job, KW_V_BUILD_ERROR, KW_S_TYPE, plan->line, 1, message);
		return false;
	}
	return true;
}

static void missing_kernel(struct kw_cuda_check *b, size_t index, const struct kw_cubin *cubin,
			   bool several)
{
	const char *name = b->job->bound->kernels[index].name;
	char message[480];
	struct kw_buf list;

	kw_buf_init(&list, 4096);
	kw_cubin_list_kernels(cubin, &list);
	if (!several && !list.len)
		snprintf(message, sizeof(message),
			 "no kernel '%.100s' is in the object; there is none. Declare it extern \"C\" "
			 "__global__; a template is in it only where it is instantiated",
			 name);
	else if (several)
		snprintf(message, sizeof(message),
			 "there are several kernels '%.100s': make the one that is meant extern "
			 "\"C\"",
			 name);
	else
		snprintf(message, sizeof(message),
			 "no kernel '%.100s' is in the object; there is: %.200s. Name one of them in the plan, or "
			 "declare it extern \"C\" __global__ %.60s(...)", name, list.ptr, name);
	kw_buf_release(&list);
	kw_build_reject(b->job, KW_V_LAUNCH_ERROR, KW_S_ENTRY, b->job->c->plan.kernels[index].line, 1, message);
}

bool kw_cuda_check_kernel(struct kw_cuda_check *b, const struct kw_cubin *cubin, size_t index, size_t hidden,
			  struct kw_cubin_kernel *k)
{
	bool several;

	if (!kw_cubin_kernel(cubin, b->job->bound->kernels[index].name, k, &several)) {
		missing_kernel(b, index, cubin, several);
		return false;
	}
	for (size_t u = 0; u < b->usage_count; u++)
		if (strcmp(b->usage[u].symbol, k->facts.symbol) == 0) {
			k->facts.spill_store_bytes = b->usage[u].spill_store_bytes;
			k->facts.spill_load_bytes = b->usage[u].spill_load_bytes;
		}
	return check_params(b, index, hidden, k);
}

/* What the judge must put back between calls. */
json_t *kw_cuda_globals(const struct kw_cubin *cubin)
{
	json_t *list = json_array();
	const char *name;
	int64_t bytes = 0;

	for (size_t i = 0; list && (name = kw_cubin_global(cubin, i, &bytes)); i++)
		if (json_array_append_new(list, json_pack("{s:s,s:I}", "name", name, "bytes",
							  (json_int_t)bytes)) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

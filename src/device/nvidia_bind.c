/* A bound plan as a player on an NVIDIA device is told it. */
#include "device/nvidia_wire.h"

#include "core/launch.h"

#include <stdio.h>
#include <string.h>

#define SCRATCH_MAX ((uint64_t)4 << 30)
enum { SCRATCH_ALIGN = 256 };

static enum kw_status bind_arg(const struct gpu_layout *s, const struct kw_bound_arg *a, struct gpu_arg *to,
			       struct kw_error *err)
{
	float f = (float)a->f;

	switch (a->kind) {
	case KW_ARG_TENSOR:
	case KW_ARG_WORKSPACE:
		to->kind = GPU_ARG_BUFFER;
		to->index = (uint32_t)a->index + (a->kind == KW_ARG_WORKSPACE ? (uint32_t)s->tensor_count : 0);
		if (a->index < 0 || to->index >= s->buffer_count)
			return kw_fail(err, KW_ERR_BUG, "", "argument %d of a plan is not a buffer", a->index);
		return KW_OK;
	case KW_ARG_TENSORMAP:
		to->kind = GPU_ARG_MAP;
		to->index = (uint32_t)a->index;
		return KW_OK;
	case KW_ARG_SCALAR:
	case KW_ARG_PARAM:
		to->kind = GPU_ARG_BYTES;
		to->bytes = (uint32_t)kw_dtype_bytes(a->dtype);
		to->bits = (uint64_t)a->i;
		if (a->dtype == KW_F64)
			memcpy(&to->bits, &a->f, sizeof(a->f));
		else if (a->dtype == KW_F32)
			memcpy(&to->bits, &f, sizeof(f));
		return KW_OK;
	}
	return kw_fail(err, KW_ERR_BUG, "", "an unknown kind of argument");
}

/* C++ gives a kernel another name; the backend has found it. */
static const char *symbol_of(const struct kw_artefact *code, const char *name)
{
	const json_t *kernels = code->facts ? json_object_get(code->facts, "kernels") : NULL;

	return kw_json_get_str(kernels ? json_object_get(kernels, name) : NULL, "symbol", name);
}

/* The pointers that a compiler adds behind the plan's arguments: to scratch memory, so much for each block. */
static enum kw_status bind_hidden(const struct kw_kernel_facts *f, struct gpu_kernel *to, struct gpu_load *l, struct kw_error *err)
{
	const int64_t each[KW_HIDDEN_ARGS_MAX] = { f->scratch_bytes, f->profile_bytes };
	uint64_t blocks = (uint64_t)to->grid[0] * to->grid[1] * to->grid[2];

	if (f->hidden_args < 0 || f->hidden_args > KW_HIDDEN_ARGS_MAX || to->arg_count + (uint32_t)f->hidden_args > GPU_ARGS_MAX)
		return kw_fail(err, KW_ERR_LIMIT, to->name, "more than %d arguments", GPU_ARGS_MAX);
	for (int i = 0; i < f->hidden_args; i++) {
		struct gpu_arg *a = &to->args[to->arg_count++];

		*a = (struct gpu_arg){ .kind = GPU_ARG_BYTES, .bytes = 8 };
		if (each[i] <= 0)
			continue;
		if ((uint64_t)each[i] > SCRATCH_MAX || blocks > SCRATCH_MAX / (uint64_t)each[i])
			return kw_fail(err, KW_ERR_LIMIT, to->name, "its blocks want more than %llu bytes of scratch memory",
				       (unsigned long long)SCRATCH_MAX);
		*a = (struct gpu_arg){ .kind = GPU_ARG_SCRATCH, .bytes = 8, .bits = l->scratch_bytes };
		l->scratch_bytes += ((uint64_t)each[i] * blocks + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
	}
	return KW_OK;
}

static enum kw_status bind_kernel(const struct gpu_layout *s, const struct kw_artefact *code,
				  const struct kw_bound_kernel *plan, struct gpu_kernel *to, struct gpu_load *l,
				  struct kw_error *err)
{
	const char *symbol = symbol_of(code, plan->name);
	struct kw_kernel_facts facts = { 0 };
	struct kw_bound_kernel actual, *from = &actual;

	if (code->facts)
		kw_kernel_facts_get(code->facts, plan->name, &facts);
	actual = kw_launch_actual(plan, &facts);
	if (from->arg_count > GPU_ARGS_MAX || strlen(symbol) >= sizeof(to->name))
		return kw_fail(err, KW_ERR_LIMIT, from->name, "more than %d arguments or a name over %d bytes", GPU_ARGS_MAX,
			       WIRE_NAME_MAX - 1);
	snprintf(to->name, sizeof(to->name), "%s", symbol);
	for (int i = 0; i < 3; i++) {
		to->grid[i] = (uint32_t)from->grid[i];
		to->block[i] = (uint32_t)from->block[i];
		to->cluster[i] = (uint32_t)from->cluster[i];
	}
	to->smem_bytes = (uint32_t)from->smem_bytes;
	to->cooperative = from->cooperative;
	to->pdl = from->pdl;
	to->code_offset = (uint64_t)facts.code_offset;
	to->arg_count = (uint32_t)from->arg_count;
	for (size_t i = 0; i < from->arg_count; i++) {
		enum kw_status st = bind_arg(s, &from->args[i], &to->args[i], err);

		if (st != KW_OK)
			return st;
	}
	return bind_hidden(&facts, to, l, err);
}

/* CUtensorMapDataType. */
static int map_type(enum kw_dtype d)
{
	switch (d) {
	case KW_U8:
	case KW_I8:
	case KW_BOOL:
	case KW_F8E4M3:
	case KW_F8E5M2:
		return 0;
	case KW_I16:
		return 1;
	case KW_I32:
		return 3;
	case KW_I64:
		return 5;
	case KW_F16:
		return 6;
	case KW_F32:
		return 7;
	case KW_F64:
		return 8;
	case KW_BF16:
		return 9;
	default:
		return -1;
	}
}

static enum kw_status bind_map(const struct gpu_layout *s, const struct kw_bound_map *from, struct gpu_tensor_map *to,
			       struct kw_error *err)
{
	int type = map_type(from->dtype);

	if (type < 0 || from->rank > GPU_RANK_MAX)
		return kw_fail(err, KW_ERR_INPUT, "", "a tensor map of type %s and rank %d", kw_dtype_name(from->dtype), from->rank);
	to->buffer = (uint32_t)from->index + (from->kind == KW_ARG_WORKSPACE ? (uint32_t)s->tensor_count : 0);
	to->rank = (uint32_t)from->rank;
	to->type = (uint32_t)type;
	to->swizzle = from->swizzle_bytes == 128 ? 3 : from->swizzle_bytes == 64 ? 2 : from->swizzle_bytes == 32;
	to->l2 = from->l2_bytes == 256 ? 3 : from->l2_bytes == 128 ? 2 : from->l2_bytes == 64;
	to->empty = from->empty;
	for (int i = 0; i < from->rank; i++) {
		int j = from->rank - 1 - i;

		to->dim[i] = (uint64_t)from->dim[j];
		to->stride_bytes[i] = (uint64_t)from->stride_bytes[j];
		to->box[i] = (uint32_t)from->box[j];
	}
	return KW_OK;
}

enum kw_status kw_gpu_load_make(const struct gpu_layout *s, const struct kw_artefact *code,
				const struct kw_bound_plan *plan, struct gpu_load *l, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	if (plan->kernel_count > GPU_KERNELS_MAX || plan->tensormap_count > GPU_MAPS_MAX)
		return kw_fail(err, KW_ERR_LIMIT, "", "a plan of %zu kernels and %zu tensor maps (at most %d and %d)",
			       plan->kernel_count, plan->tensormap_count, GPU_KERNELS_MAX, GPU_MAPS_MAX);
	l->op = GPU_LOAD;
	l->kernel_count = (uint32_t)plan->kernel_count;
	l->map_count = (uint32_t)plan->tensormap_count;
	for (size_t i = 0; i < plan->tensormap_count && st == KW_OK; i++)
		st = bind_map(s, &plan->tensormaps[i], &l->maps[i], err);
	for (size_t i = 0; i < plan->kernel_count && st == KW_OK; i++)
		st = bind_kernel(s, code, &plan->kernels[i], &l->kernels[i], l, err);
	return st;
}

/* triton_args.c - the arguments that every Triton kernel of ours begins with: tensors, params, dims, strides. */
#include "author/emit_internal.h"
#include "author/triton.h"

static void add_params(struct kw_au_emit *e, struct kw_au_args *a)
{
	for (size_t i = 0; i < e->g->task->param_count; i++) {
		const struct kw_param *p = &e->g->task->params[i];
		bool narrow = kw_dtype_is_float(p->dtype) && kw_dtype_bytes(p->dtype) < 4;

		if (e->param_used[i])
			kw_au_arg(e, a, narrow ? kw_au_printf(e, "%s:f32", p->name) : p->name, e->param_name[i]);
	}
	for (int i = 0; i < e->dim_count; i++)
		kw_au_arg(e, a, kw_au_printf(e, "%s:i64", kw_intexpr_text(e->dim[i]->shape[0].expr)), kw_au_printf(e, "dim%d", i));
}

void kw_au_triton_strides(struct kw_au_emit *e, struct kw_au_args *a)
{
	for (size_t i = 0; i < e->g->task->input_count; i++) {
		const struct kw_au_tensor *t = &e->g->tensors[i];

		for (int k = 0; k < KW_MAX_RANK; k++)
			if (t->strides >> k & 1)
				kw_au_arg(e, a, kw_au_printf(e, "%s.stride%d:i64", t->name, k), kw_au_printf(e, "%s_stride%d", t->c_name, k));
	}
}

void kw_au_triton_args(struct kw_au_emit *e, struct kw_au_args *a)
{
	const struct kw_au_graph *g = e->g;

	for (size_t i = 0; i < g->tensor_count; i++)
		if (g->tensors[i].used && !g->tensors[i].given)
			kw_au_arg(e, a, g->tensors[i].name, g->tensors[i].c_name);
	add_params(e, a);
}

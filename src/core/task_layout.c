/* How the inputs of a task lie in memory: what the declarations say, and what a case asks for. */
#include <string.h>

#include "core/task_internal.h"

bool kw_tensor_any_strides(const struct kw_tensor_decl *d)
{
	return d->has_strides || d->contiguous == KW_CONTIGUOUS_NEVER_SURE;
}

static int dims_needed(enum kw_layout_kind l)
{
	return l == KW_LAYOUT_SLICED || l == KW_LAYOUT_TRANSPOSED ? 2 : l == KW_LAYOUT_STEP || l == KW_LAYOUT_EXPANDED ? 1 : 0;
}

bool kw_layout_fits(const struct kw_tensor_decl *d, enum kw_layout_kind l)
{
	if (l == KW_LAYOUT_CONTIGUOUS)
		return true;
	if (l == KW_LAYOUT_UNALIGNED)
		return !d->align_bytes;
	return !d->has_strides && !d->inout && d->contiguous != KW_CONTIGUOUS_ALWAYS && d->rank >= dims_needed(l);
}

/* The stride of one dim, and whether it steps over what the smaller ones span. */
static enum kw_status check_step(const struct kw_tensor_decl *d, int i, int64_t stride, int64_t span, struct kw_error *err)
{
	if (stride < 0)
		return kw_fail(err, KW_ERR_INPUT, "", "the stride '%s' of '%s' is %lld, which is negative",
			       kw_intexpr_text(d->stride[i]), d->name, (long long)stride);
	if (stride < span)
		return kw_fail(err, KW_ERR_INPUT, "", "the stride '%s' of '%s' is %lld, but what lies within takes %lld elements: they "
			       "would lie over each other", kw_intexpr_text(d->stride[i]), d->name, (long long)stride,
			       (long long)span);
	return KW_OK;
}

enum kw_status kw_tensor_strides(const struct kw_tensor_decl *d, const struct kw_intenv *env, const struct kw_shape *shape,
				 int64_t stride[KW_MAX_RANK], struct kw_error *err)
{
	bool seen[KW_MAX_RANK] = { false };
	int64_t span = 1, more; /* elements from the first to the last of the dims looked at so far */
	enum kw_status s = KW_OK;

	for (int i = 0; i < d->rank && s == KW_OK; i++) {
		s = kw_intexpr_eval(d->stride[i], env, &stride[i], err);
		if (s != KW_OK)
			kw_error_while(err, "computing the strides of '%s'", d->name);
		else
			s = check_step(d, i, stride[i], 0, err);
		seen[i] = shape->dim[i] <= 1 || stride[i] == 0; /* never stepped, or repeated on purpose */
	}
	for (int round = 0; round < d->rank && s == KW_OK && kw_shape_count(shape) > 0; round++) {
		int least = -1;

		for (int i = 0; i < d->rank; i++)
			if (!seen[i] && (least < 0 || stride[i] < stride[least]))
				least = i;
		if (least < 0)
			break;
		seen[least] = true;
		s = check_step(d, least, stride[least], span, err);
		if (s == KW_OK && (__builtin_mul_overflow(stride[least], shape->dim[least] - 1, &more) ||
				   __builtin_add_overflow(span, more, &span)))
			s = kw_fail(err, KW_ERR_INPUT, "", "'%s' with these strides has more elements than 64 bits can address",
				    d->name);
	}
	return s;
}

/* Why kw_layout_fits says no. */
static enum kw_status refuse(const struct kw_yaml *n, const struct kw_tensor_decl *d, enum kw_layout_kind l, struct kw_error *err)
{
	if (l == KW_LAYOUT_UNALIGNED)
		return kw_yaml_fail(n, err, "'%s' says 'align: %lld', so no case can have it unaligned", d->name,
				    (long long)d->align_bytes);
	if (d->inout)
		return kw_yaml_fail(n, err, "'%s' is updated in place, so it is contiguous: no case can have it %s", d->name,
				    kw_layout_name(l));
	if (d->has_strides)
		return kw_yaml_fail(n, err, "'%s' has 'strides', so no case can have it %s", d->name, kw_layout_name(l));
	if (d->contiguous == KW_CONTIGUOUS_ALWAYS)
		return kw_yaml_fail(n, err, "'%s' says 'contiguous: true', so no case can have it %s", d->name, kw_layout_name(l));
	return kw_yaml_fail(n, err, "'%s' has too few dimensions to be %s", d->name, kw_layout_name(l));
}

enum kw_status kw_task_read_layout(const struct kw_task_reader *r, const struct kw_yaml *map, struct kw_case *c)
{
	const char *names[KW_LAYOUT_COUNT], *inputs[KW_TASK_MAX_TENSORS];
	const struct kw_task *t = r->task;
	int which, layout;
	enum kw_status s;

	if (map->kind != KW_YAML_MAP)
		return kw_yaml_fail(map, r->err, "'layout' must be a map, like { x: sliced }");
	for (int i = 0; i < KW_LAYOUT_COUNT; i++)
		names[i] = kw_layout_name((enum kw_layout_kind)i);
	for (size_t i = 0; i < t->input_count; i++)
		inputs[i] = t->inputs[i].name;
	for (const struct kw_yaml *n = map->first; n; n = n->next) {
		struct kw_yaml key = { .kind = KW_YAML_SCALAR, .file = n->file, .text = n->key,
				       .line = n->key_line, .column = n->key_column };

		s = kw_task_read_word(&key, "an input", inputs, t->input_count, &which, r->err);
		if (s == KW_OK)
			s = kw_task_read_word(n, "a layout", names, KW_LAYOUT_COUNT, &layout, r->err);
		if (s != KW_OK)
			return s;
		if (!kw_layout_fits(&t->inputs[which], (enum kw_layout_kind)layout))
			return refuse(n, &t->inputs[which], (enum kw_layout_kind)layout, r->err);
		c->layouts[which] = (enum kw_layout_kind)layout;
	}
	return KW_OK;
}

void kw_task_vary_layouts(const struct kw_task *t, size_t number, struct kw_case *c)
{
	static const enum kw_layout_kind turns[] = { KW_LAYOUT_SLICED, KW_LAYOUT_STEP, KW_LAYOUT_TRANSPOSED, KW_LAYOUT_CONTIGUOUS };
	const size_t count = sizeof(turns) / sizeof(turns[0]);

	for (size_t i = 0; i < t->input_count; i++) {
		size_t at = number + i;

		if (t->inputs[i].contiguous != KW_CONTIGUOUS_NEVER_SURE)
			continue;
		while (!kw_layout_fits(&t->inputs[i], turns[at % count]))
			at++;
		c->layouts[i] = turns[at % count];
	}
}

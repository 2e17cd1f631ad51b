#include "core/reference.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

/* Another reference is another task. */
static enum kw_status hash_both(struct kw_task *t, struct kw_error *err)
{
	struct kw_hasher h;

	if (kw_hasher_init(&h) != 0)
		return kw_fail(err, KW_ERR_NOMEM, t->file, "out of memory");
	kw_hasher_addz(&h, "task", t->text);
	kw_hasher_add(&h, "reference", t->reference_source, t->reference_len);
	kw_hasher_final(&h, t->sha256);
	return KW_OK;
}

enum kw_status kw_reference_load(struct kw_task *t, struct kw_error *err)
{
	const char *path = t->torch_form > KW_TORCH_LINE ? t->reference_torch : t->expr ? NULL : t->reference_c;
	struct kw_buf text;
	enum kw_status s;

	if (!path)
		return KW_OK;
	kw_buf_init(&text, KW_CANDIDATE_MAX_BYTES + 1);
	s = kw_file_read(path, KW_CANDIDATE_MAX_BYTES, &text, err);
	if (s == KW_OK && !(t->reference_source = kw_arena_strndup(&t->arena, text.len ? text.ptr : "", text.len)))
		s = kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
	if (s == KW_ERR_NOT_FOUND && err)
		err->status = s = KW_ERR_INPUT; /* the task is there, but not right */
	if (s != KW_OK)
		kw_error_while(err, "reading the reference of the task '%s'", t->name);
	t->reference_len = text.len;
	if (s == KW_OK)
		s = hash_both(t, err);
	kw_buf_release(&text);
	return s;
}

/* Where the text begins that is behind the last #include, and its line. */
static size_t behind_includes(const char *text, size_t len, int *line)
{
	struct kw_str rest = { text, len }, one;
	size_t end = 0;
	int number = 0;

	*line = 1;
	while (kw_str_split(&rest, '\n', &one)) {
		struct kw_str word = kw_str_trim(one);

		number++;
		if (!kw_str_starts(word, "#"))
			continue;
		word = kw_str_trim((struct kw_str){ word.ptr + 1, word.len - 1 });
		if (!kw_str_starts(word, "include") || !rest.ptr)
			continue;
		end = (size_t)(rest.ptr - text);
		*line = number + 1;
	}
	return end;
}

/* exp(x) of a float is expf(x) with tgmath.h; what that header calls I is a variable of many a loop. */
static bool write_f32(const struct kw_task *t, struct kw_buf *out)
{
	int line;
	size_t at = behind_includes(t->reference_source, t->reference_len, &line);

	kw_buf_add(out, t->reference_source, at);
	kw_buf_printf(out, "#include <tgmath.h>\n#undef I\n#define double float\n#line %d\n", line);
	kw_buf_add(out, t->reference_source + at, t->reference_len - at);
	return !out->full;
}

static void set_dtypes(struct kw_tensor_decl *d, size_t count, enum kw_dtype to)
{
	for (size_t i = 0; i < count; i++) {
		d[i].dtype = kw_dtype_is_float(d[i].dtype) ? to : d[i].dtype;
		d[i].has_strides = d[i].inout = false;
		d[i].align_bytes = 0;
		d[i].contiguous = KW_CONTIGUOUS_ALWAYS;
	}
}

static enum kw_status make_task(const struct kw_task *t, enum kw_dtype d, struct kw_arena *a, struct kw_task *out,
				struct kw_error *err)
{
	*out = *t;
	out->inputs = kw_arena_copy(a, t->inputs, t->input_count * sizeof(*t->inputs));
	out->outputs = kw_arena_copy(a, t->outputs, t->output_count * sizeof(*t->outputs));
	out->params = kw_arena_copy(a, t->params, t->param_count * sizeof(*t->params));
	if (!out->inputs || !out->outputs || (t->param_count && !out->params))
		return kw_fail(err, KW_ERR_NOMEM, t->file, "out of memory");
	set_dtypes(out->inputs, out->input_count, d);
	set_dtypes(out->outputs, out->output_count, d);
	for (size_t i = 0; i < out->param_count; i++)
		if (kw_dtype_is_float(out->params[i].dtype))
			out->params[i].dtype = d;
	return KW_OK;
}

enum kw_status kw_reference_read(const struct kw_task *t, struct kw_arena *a, struct kw_reference *out, struct kw_error *err)
{
	static const enum kw_dtype dtypes[] = { KW_F64, KW_F32 };
	enum kw_status s = KW_OK;

	memset(out, 0, sizeof(*out));
	for (int f = 0; f < KW_REFERENCE_FORMS && s == KW_OK; f++) {
		struct kw_buf text;

		kw_buf_init(&text, KW_CANDIDATE_MAX_BYTES + (1 << 10));
		if (f == KW_REFERENCE_F64)
			kw_buf_add(&text, t->reference_source, t->reference_len);
		else
			write_f32(t, &text);
		s = text.full ? kw_fail(err, KW_ERR_NOMEM, t->reference_c, "out of memory") :
				make_task(t, dtypes[f], a, &out->task[f], err);
		if (s == KW_OK)
			s = kw_candidate_from_text(&out->candidate[f], t->reference_c, "c", text.len ? text.ptr : "", text.len,
						   &out->task[f], a, err);
		kw_buf_release(&text);
	}
	return s;
}

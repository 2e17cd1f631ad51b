/* Tasks whose PyTorch says what the task does not: inputs and outputs of a problem's file or of something that can be called, and the
 * outputs of a line. It comes as YAML, is put behind what the user wrote, and the whole is read as any task. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "ops/described.h"
#include "ops/internal.h"
#include "python/python.h"

enum { DESCRIBE_TIMEOUT_MS = 300000, TEXT_MAX_BYTES = 1 << 20, EXPR_MAX_BYTES = 64 << 20, TRIES = 3, SHAPE_TEXT = 96, NOTE_BYTES = 400 };
#define MEMORY_SHARE_OF_TORCH 0.7

static bool ends_in(struct kw_str word, const char *ending)
{
	size_t n = strlen(ending);

	return word.len > n && memcmp(word.ptr + word.len - n, ending, n) == 0;
}

/* "dir/module.py:name@inputs.pt" */
struct word {
	struct kw_str path, callable, args;
};

static struct word cut(const char *word)
{
	struct word w = { .path = kw_str_from(word) };
	const char *at = strrchr(word, '@'), *colon = strstr(word, ".py:");

	if (colon && at && at > colon) {
		w.path.len = (size_t)(colon + 3 - word);
		w.callable = (struct kw_str){ colon + 4, (size_t)(at - colon - 4) };
		w.args = kw_str_from(at + 1);
	}
	return w;
}

bool kw_op_is_torch_word(const char *word)
{
	return ends_in(cut(word).path, ".py");
}

/* letters, digits and _ of a file's name */
static void name_for(struct kw_str from, struct kw_buf *out)
{
	const char *slash = memrchr(from.ptr, '/', from.len);
	size_t skip = slash ? (size_t)(slash + 1 - from.ptr) : 0;

	from = (struct kw_str){ from.ptr + skip, from.len - skip };
	if (ends_in(from, ".py"))
		from.len -= 3;
	for (size_t i = 0; i < from.len && i < 60; i++)
		kw_buf_addc(out, strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", from.ptr[i]) ? from.ptr[i] : '_');
	if (!from.len)
		kw_buf_addc(out, '_');
}

/* In quotes, as YAML wants it. */
static void quoted(struct kw_str s, struct kw_buf *out)
{
	kw_buf_addc(out, '\'');
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '\'')
			kw_buf_addc(out, '\'');
		kw_buf_addc(out, s.ptr[i]);
	}
	kw_buf_addc(out, '\'');
}

static enum kw_status must_exist(struct kw_str path, struct kw_arena *a, struct kw_error *err)
{
	const char *z = kw_arena_str(a, path);

	if (z && kw_path_exists(z))
		return KW_OK;
	return kw_fail(err, KW_ERR_NOT_FOUND, z ? z : "", "no such file");
}

/* A task that says only where its reference is. Paths in it are relative to the file. */
enum kw_status kw_op_torch_stub(const char *word, struct kw_buf *out, struct kw_arena *a, const char **file, struct kw_error *err)
{
	struct word w = cut(word);
	const char *slash = memrchr(w.path.ptr, '/', w.path.len);
	size_t skip = slash ? (size_t)(slash + 1 - w.path.ptr) : 0;
	char full[PATH_MAX];
	enum kw_status s = must_exist(w.path, a, err);

	if (s == KW_OK && w.args.len)
		s = must_exist(w.args, a, err);
	if (s != KW_OK)
		return s;
	kw_buf_addz(out, "name: ");
	name_for(w.callable.len ? w.callable : w.path, out);
	kw_buf_addz(out, "\nreference:\n  file: ");
	quoted((struct kw_str){ w.path.ptr + skip, w.path.len - skip }, out);
	if (w.args.len) {
		kw_buf_addz(out, "\n  callable: ");
		quoted(w.callable, out);
		kw_buf_addz(out, "\n  args: ");
		quoted(kw_str_from(realpath(w.args.ptr, full) ? full : w.args.ptr), out);
	}
	kw_buf_addz(out, "\n");
	*file = kw_arena_str(a, w.path);
	return out->full || !*file ? kw_fail(err, KW_ERR_NOMEM, word, "out of memory") : KW_OK;
}

/* ---- asking ---- */

/* The answer of python/reference.py to one request; what it cannot use is an error of the task's author. */
enum kw_status kw_op_torch_ask(struct kw_python *p, const struct kw_task *t, json_t *request, int timeout_ms, struct kw_python_answer *a,
			       struct kw_error *err)
{
	char where[KW_TASK_PLACE_MAX];
	enum kw_status s = kw_python_ask(p, request, NULL, 0, kw_python_patience_ms(timeout_ms), a, err);

	if (s != KW_OK || a->end == KW_PYTHON_ANSWERED)
		return s;
	kw_task_torch_place(t, where);
	if (a->missing[0])
		return kw_fail(err, KW_ERR_INPUT, where, "it needs the Python package '%.100s', which %s does not have", a->missing,
			       kw_python_of(p)->path);
	if (strcmp(a->type, "Trouble") == 0)
		return kw_fail(err, KW_ERR_INPUT, where, "it cannot be used: %.900s", a->text + strlen("Trouble: "));
	return kw_fail(err, KW_ERR_INPUT, where, "%s%.900s", a->end == KW_PYTHON_RAISED ? "it raises " : "it ", a->text);
}

static enum kw_status ask(struct kw_python *p, const struct kw_task *t, json_t *request, struct kw_python_answer *a, struct kw_error *err)
{
	return kw_op_torch_ask(p, t, request, DESCRIBE_TIMEOUT_MS, a, err);
}

static enum kw_status start(struct kw_python **p, struct kw_error *err)
{
	struct kw_python_opts o = { .file = "reference", .wants = KW_PYTHON_TORCH,
				    .memory_bytes = (int64_t)(MEMORY_SHARE_OF_TORCH * (double)kw_memory_available()) };

	return kw_python_borrow(&o, p, err);
}

/* One that did not do what it was asked is not asked again. */
static void finish_with(struct kw_python *p, enum kw_status how)
{
	if (how == KW_OK)
		kw_python_give_back(p);
	else
		kw_python_stop(p);
}

static json_t *request_for(const struct kw_task *t, const char *what)
{
	static const char *const forms[] = { "", "line", "problem", "callable" };
	bool line = t->torch_form == KW_TORCH_LINE;
	char path[PATH_MAX], args[PATH_MAX];

	return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s?, s:s?}", "do", what, "form", forms[t->torch_form], "mode",
			 t->torch_eval ? "eval" : "train", "text", line ? t->reference_torch : NULL, "path",
			 line ? NULL : realpath(t->reference_torch, path) ? path : t->reference_torch, "callable", t->torch_callable,
			 "args", t->torch_args && realpath(t->torch_args, args) ? args : t->torch_args);
}

/* Statements assign the outputs by their names. */
static json_t *load_request(const struct kw_task *t)
{
	json_t *request = request_for(t, "load"), *outputs = json_array();

	for (size_t i = 0; i < t->output_count; i++)
		json_array_append_new(outputs, json_pack("{s:s}", "name", t->outputs[i].name));
	json_object_set_new(request, "outputs", outputs);
	return request;
}

enum kw_status kw_op_torch_loaded(const struct kw_task *t, struct kw_python **out, struct kw_error *err)
{
	struct kw_python_answer answer = { 0 };
	enum kw_status s;

	*out = NULL;
	s = start(out, err);
	if (s == KW_OK)
		s = ask(*out, t, load_request(t), &answer, err);
	kw_python_answer_release(&answer);
	return s;
}

/* ---- putting texts together ---- */

/* "inputs:\n  x: ..." up to the next line that is not indented: a key of a task and what belongs to it. */
static bool next_block(struct kw_str *rest, struct kw_str *key, struct kw_str *block)
{
	while (rest->len) {
		const char *end = memchr(rest->ptr, '\n', rest->len);
		size_t n = end ? (size_t)(end + 1 - rest->ptr) : rest->len;
		const char *colon = memchr(rest->ptr, ':', n);

		if (rest->ptr[0] == '#' || rest->ptr[0] == '\n' || !colon) {
			rest->ptr += n;
			rest->len -= n;
			continue;
		}
		*key = (struct kw_str){ rest->ptr, (size_t)(colon - rest->ptr) };
		while (n < rest->len && (rest->ptr[n] == ' ' || rest->ptr[n] == '#')) {
			end = memchr(rest->ptr + n, '\n', rest->len - n);
			n = end ? (size_t)(end + 1 - rest->ptr) : rest->len;
		}
		*block = (struct kw_str){ rest->ptr, n };
		rest->ptr += n;
		rest->len -= n;
		return true;
	}
	return false;
}

static bool says(const char *text, struct kw_str wanted, struct kw_str *block)
{
	struct kw_str rest = kw_str_from(text), key;

	while (next_block(&rest, &key, block))
		if (key.len == wanted.len && memcmp(key.ptr, wanted.ptr, key.len) == 0)
			return true;
	return false;
}

/* Where the reference is, as the user said, and the expression that came with the description: both are kept, if it can be read. */
static void write_reference(const struct kw_task *t, const char *described, bool with_expr, struct kw_buf *out)
{
	const char *slash = strrchr(t->file, '/');
	size_t folder = slash ? (size_t)(slash + 1 - t->file) : 0;
	const char *path = strncmp(t->reference_torch, t->file, folder) == 0 ? t->reference_torch + folder : t->reference_torch;
	struct kw_str block;
	const char *expr;

	kw_buf_addz(out, "reference:\n  file: ");
	quoted(kw_str_from(path), out);
	if (t->torch_callable) {
		kw_buf_addz(out, "\n  callable: ");
		quoted(kw_str_from(t->torch_callable), out);
		kw_buf_addz(out, "\n  args: ");
		quoted(kw_str_from(strncmp(t->torch_args, t->file, folder) == 0 ? t->torch_args + folder : t->torch_args), out);
	}
	kw_buf_addz(out, t->torch_eval ? "\n  mode: eval\n" : "\n");
	expr = with_expr && says(described, KW_STR("reference"), &block) ? memmem(block.ptr, block.len, "\n  expr: |\n", 11) : NULL;
	if (expr) /* the last key there */
		kw_buf_add(out, expr + 1, (size_t)(block.ptr + block.len - expr - 1));
}

/* What the user says, and of the description what the user does not. */
static void add_blocks(const struct kw_task *t, const char *described, bool with_expr, struct kw_buf *out)
{
	struct kw_str rest = kw_str_from(t->text), key, block, ignored;

	while (next_block(&rest, &key, &block))
		if (!kw_str_eqz(key, "reference")) {
			kw_buf_add(out, block.ptr, block.len);
			if (block.ptr[block.len - 1] != '\n')
				kw_buf_addc(out, '\n');
		}
	rest = kw_str_from(described);
	while (next_block(&rest, &key, &block))
		if (!says(t->text, key, &ignored))
			kw_buf_add(out, block.ptr, block.len);
	write_reference(t, described, with_expr, out);
}

bool kw_op_torch_can_be_read(const char *file, const char *text, size_t len, struct kw_error *why)
{
	struct kw_task t;
	struct kw_expr *e;
	struct kw_arena a;
	enum kw_status s = kw_task_parse_yaml(&t, file, text, len, why);

	if (s == KW_OK) {
		kw_arena_init(&a, EXPR_MAX_BYTES);
		s = kw_expr_complete_task(&t, why);
		if (s == KW_OK)
			s = kw_expr_parse(&t, &a, &e, why);
		kw_arena_release(&a);
		kw_task_release(&t);
	}
	why->text[strcspn(why->text, "\n")] = '\0'; /* without the line that it points at */
	return s == KW_OK;
}

enum kw_status kw_op_torch_drop_expr(const char *text, const char *path, bool eval, const struct kw_error *why, struct kw_buf *out,
				     struct kw_error *err)
{
	struct kw_str rest = kw_str_from(text), key, block;

	kw_buf_printf(out, "# no expression: what was made of the graph cannot be read: %.300s\n", why->text);
	while (next_block(&rest, &key, &block)) {
		if (!kw_str_eqz(key, "reference")) {
			kw_buf_add(out, block.ptr, block.len);
			continue;
		}
		kw_buf_addz(out, "reference:\n  file: ");
		quoted(kw_str_from(path), out);
		kw_buf_addz(out, eval ? "\n  mode: eval\n" : "\n");
	}
	return out->full ? kw_fail(err, KW_ERR_LIMIT, path, "the task is too long") : KW_OK;
}

static enum kw_status read_again(struct kw_op_task *t, const struct kw_buf *text, struct kw_error *err)
{
	struct kw_arena a;
	const char *file;
	enum kw_status s;

	kw_arena_init(&a, TEXT_MAX_BYTES);
	file = kw_arena_strdup(&a, t->task.file);
	kw_task_release(&t->task);
	s = text->full || !file ? kw_fail(err, KW_ERR_LIMIT, file ? file : "", "the task is too long") :
				  kw_task_parse_yaml(&t->task, file, text->ptr, text->len, err);
	kw_arena_release(&a);
	return s;
}

/* ---- outputs of a line ---- */

static json_t *shapes_request(const struct kw_task *t, const struct kw_case *c, struct kw_arena *a, struct kw_error *err)
{
	json_t *inputs = json_array(), *params = json_array(), *dims = json_object(), *request;
	struct kw_intenv env;
	bool good = kw_case_env(t, c, a, &env, err) == KW_OK;

	for (size_t i = 0; good && i < t->input_count; i++) {
		struct kw_shape shape = { 0 };
		json_t *sizes = json_array();

		good = kw_tensor_shape(&t->inputs[i], &env, &shape, err) == KW_OK;
		for (int k = 0; k < shape.rank; k++)
			json_array_append_new(sizes, json_integer(shape.dim[k]));
		json_array_append_new(inputs, json_pack("{s:s, s:s, s:o}", "name", t->inputs[i].name, "dtype",
							kw_dtype_name(t->inputs[i].dtype), "shape", sizes));
	}
	for (size_t i = 0; i < t->param_count; i++)
		json_array_append_new(params, json_pack("{s:s, s:s, s:f}", "name", t->params[i].name, "dtype",
							kw_dtype_name(t->params[i].dtype), "value", t->params[i].value));
	for (size_t i = 0; i < t->dim_count; i++)
		json_object_set_new(dims, t->dims[i].name, json_integer(c->dims[i]));
	request = json_pack("{s:s, s:o, s:o, s:o}", "do", "shapes", "inputs", inputs, "params", params, "dims", dims);
	if (good)
		return request;
	json_decref(request);
	return NULL;
}

/* Sizes that are nobody else's, so that an output's tell which dims they come from. */
static void choose_dims(const struct kw_task *t, int attempt, int64_t *dims)
{
	static const int64_t primes[] = { 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103 };
	const size_t count = sizeof(primes) / sizeof(primes[0]);

	for (size_t i = 0; i < t->dim_count; i++) {
		const struct kw_dim *d = &t->dims[i];
		int64_t v = primes[(i + (size_t)attempt * 5) % count] * d->multiple;

		dims[i] = attempt == 0 ? t->cases[0].dims[i] : v > d->max ? d->max / d->multiple * d->multiple : v < d->min ? d->min : v;
	}
}

struct probe {
	int64_t dims[TRIES][32];
	json_t *outputs[TRIES];
	int tries;
};

static int64_t size_at(const struct probe *p, int attempt, size_t output, size_t axis)
{
	return json_integer_value(json_array_get(json_object_get(json_array_get(p->outputs[attempt], output), "shape"), axis));
}

static bool always(const struct probe *p, size_t output, size_t axis, const int64_t *want)
{
	for (int i = 0; i < p->tries; i++)
		if (size_at(p, i, output, axis) != want[i])
			return false;
	return true;
}

/* A size as an expression of dims: a number, a dim, one with something added, or the product of two. */
static bool explain_size(const struct kw_task *t, const struct probe *p, size_t output, size_t axis, char out[SHAPE_TEXT])
{
	int64_t want[TRIES], first = size_at(p, 0, output, axis);

	for (int i = 0; i < p->tries; i++)
		want[i] = first;
	snprintf(out, SHAPE_TEXT, "%lld", (long long)first);
	if (p->tries > 1 && always(p, output, axis, want))
		return true;
	for (size_t d = 0; d < t->dim_count; d++) {
		for (int i = 0; i < p->tries; i++)
			want[i] = p->dims[i][d];
		snprintf(out, SHAPE_TEXT, "%s", t->dims[d].name);
		if (always(p, output, axis, want))
			return true;
	}
	for (size_t d = 0; d < t->dim_count; d++) {
		int64_t more = first - p->dims[0][d];

		for (int i = 0; i < p->tries; i++)
			want[i] = p->dims[i][d] + more;
		snprintf(out, SHAPE_TEXT, "%s %c %lld", t->dims[d].name, more < 0 ? '-' : '+', (long long)llabs(more));
		if (p->tries > 1 && always(p, output, axis, want))
			return true;
		for (size_t e = d; e < t->dim_count; e++) {
			for (int i = 0; i < p->tries; i++)
				want[i] = p->dims[i][d] * p->dims[i][e];
			snprintf(out, SHAPE_TEXT, "%s * %s", t->dims[d].name, t->dims[e].name);
			if (always(p, output, axis, want))
				return true;
		}
	}
	snprintf(out, SHAPE_TEXT, "%lld", (long long)first);
	return p->tries == 1; /* dims that never change: a number is all there is */
}

static bool all_fixed(const struct kw_task *t)
{
	for (size_t i = 0; i < t->dim_count; i++)
		if (t->dims[i].min != t->dims[i].max)
			return false;
	return true;
}

static enum kw_status write_outputs(const struct kw_task *t, const struct probe *p, struct kw_buf *out, struct kw_error *err)
{
	size_t n = json_array_size(p->outputs[0]);

	kw_buf_addz(out, "outputs:\n");
	for (size_t i = 0; i < n; i++) {
		const json_t *o = json_array_get(p->outputs[0], i);
		char name[80];

		if (n == 1)
			snprintf(name, sizeof(name), "y");
		else
			snprintf(name, sizeof(name), "y%zu", i);
		while (kw_task_has_name(t, name) && strlen(name) < 60)
			strncat(name, "_", sizeof(name) - strlen(name) - 1);
		kw_buf_printf(out, "  %s: { dtype: %s, shape: [", name, kw_json_get_str(o, "dtype", "f32"));
		for (size_t k = 0; k < json_array_size(json_object_get(o, "shape")); k++) {
			char size[SHAPE_TEXT];

			if (!explain_size(t, p, i, k, size))
				return kw_fail(err, KW_ERR_INPUT, t->file, "the size %lld of output %zu is no simple expression of the dims: say "
					       "it in 'outputs'", (long long)size_at(p, 0, i, k), i + 1);
			kw_buf_printf(out, "%s%s", k ? ", " : "", size);
		}
		kw_buf_addz(out, "] }\n");
	}
	return KW_OK;
}

/* The sizes under a few choices of dims; a choice that the line cannot be computed with tells nothing. */
static enum kw_status probe_line(struct kw_python *python, const struct kw_task *t, struct probe *p, struct kw_arena *a, struct kw_error *err)
{
	enum kw_status s = KW_OK;

	for (int attempt = 0; attempt < (all_fixed(t) ? 1 : TRIES) && s == KW_OK; attempt++) {
		struct kw_python_answer answer = { 0 };
		struct kw_case c;
		struct kw_error ignored;
		json_t *request = NULL;

		choose_dims(t, attempt, p->dims[p->tries]);
		kw_error_reset(&ignored);
		if (kw_case_make(t, p->dims[p->tries], NULL, false, a, &c, &ignored) == KW_OK)
			request = shapes_request(t, &c, a, &ignored);
		if (!request)
			continue;
		s = ask(python, t, request, &answer, attempt ? &ignored : err);
		if (s == KW_OK)
			p->outputs[p->tries++] = json_incref(json_object_get(answer.json, "outputs"));
		else if (attempt && s == KW_ERR_INPUT && answer.end == KW_PYTHON_RAISED)
			s = KW_OK;
		else if (attempt && err)
			*err = ignored;
		kw_python_answer_release(&answer);
	}
	if (s == KW_OK && (p->tries == 0 || (p->tries == 1 && !all_fixed(t))))
		s = kw_fail(err, KW_ERR_INPUT, t->file, "key 'outputs' is missing, and other sizes than those of the first case do not work: "
			    "say the outputs");
	return s;
}

static enum kw_status line_outputs(struct kw_op_task *t, struct kw_python *python, struct kw_buf *text, struct kw_error *err)
{
	struct kw_python_answer answer = { 0 };
	struct probe p = { .tries = 0 };
	struct kw_arena a;
	enum kw_status s = t->task.case_count ? KW_OK : kw_fail(err, KW_ERR_INPUT, t->task.file, "the task has no case to take sizes from");

	kw_arena_init(&a, 16 << 20);
	if (s == KW_OK)
		s = ask(python, &t->task, load_request(&t->task), &answer, err);
	kw_python_answer_release(&answer);
	if (s == KW_OK)
		s = probe_line(python, &t->task, &p, &a, err);
	kw_buf_addz(text, t->task.text);
	kw_buf_addc(text, '\n');
	if (s == KW_OK)
		s = write_outputs(&t->task, &p, text, err);
	for (int i = 0; i < p.tries; i++)
		json_decref(p.outputs[i]);
	kw_arena_release(&a);
	return s;
}

/* ---- a file that describes itself ---- */

static enum kw_status ask_about(const struct kw_op_task *t, const char *key, char **out, struct kw_error *err)
{
	struct kw_python_answer answer = { 0 };
	struct kw_python *python = NULL;
	enum kw_status s = start(&python, err);

	if (s == KW_OK)
		s = ask(python, &t->task, request_for(&t->task, "describe"), &answer, err);
	finish_with(python, s);
	if (s == KW_OK && !(*out = kw_strdup(kw_json_get_str(answer.json, "text", ""))))
		s = kw_fail(err, KW_ERR_NOMEM, t->task.file, "out of memory");
	if (s == KW_OK && json_is_true(json_object_get(answer.json, "lasting")))
		kw_op_keep(key, *out);
	kw_python_answer_release(&answer);
	return s;
}

/* What Python says of it, or has said in this program or in an earlier one; the caller's to free. */
static enum kw_status describe(const struct kw_op_task *t, char **out, struct kw_error *err)
{
	char key[KW_SHA256_HEX];
	bool told = kw_op_kept_key(&t->task, key);
	enum kw_status s = KW_OK;

	*out = NULL;
	if (told && kw_described_begin(key, out))
		return KW_OK;
	if (!(*out = kw_op_kept_get(key)))
		s = ask_about(t, key, out, err);
	if (told)
		kw_described_end(key, s == KW_OK ? *out : NULL);
	return s;
}

/* An expression that cannot be read is no fault of the file's author: PyTorch is the reference then. note: "" or that sentence. */
static enum kw_status described(struct kw_op_task *t, struct kw_buf *text, char note[NOTE_BYTES], struct kw_error *err)
{
	struct kw_error why;
	char *got = NULL;
	enum kw_status s = describe(t, &got, err);

	kw_error_reset(&why);
	if (s == KW_OK) {
		add_blocks(&t->task, got, true, text);
		if (text->full)
			kw_fail(&why, KW_ERR_LIMIT, "", "it has more than %d bytes", TEXT_MAX_BYTES);
		if (text->full || !kw_op_torch_can_be_read(t->task.file, text->ptr, text->len, &why)) {
			kw_buf_reset(text);
			add_blocks(&t->task, got, false, text);
			snprintf(note, NOTE_BYTES, "the expression made of its graph is not used, as it cannot be read: %.300s", why.text);
		}
	}
	kw_free(got);
	return s;
}

enum kw_status kw_op_torch_complete(struct kw_op_task *t, struct kw_error *err)
{
	bool outputs = t->task.torch_form == KW_TORCH_LINE && !t->task.expr && t->task.output_count == 0;
	struct kw_python *python = NULL;
	char note[NOTE_BYTES] = "";
	struct kw_buf text;
	enum kw_status s;

	if (!t->task.undescribed && !outputs)
		return KW_OK;
	kw_buf_init(&text, TEXT_MAX_BYTES);
	if (outputs) {
		s = start(&python, err);
		if (s == KW_OK)
			s = line_outputs(t, python, &text, err);
		finish_with(python, s);
	} else {
		s = described(t, &text, note, err);
	}
	if (s == KW_OK)
		s = read_again(t, &text, err);
	if (s == KW_OK && t->task.undescribed)
		s = kw_fail(err, KW_ERR_INPUT, t->task.file, "it gives no inputs");
	if (s == KW_OK && note[0] && !t->task.expr)
		t->task.reference_note = kw_arena_strdup(&t->task.arena, note);
	kw_buf_release(&text);
	return s;
}

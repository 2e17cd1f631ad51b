/* An expression on given numbers.
 *
 *     test_expr_given TASK.yaml INPUTS OUTPUTS
 *
 * reads the inputs of the first case as f64, one behind the other, and writes the outputs so: for whoever compares them with
 * another program (tests/pytorch). Without arguments it tests itself. */
#include "base/alloc.h"
#include "base/file.h"
#include "expr/expr.h"
#include "tap.h"
#include "temp.h"

enum { MAX_BYTES = 1 << 30 };

struct given {
	struct kw_task task;
	struct kw_arena arena;
	struct kw_expr *e;
	struct kw_bound *b;
	struct kw_view *views;
	struct kw_eval *ev;
};

static enum kw_status take_inputs(struct given *g, const double *from, size_t count, struct kw_error *err)
{
	for (size_t i = 0; i < g->task.input_count; i++) {
		struct kw_view *v = &g->views[i];
		size_t n;

		v->dtype = (int)g->task.inputs[i].dtype;
		v->shape = *kw_bound_input_shape(g->b, (int)i);
		kw_shape_contiguous(&v->shape, v->stride);
		n = (size_t)kw_shape_count(&v->shape);
		v->base = kw_arena_calloc(&g->arena, n + 1, kw_dtype_bytes((enum kw_dtype)v->dtype));
		if (!v->base)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
		if (n > count)
			return kw_fail(err, KW_ERR_INPUT, g->task.file, "the inputs end within '%s'", g->task.inputs[i].name);
		kw_dtype_from_f64((enum kw_dtype)v->dtype, from, v->base, n);
		from += n;
		count -= n;
	}
	return count ? kw_fail(err, KW_ERR_INPUT, g->task.file, "%zu numbers more than inputs", count) : KW_OK;
}

static enum kw_status give_outputs(struct given *g, struct kw_buf *to, struct kw_error *err)
{
	const int64_t start[KW_MAX_RANK] = { 0 };
	enum kw_status s = KW_OK;

	for (size_t i = 0; i < g->task.output_count && s == KW_OK; i++) {
		const struct kw_shape *shape = kw_bound_output_shape(g->b, (int)i);
		size_t n = (size_t)kw_shape_count(shape);
		double *values = kw_arena_calloc(&g->arena, n + 1, sizeof(*values));

		if (!values)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
		s = kw_eval_box(g->ev, (int)i, start, shape->dim, values, err);
		if (s != KW_OK)
			return s;
		kw_buf_add(to, (const char *)values, n * sizeof(*values));
		if (to->full)
			s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	return s;
}

static enum kw_status evaluate(struct given *g, const char *path, const struct kw_buf *in, struct kw_buf *out, struct kw_error *err)
{
	enum kw_status s = kw_task_load(&g->task, path, err);

	if (s == KW_OK)
		s = kw_expr_complete_task(&g->task, err);
	if (s == KW_OK)
		s = kw_expr_parse(&g->task, &g->arena, &g->e, err);
	if (s == KW_OK)
		s = kw_expr_bind(g->e, &g->task.cases[0], &g->arena, &g->b, err);
	if (s == KW_OK && !(g->views = kw_arena_calloc(&g->arena, g->task.input_count + 1, sizeof(*g->views))))
		s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (s == KW_OK)
		s = take_inputs(g, (const double *)(const void *)in->ptr, in->len / sizeof(double), err);
	if (s == KW_OK)
		s = kw_eval_new(g->b, g->views, NULL, KW_EVAL_F64, 1, MAX_BYTES, &g->ev, err);
	return s == KW_OK ? give_outputs(g, out, err) : s;
}

static enum kw_status run(const char *task, const char *from, const char *to, struct kw_error *err)
{
	struct given g = { 0 };
	struct kw_buf in, out;
	enum kw_status s;

	kw_arena_init(&g.arena, MAX_BYTES);
	kw_buf_init(&in, MAX_BYTES);
	kw_buf_init(&out, MAX_BYTES);
	s = kw_file_read(from, MAX_BYTES, &in, err);
	if (s == KW_OK)
		s = evaluate(&g, task, &in, &out, err);
	if (s == KW_OK)
		s = kw_file_write(to, out.ptr, out.len, err);
	kw_eval_free(g.ev);
	kw_task_release(&g.task);
	kw_arena_release(&g.arena);
	kw_buf_release(&in);
	kw_buf_release(&out);
	return s;
}

static const char task_text[] = "name: given\n"
				"inputs:\n"
				"  x: { dtype: f64, shape: [2, 2] }\n"
				"  w: { dtype: f32, shape: [2] }\n"
				"outputs:\n"
				"  y: { dtype: f64, shape: [2, 2] }\n"
				"  z: { dtype: f64, shape: [] }\n"
				"reference:\n"
				"  expr: |\n"
				"    y = x * w\n"
				"    z = sum(y)\n"
				"perf: [{}]\n";

static void write_numbers(const double *v, size_t count)
{
	struct kw_error err;

	kw_error_reset(&err);
	is_int(kw_file_write(temp_file("in"), v, count * sizeof(*v), &err), KW_OK, "%zu numbers", count);
}

int main(int argc, char **argv)
{
	static const double numbers[] = { 1, 2, 3, 4, 10, 100, 7 }, want[] = { 10, 200, 30, 400, 640 };
	struct kw_error err;
	struct kw_buf out;
	char line[2400];

	kw_error_reset(&err);
	if (argc == 4) {
		if (run(argv[1], argv[2], argv[3], &err) == KW_OK)
			return 0;
		fprintf(stderr, "%s\n", kw_error_line(&err, line, sizeof(line)));
		return 1;
	}
	kw_file_write(temp_file("given.yaml"), task_text, sizeof(task_text) - 1, &err);
	write_numbers(numbers, 6);
	is_int(run(temp_file("given.yaml"), temp_file("in"), temp_file("out"), &err), KW_OK, "it is evaluated");
	kw_buf_init(&out, 1 << 20);
	kw_file_read(temp_file("out"), 1 << 20, &out, &err);
	ok(out.len == sizeof(want) && memcmp(out.ptr, want, sizeof(want)) == 0, "every output, in order");
	kw_buf_release(&out);
	write_numbers(numbers, 5);
	is_int(run(temp_file("given.yaml"), temp_file("in"), temp_file("out"), &err), KW_ERR_INPUT, "too few numbers are refused");
	ok(strstr(err.text, "'w'") != NULL, "by the input's name");
	write_numbers(numbers, 7);
	is_int(run(temp_file("given.yaml"), temp_file("in"), temp_file("out"), &err), KW_ERR_INPUT, "too many as well");
	return done();
}

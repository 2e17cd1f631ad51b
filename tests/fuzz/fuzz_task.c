/* Any bytes: a task whose every case has shapes and whose text loads again as the same, or an error with
 * a text. Lines behind the first that begins with '#line' are the inputs of a one-line task. */
#include "base/alloc.h"
#include "core/task.h"

#include "fuzz.h"

static void check(struct kw_task *t)
{
	struct kw_error err = { 0 };
	struct kw_intenv env;
	struct kw_shape shape;
	struct kw_task again;
	struct kw_arena a;

	must(t->name && t->perf_count >= 1 && t->perf_count <= t->case_count && t->input_count >= 1);
	must(t->expr || t->reference_torch || (t->reference_c && t->output_count));
	kw_arena_init(&a, 16 << 20);
	for (size_t i = 0; i < t->case_count; i++) {
		must(kw_case_env(t, &t->cases[i], &a, &env, &err) == KW_OK);
		for (size_t k = 0; k < t->input_count; k++)
			must(kw_tensor_shape(&t->inputs[k], &env, &shape, &err) == KW_OK);
		for (size_t k = 0; k < t->output_count; k++)
			must(kw_tensor_shape(&t->outputs[k], &env, &shape, &err) == KW_OK);
	}
	must(kw_task_parse_yaml(&again, t->file, t->text, strlen(t->text), &err) == KW_OK);
	must(strcmp(again.sha256, t->sha256) == 0 && again.case_count == t->case_count);
	kw_task_release(&again);
	kw_arena_release(&a);
}

static void one_line(const char *text, size_t size)
{
	const char *inputs[4];
	struct kw_error err = { 0 };
	struct kw_task t;
	size_t n = 0;
	char *copy = kw_alloc(size + 1), *rest = copy, *line;

	must(copy);
	memcpy(copy, text, size);
	copy[size] = '\0';
	line = strsep(&rest, "\n");
	while (rest && n < 4)
		inputs[n++] = strsep(&rest, "\n");
	if (kw_task_parse_line(&t, line, inputs, n, &err) == KW_OK) {
		check(&t);
		kw_task_release(&t);
	} else {
		must(err.text[0]);
	}
	kw_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kw_error err = { 0 };
	struct kw_task t;

	if (size > 6 && memcmp(data, "#line\n", 6) == 0) {
		one_line((const char *)data + 6, size - 6);
	} else if (kw_task_parse_yaml(&t, "f", (const char *)data, size, &err) == KW_OK) {
		check(&t);
		kw_task_release(&t);
	} else {
		must(err.text[0] && err.where[0]);
	}
	return 0;
}

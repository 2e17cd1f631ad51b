/* docs/tasks.md and docs/plan-lines.md against the code: their examples are read, their tables are whole. */
#include "base/file.h"
#include "core/plan.h"
#include "tap.h"

static struct kw_arena arena;
static struct kw_error err;

static char *read_doc(const char *name)
{
	const char *top = getenv("KW_TOP");
	char path[512], *text = NULL;

	snprintf(path, sizeof(path), "%s/docs/%s", top ? top : ".", name);
	is_int(kw_file_read_arena(path, 1 << 20, &arena, &text, NULL, &err), KW_OK, "docs/%s is there", name);
	return text;
}

/* The next fenced block of a language behind *at; empty when there is none. */
static struct kw_str next_block(const char **at, const char *fence)
{
	const char *start = strstr(*at, fence), *end;

	if (!start || !(end = strstr(start + strlen(fence), "\n```")))
		return (struct kw_str){ NULL, 0 };
	start += strlen(fence);
	*at = end + 4;
	return (struct kw_str){ start, (size_t)(end + 1 - start) };
}

static void test_examples(const char *tasks, const char *lines)
{
	struct kw_task t;
	struct kw_plan p;
	struct kw_str block = next_block(&tasks, "```yaml\n");
	int plans = 0;

	if (!is_int(kw_task_parse_yaml(&t, "docs/tasks.md", block.ptr, block.len, &err), KW_OK,
		    "the task of the page is a task: %s", err.text))
		return;
	while ((block = next_block(&lines, "```c\n")).ptr) {
		plans++;
		is_int(kw_plan_parse("docs/plan-lines.md", block.ptr, block.len, &t, &arena, &p, &err), KW_OK,
		       "plan %d of the page is a plan: %s", plans, err.text);
	}
	ok(plans >= 3, "%d plans", plans);
	kw_task_release(&t);
}

static void has_word(const char *doc, const char *before, const char *word, const char *after)
{
	char text[128];

	snprintf(text, sizeof(text), "%s%s%s", before, word, after);
	ok(strstr(doc, text) != NULL, "the page tells of %s", word);
}

int main(void)
{
	char *tasks, *lines;
	const char *const *keywords;
	size_t n;

	kw_arena_init(&arena, 64 << 20);
	tasks = read_doc("tasks.md");
	lines = read_doc("plan-lines.md");
	if (tasks && lines) {
		test_examples(tasks, lines);
		for (int i = 0; i < KW_DIST_COUNT; i++)
			has_word(tasks, "\n| `", kw_dist_name((enum kw_dist)i), "` |");
		for (int i = 0; i < KW_LAYOUT_COUNT; i++)
			has_word(tasks, "\n| `", kw_layout_name((enum kw_layout_kind)i), "` |");
		for (int i = KW_DTYPE_NONE + 1; i < KW_DTYPE_COUNT; i++)
			has_word(tasks, "`", kw_dtype_name((enum kw_dtype)i), "`");
		keywords = kw_plan_keywords(&n);
		for (size_t i = 0; i < n; i++)
			has_word(lines, "\n## `", keywords[i], "`\n");
	}
	kw_arena_release(&arena);
	return done();
}

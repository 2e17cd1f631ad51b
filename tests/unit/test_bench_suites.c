/* Suites: names of candidates, selections, and both with whatever text. */
#include <stdlib.h>

#include "base/file.h"
#include "ops/bench.h"
#include "tap.h"
#include "temp.h"

static struct kw_error err;
static struct kw_arena a;

static void touch(const char *path)
{
	kw_file_write(path, "x\n", 2, &err);
}

static const struct kw_suite *suite(const char *name)
{
	const struct kw_suite *s = NULL;

	return kw_suite_find(name, &s, &err) == KW_OK ? s : NULL;
}

static void test_names(void)
{
	const struct kw_suite *k = suite("kernelbench"), *m = suite("multikernelbench");
	struct kw_candidate_name n;

	ok(k->candidate("run/level_2_problem_7_sample_3_kernel.py", &a, &n) && n.number == 7 && n.sample == 3, "KernelBench's own");
	is_str(n.group, "level2", "its level");
	ok(!k->candidate("level_2_problem_7_kernel.py", &a, &n), "half of one is none");
	ok(!k->candidate("level_2_problem_0_sample_0_kernel.py", &a, &n), "there is no problem 0");
	ok(m->candidate("output/cuda/run12/relu.txt", &a, &n) && n.sample == 12, "an answer of a run");
	is_str(n.word, "relu", "its problem");
	ok(m->candidate("relu.txt", &a, &n) && n.sample == 0, "an answer alone");
	ok(!m->candidate("run1/relu.py", &a, &n), "a file of another kind");
}

/* Whatever is asked for, there is an answer or a sentence. */
static void test_any_text(void)
{
	static const char letters[] = "level1/23-*?[]_,. \\n\xff";
	const struct kw_suite *k = suite("kernelbench"), *m = suite("multikernelbench");
	const char *dir = temp_file("suite");
	struct kw_problem_list all, some;
	char path[PATH_MAX], word[40];
	int told = 0, found = 0;

	snprintf(path, sizeof(path), "%s/level1", dir);
	kw_mkdirs(path, &err);
	for (int i = 1; i <= 30; i++) {
		snprintf(path, sizeof(path), "%s/level1/%d_Name_%d.py", dir, i, i);
		touch(path);
	}
	is_int(kw_suite_read(k, dir, &a, &all, &err), KW_OK, "a suite");
	ok(all.count == 30 && all.items[9].number == 10, "in the order of numbers, not of texts");
	srand(7);
	for (int i = 0; i < 20000; i++) {
		const char *words[] = { word };
		struct kw_candidate_name n;
		size_t len = (size_t)rand() % (sizeof(word) - 1);
		enum kw_status status;

		for (size_t c = 0; c < len; c++)
			word[c] = letters[(size_t)rand() % (sizeof(letters) - 1)];
		word[len] = '\0';
		k->candidate(word, &a, &n);
		m->candidate(word, &a, &n);
		status = kw_suite_select(k, &all, words, 1, &a, &some, &err);
		told += status == KW_ERR_USAGE && err.text[0];
		found += status == KW_OK;
	}
	is_int(told + found, 20000, "20000 selections of any letters: %d mean something", found);
	kw_rmtree(dir, &err);
}

int main(void)
{
	kw_arena_init(&a, 512 << 20);
	test_names();
	test_any_text();
	kw_arena_release(&a);
	return done();
}

/* KernelBench: KernelBench/level1 to level4, each a folder of NUMBER_NAME.py; candidates of its runs are called
 * level_1_problem_23_sample_0_kernel.py (its repository, dataset.py and eval_from_generations.py). */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "ops/bench.h"

enum { LEVELS = 9 };

static enum kw_status level(const char *dir, int number, struct kw_arena *a, struct kw_problem_list *out, struct kw_error *err)
{
	const char *group = kw_arena_printf(a, "level%d", number);

	return group ? kw_suite_folder(dir, group, true, a, out, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
}

static enum kw_status list(const char *path, struct kw_arena *a, struct kw_problem_list *out, struct kw_error *err)
{
	const char *inner = kw_path_join(a, path, "KernelBench"), *base = kw_path_base(path);
	enum kw_status status = inner ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	int one = 0, used = 0;

	if (sscanf(base, "level%1d%n", &one, &used) == 1 && base[used] == '\0') /* a level alone */
		return level(path, one, a, out, err);
	path = inner && kw_is_folder(inner) ? inner : path;
	for (int i = 1; status == KW_OK && i <= LEVELS; i++) {
		const char *dir = kw_arena_printf(a, "%s/level%d", path, i);

		status = dir ? level(dir, i, a, out, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	return status;
}

static bool candidate(const char *path, struct kw_arena *a, struct kw_candidate_name *out)
{
	int l, number, sample, used = 0;

	if (sscanf(kw_path_base(path), "level_%d_problem_%d_sample_%d_kernel.%n", &l, &number, &sample, &used) != 3 || used == 0)
		return false;
	*out = (struct kw_candidate_name){ .group = kw_arena_printf(a, "level%d", l), .number = number, .sample = sample };
	return out->group && number > 0 && sample >= 0;
}

const struct kw_suite kw_suite_kernelbench = {
	.name = "kernelbench",
	.title = "KernelBench, levels 1 to 4",
	.form = "KernelBench/levelN/NUMBER_NAME.py",
	.rule = "right: torch.allclose with atol = rtol = 1e-4 for float32 and 1e-2 for float16 and bfloat16 (1e-2 for all in its "
		"version 0); fast: the ratio of mean times",
	.close = { 1e-4, 1e-2 },
	.list = list,
	.candidate = candidate,
};

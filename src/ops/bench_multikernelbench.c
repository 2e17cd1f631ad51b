/* MultiKernelBench: reference/CATEGORY/NAME.py; candidates of its runs are answers, output/LANGUAGE/.../runN/NAME.txt (its
 * repository, dataset.py and evaluation.py). */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "ops/bench.h"

static enum kw_status list(const char *path, struct kw_arena *a, struct kw_problem_list *out, struct kw_error *err)
{
	const char *inner = kw_path_join(a, path, "reference");
	char **names = NULL;
	size_t n = 0;
	enum kw_status status = inner ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	if (inner && kw_is_folder(inner))
		path = inner;
	else if (strcmp(kw_path_base(path), "reference") != 0)
		return status;
	if (status == KW_OK)
		status = kw_dir_list(path, NULL, a, &names, &n, err);
	for (size_t i = 0; status == KW_OK && i < n; i++) {
		const char *dir = kw_path_join(a, path, names[i]);

		status = dir ? kw_suite_folder(dir, names[i], false, a, out, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	return status;
}

/* runN/NAME.txt: the N-th sample of NAME. */
static bool candidate(const char *path, struct kw_arena *a, struct kw_candidate_name *out)
{
	const char *base = kw_path_base(path), *folder = base, *dot = strrchr(base, '.');
	int sample = 0, used = 0;

	if (!dot || strcmp(dot, ".txt") != 0)
		return false;
	for (folder = base > path ? base - 1 : path; folder > path && folder[-1] != '/';)
		folder--;
	if (sscanf(folder, "run%d/%n", &sample, &used) != 1 || used == 0 || sample < 0)
		sample = 0;
	*out = (struct kw_candidate_name){ .word = kw_arena_strndup(a, base, (size_t)(dot - base)), .sample = sample };
	return out->word != NULL;
}

const struct kw_suite kw_suite_multikernelbench = {
	.name = "multikernelbench",
	.title = "MultiKernelBench, its categories",
	.form = "reference/CATEGORY/NAME.py",
	.rule = "right: torch.allclose with atol = rtol = 1e-4 (bool outputs equal); fast: the ratio of mean times",
	.close = { 1e-4, 1e-4 },
	.list = list,
	.candidate = candidate,
};

/* TritonBench: data/TritonBench_G_v1 (Triton operators from repositories) and data/TritonBench_T_v1 (PyTorch functions); a file
 * is the operator, a line of 146 '#', and its tests. */
#include <string.h>

#include "base/file.h"
#include "ops/bench.h"

static const struct {
	const char *folder, *group;
} channels[] = { { "TritonBench_G_v1", "G" }, { "TritonBench_T_v1", "T" } };

static enum kw_status list(const char *path, struct kw_arena *a, struct kw_problem_list *out, struct kw_error *err)
{
	const char *inner = kw_path_join(a, path, "data"), *base = kw_path_base(path), *dir;
	enum kw_status status = inner ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	path = inner && kw_is_folder(inner) ? inner : path;
	for (size_t i = 0; status == KW_OK && i < sizeof(channels) / sizeof(channels[0]); i++) {
		dir = strcmp(base, channels[i].folder) == 0 ? path : kw_path_join(a, path, channels[i].folder);
		status = dir ? kw_suite_folder(dir, channels[i].group, false, a, out, err)
			     : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	return status;
}

const struct kw_suite kw_suite_tritonbench = {
	.name = "tritonbench",
	.title = "TritonBench, channels G and T",
	.form = "data/TritonBench_G_v1/NAME.py or data/TritonBench_T_v1/NAME.py",
	.rule = "right: the file with its tests runs (call accuracy) and prints what the original prints (execution accuracy): tests that "
		"print nothing are right as soon as they run; fast: the ratio of the sums of mean times",
	.adapter = "tritonbench",
	.list = list,
};

/* profile.h - one vendor-neutral profile record, where "missing" is a value (design 9). */
#ifndef KW_CORE_PROFILE_H
#define KW_CORE_PROFILE_H

#include "base/arena.h"
#include "base/json.h"

enum kw_metric_state { KW_METRIC_MISSING, KW_METRIC_PRESENT };
struct kw_metric {
	const char *name, *unit, *source; /* "dram_read", "bytes", "perf" */
	enum kw_metric_state state;       /* missing is missing, never 0 */
	double value;
};
struct kw_profile {
	const char *device, *kernel, *tool;
	struct kw_metric *metrics;
	size_t metric_count;
};
json_t *kw_profile_to_json(const struct kw_profile *p);
enum kw_status kw_profile_from_json(struct kw_profile *p, const json_t *j, struct kw_arena *a,
				    struct kw_error *err);
/* NULL when the record does not hold it (which is not the same as zero). */
const struct kw_metric *kw_profile_find(const struct kw_profile *p, const char *name);
#endif

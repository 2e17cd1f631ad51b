/* finding.h - bottlenecks with evidence, the change they suggest, and the predicted effect (design 9).
 * Plain data with JSON forms; produced by src/profile (later) and stored now. */
#ifndef KW_CORE_FINDING_H
#define KW_CORE_FINDING_H

#include "base/arena.h"
#include "base/json.h"

struct kw_prediction {
	const char *metric;               /* "time", "dram_bytes", ... */
	double factor_low, factor_high;   /* of the value now; 0.8 means 20% less */
};
struct kw_directive {
	const char *id, *text;            /* "use-vector-loads", sentence */
	struct kw_prediction prediction;
	const char *wrong_when;           /* when this advice is wrong */
	bool applied;
	double measured_factor;           /* 0: not measured yet */
};
struct kw_finding {
	const char *id, *rule;            /* rule file that made it */
	const char *sentence;             /* evidence with its numbers */
	double gain_ns;                   /* time that can be given back, capped by the roofline */
	struct kw_directive directive;
};
json_t *kw_finding_to_json(const struct kw_finding *f);
enum kw_status kw_finding_from_json(struct kw_finding *f, const json_t *j, struct kw_arena *a,
				    struct kw_error *err);
#endif

/* metrics.h - the vendor-neutral names that a profile has, what tools call them, their units and numbers.
 *
 *     enum kw_quantity dim; double scale;
 *     kw_unit_find(KW_STR("Gbyte/s"), &dim, &scale);        // KW_QUANTITY_RATE, 1e9
 *     int m = kw_metric_find(KW_STR("Memory Throughput"), dim); // KW_M_DRAM_RATE
 *     kw_number_read(KW_STR("1,359,449"), KW_NUMBER_POINT, &v);
 *
 * metrics.def is the list. Values are kept in base units (ns, bytes, bytes/s, Hz, percent). A value that is not
 * there is NaN here and "missing" in core/profile.h; it is never zero. Any thread, but kw_metric_nearest: one at a time. */
#ifndef KW_PROFILE_METRICS_H
#define KW_PROFILE_METRICS_H

#include "base/str.h"

enum kw_quantity {
	KW_QUANTITY_PCT,
	KW_QUANTITY_TIME,
	KW_QUANTITY_BYTES,
	KW_QUANTITY_RATE,
	KW_QUANTITY_HZ,
	KW_QUANTITY_COUNT,
	KW_QUANTITY_UNKNOWN
};
enum kw_metric_id {
#define METRIC(e, name, dim, aliases) KW_M_##e,
#include "profile/metrics.def"
#undef METRIC
	KW_M_COUNT
};
const char *kw_metric_name(int m);
enum kw_quantity kw_metric_quantity(int m);
const char *kw_quantity_unit(enum kw_quantity d);      /* "ns", "bytes", "%"; "" for counts */
/* The metric that a tool's name means; -1 when it is none of ours. dim: what its unit says; a name whose metric has
 * another dimension is not found, except where the unit is empty. */
int kw_metric_find(struct kw_str alias, enum kw_quantity dim);
/* How well a tool's name says what the metric is: 0 the best of its names; a large number for one that is not listed. */
int kw_metric_rank(int m, struct kw_str alias);
/* Several names are parts of one unit (the matrix units by type): the largest value is the unit's. */
bool kw_metric_is_greatest(int m);
/* By our own name; -1: none. */
int kw_metric_by_name(const char *name);
/* The name of ours or a tool's that is nearest to a slip; NULL: none near. */
const char *kw_metric_nearest(const char *alias);

/* "usecond", "Kbyte/block", "cycle/nsecond", "%", "": false for a unit that is not known. */
bool kw_unit_find(struct kw_str unit, enum kw_quantity *dim, double *scale);

/* Which mark is the decimal one. The other, blanks, apostrophes and no-break spaces separate thousands. */
enum kw_number_style { KW_NUMBER_POINT, KW_NUMBER_COMMA };
/* False for what is no number ("(!) n/a", "PolicySpread", ""). "12 (1; 2; 3)" is 12. */
bool kw_number_read(struct kw_str s, enum kw_number_style style, double *out);
/* True for the words that tools write where a value is missing. */
bool kw_number_is_missing(struct kw_str s);
/* By the quoted numbers (or, where there are no quotes, by all) in the first part of a file. */
enum kw_number_style kw_number_style_of(const char *text, size_t len);
#endif

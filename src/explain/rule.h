/* rule.h - rules as data: knowledge/rules/NAME.yaml. docs/add-a-rule.md tells every key.
 *
 *     struct kw_rule *rules; size_t n;
 *     kw_rules_load(arena, &rules, &n, err);
 *
 * A rule's sentences hold {EXPRESSION} or {EXPRESSION:FORM} (FORM: a number of decimals, bytes, time, rate, x, int), and
 * [[ parts ]] that are left out when a value in them is missing. Immutable once loaded; any thread. */
#ifndef KW_EXPLAIN_RULE_H
#define KW_EXPLAIN_RULE_H

#include <regex.h>

#include "base/yaml.h"
#include "explain/condition.h"

/* What a rule is about, which is what it may look at. */
#define KW_ABOUT_LIST(X)          \
	X(GPU, "gpu")             \
	X(CPU, "cpu")             \
	X(CODE, "code")           \
	X(MESSAGE, "message")     \
	X(TIMING, "timing")       \
	X(COMPARE, "compare")
enum kw_about {
#define X(e, name) KW_ABOUT_##e,
	KW_ABOUT_LIST(X)
#undef X
	KW_ABOUT_COUNT
};
const char *kw_about_name(enum kw_about a);

/* Units of the machine that a change takes work from; what it does not relieve bounds what it can give. */
enum kw_unit_bit { KW_RELIEVES_DRAM = 1, KW_RELIEVES_L2 = 2, KW_RELIEVES_L1 = 4, KW_RELIEVES_SM = 8 };

/* Whose words a kernel's author speaks: threads and ncu, work-items, wavefronts and AMD's tools, or blocks of a program. */
enum kw_words { KW_WORDS_CUDA, KW_WORDS_OPENCL, KW_WORDS_HIP, KW_WORDS_TRITON, KW_WORDS_COUNT };

enum { KW_RULE_MAX_LIST = 12, KW_RULE_MAX_EXAMPLE = 16, KW_RULE_MAX_PATTERN = 2048 };
struct kw_rule_example {
	int metric;
	double value;
	bool before;
};
struct kw_rule {
	const char *name, *file, *title;
	enum kw_about about;
	struct kw_condition *when;        /* NULL: messages only */
	const char *verdict;              /* sentence of the verdict line when this is first */
	const char *evidence;             /* sentence with numbers */
	const char *directive_id, *directive;
	const char *moves;                /* the metric that should move */
	struct kw_condition *gain;        /* share of the time that could be given back at best; NULL: not known */
	struct kw_condition *rank;        /* where what could be given back is ranked as less than the gain, the least of both counts; NULL: the gain */
	double sure;                      /* share of it that is expected at least */
	unsigned relieves;                /* kw_unit_bit */
	const char *check, *wrong_when, *source;
	const char *hides[KW_RULE_MAX_LIST]; /* rules that this one explains away */
	size_t hides_count;
	const char *choice;               /* another rule whose advice contradicts this one's */
	bool final;                       /* nothing to fix: other advice needs a reason of its own */
	bool waste;                       /* what it finds is work for nothing: a unit that is full of it is at no roof */
	bool fallback;                    /* says that time is lost, not where: its gain counts half when findings are ranked */
	const char *cls;                  /* "kernel", "environment", "measurement" */
	regex_t *message;                 /* MESSAGE: a line that it explains */
	const char *pattern;
	struct kw_captures captures;
	struct kw_rule_example example[KW_RULE_MAX_EXAMPLE], quiet[KW_RULE_MAX_EXAMPLE];
	size_t example_count, quiet_count;
	const char *example_text, *quiet_text;
	const struct kw_rule *words[KW_WORDS_COUNT]; /* the same rule in another language's words; NULL: its own do */
};
/* All rules of the data folders, sorted by name; each is checked. kw_rules_release frees the patterns. */
enum kw_status kw_rules_load(struct kw_arena *a, struct kw_rule **out, size_t *count, struct kw_error *err);
void kw_rules_release(struct kw_rule *rules, size_t count);
/* One rule from its text; name: of its file without the ending. */
enum kw_status kw_rule_parse(const char *file, const char *text, size_t len, struct kw_arena *a, struct kw_rule *out,
			     struct kw_error *err);
/* The rule in the words of the language that the kernel is written in. */
const struct kw_rule *kw_rule_in_words_of(const struct kw_rule *r, enum kw_words words);
const struct kw_rule *kw_rule_find(const struct kw_rule *rules, size_t count, const char *name);
/* Whether a names b among what it explains away. */
bool kw_rule_hides(const struct kw_rule *a, const struct kw_rule *b);
/* Whether it fires. Messages need the captured numbers in f. */
bool kw_rule_fires(const struct kw_rule *r, const struct kw_facts *f);
/* Whether a line is what a message rule explains; fills f->captured (hexadecimal and thousands are read). */
bool kw_rule_matches(const struct kw_rule *r, const char *line, struct kw_facts *f);
/* A sentence with its numbers; NULL: out of memory. */
const char *kw_rule_say(const struct kw_rule *r, const char *sentence, const struct kw_facts *f, struct kw_arena *a);

#endif

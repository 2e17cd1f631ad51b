/* explanation.h - all that `kwright explain` found, as data: what reports print.
 *
 * One input is one file (or a task with its candidate). Everything is in the arena of who made it. */
#ifndef KW_EXPLAIN_EXPLANATION_H
#define KW_EXPLAIN_EXPLANATION_H

#include "explain/explain.h"
#include "profile/input.h"

/* A line of a log that a rule explains. */
struct kw_explained_message {
	int line;
	const char *text;                 /* the line, cut */
	struct kw_explained_finding finding;
	int count;                        /* how often */
};
struct kw_explained_input {
	const char *file;
	enum kw_input_kind kind;
	struct kw_launches launches;
	struct kw_explained *explained;   /* launches.count of them, in the input's order */
	struct kw_explained_message *messages;
	size_t message_count;
	size_t *order;                    /* launches by the time that they take, longest first */
	double total_ns;                  /* of launches whose time is known; NaN: none */
	const char *verdict, *bottleneck; /* of the whole input: the kernel's that takes the most time in all, or the first message's */
};
/* Another kernel with the same name, grid and block. */
struct kw_explained_group {
	size_t first, count, longest;     /* index in the input; how many; index of the one that takes the most time */
	size_t shown;                     /* which stands for them: the longest, or a usual one where that is far from all others (a first call) */
	double total_ns, least_ns, most_ns;
};
/* A task's case against its best baseline. */
struct kw_falls_short {
	const char *label, *baseline;
	double ns, baseline_ns, sol;
	const char *evidence, *missing;   /* of the finding that says why, and what to change; "" where none does */
};
struct kw_explanation {
	struct kw_explained_input *inputs;
	size_t count;
	bool compared;                    /* inputs[1] was compared with inputs[0] */
	const struct kw_falls_short *falls_short;
	size_t falls_short_count;
	const char *verdict_class;        /* of the candidate; "" where there is none */
	const struct kw_rule_set *rules;
};
/* Explains the launches and messages of one input. before: to compare with, launch by launch of equal name (or one with
 * one); may be NULL. False: out of memory. */
bool kw_explain_input(const struct kw_rule_set *set, struct kw_explained_input *in, const struct kw_explained_input *before,
		      struct kw_arena *a);
/* Lines of a text to messages; only: those that begin with it ("": all of them). */
bool kw_explain_text(const struct kw_rule_set *set, struct kw_explained_input *in, const char *text, size_t len, const char *only,
		     struct kw_arena *a);
/* Launches of equal kernel, grid and block, longest total first; *out in the arena. */
bool kw_explain_groups(const struct kw_explained_input *in, struct kw_arena *a, struct kw_explained_group **out, size_t *count);

#endif

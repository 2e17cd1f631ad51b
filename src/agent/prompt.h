/* prompt.h - what a role is told: a file of prompts/ with its placeholders filled in (docs/prompts.md).
 *
 *     struct kw_prompt_facts f = { .task = &task, .expr = expr, .backend = "c", .hardware = &hw };
 *     struct kw_prompt p;
 *     kw_prompt_make(KW_ROLE_CODER, &f, 128 << 10, arena, &p, err);
 *     send(p.text);                             // p.dropped says what did not fit
 *
 * A section ("## heading") whose placeholders are all empty is left out. Where the text would be over its limit, items of the
 * least useful parts go first. Pure but for memory: the same facts give the same text. */
#ifndef KW_AGENT_PROMPT_H
#define KW_AGENT_PROMPT_H

#include "core/candidate.h"
#include "core/finding.h"
#include "core/hardware.h"
#include "core/verdict.h"
#include "expr/expr.h"
#include "memory/memory.h"

#define KW_ROLE_LIST(X)                                                       \
	X(PLANNER, "planner", "steps with predictions, for a right kernel")   \
	X(CODER, "coder", "a kernel, or the next version of one")             \
	X(DEBUGGER, "debugger", "the repair of a kernel that was refused")    \
	X(REVIEWER, "reviewer", "objections to a right kernel")               \
	X(SPECIFIER, "specifier", "a task from words")                        \
	X(MANAGER, "manager", "the division of a task of several operations")
enum kw_role {
#define X(e, name, text) KW_ROLE_##e,
	KW_ROLE_LIST(X)
#undef X
	KW_ROLE_COUNT
};
const char *kw_role_name(enum kw_role r);
const char *kw_role_text(enum kw_role r);
/* KW_ERR_USAGE with the nearest name. */
enum kw_status kw_role_parse(const char *name, enum kw_role *out, struct kw_error *err);

/* What there is to tell; what is NULL or 0 is not told. */
struct kw_prompt_facts {
	const struct kw_task *task;
	const struct kw_expr *expr;
	const char *backend;
	const struct kw_hardware *hardware;
	const struct kw_candidate *parent;
	const struct kw_verdict *parent_verdict;
	const struct kw_finding *findings;
	size_t finding_count;
	const char *failed_source, *failure;
	const char *directive;
	const char *const *history;       /* newest last, one sentence each */
	size_t history_count;
	struct kw_store *memory;
	int64_t memory_before_ms;         /* when the run began: its own verdicts are its history; 0: all that is remembered */
	const char *words;
	const char *statements, *division; /* of a task of several operations: kw_statements_text, kw_division_text */
};
struct kw_prompt {
	const char *text;
	size_t len;
	const char **dropped;             /* "pattern row_split" */
	size_t dropped_count;
};
/* KW_ERR_LIMIT when even what must be told is longer than max_bytes (out->len says how long); KW_ERR_INPUT for a fault in the file. */
enum kw_status kw_prompt_make(enum kw_role role, const struct kw_prompt_facts *f, size_t max_bytes, struct kw_arena *a,
			      struct kw_prompt *out, struct kw_error *err);
/* The name of the n-th placeholder, its worth and its meaning; false behind the last. */
bool kw_prompt_placeholder(size_t n, const char **name, int *worth, const char **meaning);
/* What plan lines of a backend begin with. */
const char *kw_prompt_marker(const char *backend);
const char *kw_prompt_language(const char *backend);

/* --- parts (parts.c) --- */
enum { KW_PART_ITEMS_MAX = 64 };
struct kw_part {
	const char *item[KW_PART_ITEMS_MAX];
	const char *label[KW_PART_ITEMS_MAX]; /* for what is dropped */
	size_t count, kept;
};
enum kw_placeholder {
#define X(name, worth, meaning) KW_PLACE_##name,
#include "agent/placeholders.def"
#undef X
	KW_PLACE_COUNT
};
enum kw_status kw_part_fill(enum kw_placeholder p, const struct kw_prompt_facts *f, struct kw_arena *a, struct kw_part *out,
			    struct kw_error *err);

#endif

/* write.h - what strategies that ask models share: the facts for a prompt, one line of history a step, the refusal as a
 * model should read it. A writer belongs to one run and lives in its arena. */
#ifndef KW_SEARCH_WRITE_H
#define KW_SEARCH_WRITE_H

#include "search/strategy.h"

enum { KW_STEPS_MAX = 8, KW_HISTORY_MAX = 4096, KW_KNOWN_FINDINGS = 16 };

/* What was found in a kernel: a parent of many children is looked at once. */
struct kw_known_findings {
	char sha[KW_SHA256_HEX];
	const struct kw_verdict *verdict;
	struct kw_finding *findings;
	size_t count;
};

struct kw_writer {
	struct kw_search *s;
	const char **history;
	size_t history_count;
	const char *steps[KW_STEPS_MAX];  /* of the planner, in its order */
	size_t step_count, step_next;
	char steps_of[KW_SHA256_HEX];     /* hash of the parent that they are for; "" none */
	struct kw_known_findings *known;  /* of the parents that were asked about last */
	const char *left_out;             /* of the last prompt that was too long, which was told */
};
enum kw_status kw_writer_init(struct kw_writer *w, struct kw_search *s, struct kw_error *err);
/* A directive: the change is the coder's choice. */
extern const char kw_own_choice[];
/* The facts that every role is told; parent may be NULL. */
void kw_writer_facts(const struct kw_writer *w, const struct kw_ranked *parent, struct kw_prompt_facts *out);
__attribute__((format(printf, 2, 3))) void kw_writer_note(struct kw_writer *w, const char *fmt, ...);
/* How a step went, as a line of history. */
void kw_writer_note_step(struct kw_writer *w, const struct kw_step *step, const struct kw_ranked *best, double best_before_ns);
/* The judge's refusal of a candidate as text; NULL: it was none. */
const char *kw_writer_failure(const struct kw_writer *w, const char *candidate_sha);
/* The next directive for a parent: of the planner's steps, which is asked where there are none left. *directive NULL: the
 * planner says that nothing is left, *why. KW_NO: s->stop. Where nobody answers as planner the coder chooses itself. */
enum kw_status kw_writer_directive(struct kw_writer *w, const struct kw_ranked *parent, const char *slot, const char **directive,
				   const char **why, struct kw_error *err);
/* One answer to a question with those facts as a step: with its candidate and the finding that it follows, or idle and why. KW_NO: s->stop says why nobody was asked. */
enum kw_status kw_writer_step(struct kw_writer *w, const struct kw_turn *turn, const struct kw_prompt_facts *facts, const char *what,
			      struct kw_step *step, struct kw_error *err);
/* Asks one role. KW_NO: s->stop says why nobody is asked any more. Where only the provider has no more answers (a recording without this
 * role) turn->asked is false, and the run goes on without. */
enum kw_status kw_search_ask(struct kw_search *s, const struct kw_request *r, struct kw_turn *turn, struct kw_error *err);
/* Where the run's time was over before an answer came: says so. */
void kw_search_late(struct kw_search *s, const struct kw_turn *turn);
/* Asks a reviewer about a right kernel; *objection NULL: none. */
enum kw_status kw_writer_review(struct kw_writer *w, const struct kw_ranked *best, const char *slot, const char **objection,
				struct kw_error *err);
/* Several answers at once, which the engine judges one after the other within a round while the rest is waited for. Those that are there
 * already are built together meanwhile, and begun where several devices judge. */
enum { KW_BATCH_MAX = 64 };
struct kw_batch {
	struct kw_pending *pending;
	struct kw_arena ahead;            /* candidates that were looked at before their turn */
	bool seen[KW_BATCH_MAX];
	bool looks;                       /* they get a quick look (kw_search_screen), and are not tuned */
	struct kw_request *requests;      /* copies, with what they name, in the search's arena */
	const char *what[KW_BATCH_MAX];
	size_t count, next, delivered;
};
/* Asks for count kernels at once: requests by coders, what[i] in one line each. */
enum kw_status kw_batch_ask(struct kw_writer *w, const struct kw_request *requests, const char *const *what, size_t count,
			    struct kw_batch *out, struct kw_error *err);
/* The next step of a batch, *more false: there is none. Those that nobody was asked for are left out. KW_NO: nobody was asked at all,
 * s->stop says why. */
enum kw_status kw_batch_next(struct kw_writer *w, struct kw_batch *b, struct kw_step *step, bool *more, struct kw_error *err);
/* Waits for what is left. A batch that ended, or never began, is fine. */
void kw_batch_end(struct kw_writer *w, struct kw_batch *b);
/* How many kernels a round has: the user's --width, or the strategy's own; at most KW_BATCH_MAX. */
size_t kw_batch_width(const struct kw_search *s, size_t own);
/* The user's temperature, or one that gives several different answers to one prompt. */
double kw_batch_temperature(const struct kw_search *s);

/* A strategy that asks for a batch in each round: its state, and all of its functions but the question. One that does more has this as the
 * first member of its own state. */
struct kw_rounds {
	struct kw_writer w;
	struct kw_batch batch;
	bool began;                       /* the kernel that it starts from is behind it, or there is none */
	double best_before_ns;
};
typedef enum kw_status (*kw_rounds_ask)(struct kw_search *s, struct kw_rounds *r, struct kw_error *err);
enum kw_status kw_rounds_init(struct kw_rounds *r, struct kw_search *s, struct kw_error *err);
enum kw_status kw_rounds_begin(struct kw_search *s, void **state, struct kw_error *err);
/* unit: what a batch consists of, "kernels". */
enum kw_status kw_rounds_next(struct kw_search *s, struct kw_rounds *r, kw_rounds_ask ask, const char *unit, struct kw_step *step,
			      bool *more, struct kw_error *err);
void kw_rounds_told(struct kw_search *s, void *state, const struct kw_step *step, const struct kw_ranked *best);
enum kw_status kw_rounds_again(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err);
void kw_rounds_end(void *state);

/* A step's text in one line of at most so many bytes. */
const char *kw_writer_line(const struct kw_writer *w, const char *text, size_t most);

#endif

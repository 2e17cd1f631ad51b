/* internal.h - what the files of the judge share. Nothing outside judge/ includes it.
 *
 * work:   one evaluation (task, candidate, verdict being filled, the builds, the seed).
 * stage:  one case of it on the device: a session with K slots, the tensors' views, the reference
 *         evaluators and the tolerance. Stages come and go; a work outlives them.
 * Functions return kw_status for faults of ours and set `w->failed` for faults of the candidate. */
#ifndef KW_JUDGE_INTERNAL_H
#define KW_JUDGE_INTERNAL_H

#include "judge/clock.h"
#include "judge/compare.h"
#include "judge/inputs.h"
#include "judge/judge.h"
#include "judge/layout.h"

#include <limits.h>

#define KW_MAX_TENSORS 2048           /* with workspaces; a deep network has hundreds of weights */
#define KW_MAX_OUTPUTS 64
#define KW_MOST_SLOTS 256
#define KW_MEMORY_SHARE 0.5               /* of the available memory that one case may take */

struct kw_judge {
	struct kw_device *dev;
	struct kw_device *host;           /* runs references in C where dev is no CPU; NULL before the first */
	struct kw_intenv_var fact_vars[8];
	struct kw_intenv facts;
	int threads;                      /* of the judge's own work */
	struct kw_gpu *gpu;               /* NULL: the host does everything (gpu.h) */
	bool gpu_tried;
	struct torch_process *torch;      /* computes references in PyTorch; NULL before the first */
	struct expected *expected;        /* what is started ahead (expect.c); NULL: nothing */
};

/* One distinct set of -D values of the candidate, built once. */
struct build {
	const char *key;                  /* "THREADS=256 VEC=8" */
	struct kw_build_result result;
	bool done;
};

/* A baseline under one perf case. */
#define KW_BASELINES 8
struct baseline_run {
	struct kw_bound_plan plan;        /* applicable false: it does not run here */
	struct kw_module_play module;     /* of one from PyTorch */
	int64_t fixed_ns, start_ns;       /* as of the stage: of an empty batch, and of a call that does nothing */
	double call_ns;
	char why[400];                    /* "": nothing kept it away */
	char note[480];                   /* beside its time: how it was played, what is wrong with it */
	bool wrong;                       /* by the tolerance of candidates */
	struct kw_build_result build;
	bool built;
	struct kw_player *player;         /* a trusted one */
};

struct work {
	struct kw_judge *j;
	const struct kw_task *t;
	struct kw_task apart;             /* *t as if nothing was updated in place: what references and baselines compute */
	const struct kw_expr *e;
	const struct kw_candidate *c;
	struct kw_judge_opts o;
	struct kw_verdict *v;
	struct kw_arena *a;               /* the verdict's: strings and arrays that stay */
	struct build *builds;
	size_t build_count;
	uint64_t seed, counter;           /* every fill takes the next counter */
	bool failed;                      /* v->cls and so on are set */
	bool fresh;                       /* a new process for every trial (FINAL) */
	struct baseline_set *baselines;
	bool baselines_said;              /* the user chose them */
	int64_t originals;                /* inputs so far that were the author's of the problem */
	struct references *references;    /* gpu.h; NULL: the host evaluates */
	const char *stand_in;             /* kw_torch_stand_in, of a module */
	bool weight[KW_MAX_TENSORS];      /* inputs that a module holds: the same in every call of a process */
	struct module_host *module;       /* the candidate is a Python module; else NULL */
	bool interpreted;                 /* whose Triton kernels are run by an interpreter: nothing is timed */
	struct c_reference *c_reference;  /* NULL: the reference is no C */
	struct torch_process *torch;      /* the judge's; NULL: the task has no PyTorch, or does without */
	bool values_by_torch;             /* though there is an expression, which only says what it costs */
	bool operations_noted;            /* of PyTorch, that a module uses */
	char sanitizer[PATH_MAX];         /* the program; "": not looked for yet */
};

/* The device's references under one case: gpu_reference.c. */
#define KW_REFERENCES KW_JUDGE_PARTS /* in f64, and as a plain f32 kernel computes it */
struct reference_run {
	struct kw_bound_plan plan[KW_REFERENCES];
	uint64_t *workspaces[KW_REFERENCES]; /* on the device */
	uint64_t want, plain;             /* KW_REFERENCE_TILE values each */
	bool usable, opened;
	bool told[KW_MAX_OUTPUTS];        /* what the output is compared by is of earlier declared inputs of this case */
};

/* Expected values of earlier trials at a few places: to recognise an answer that was kept. The first few stay, of the
 * later ones the most recent. */
#define KW_MEMO_POINTS 24
#define KW_MEMO_FIRST 6
#define KW_MEMO_TRIALS 16
struct memo {
	int64_t flat[KW_MEMO_POINTS];
	double want[KW_MEMO_TRIALS][KW_MEMO_POINTS];
	int points, trials;               /* trials: seen, not kept */
};

/* Plain evaluators of the expression in other words (kw_expr_rephrase). */
struct other_formula {
	bool tried;                       /* ev32 NULL: there is none of this number */
	struct kw_eval *ev32, *coarse;
	const char *says;
};

struct stage {
	struct work *w;
	const struct kw_case *c;
	struct kw_arena arena;
	struct kw_intenv env;
	struct kw_bound *bound;           /* the expression under this case */
	struct kw_bound_plan plan;        /* of the candidate */
	const struct kw_artefact *code;
	int tensors, inputs, outputs;     /* tensors = inputs + outputs */
	struct kw_view view[KW_MAX_TENSORS]; /* base NULL; layouts of this case */
	struct kw_buffer_spec spec[KW_MAX_TENSORS];
	size_t spec_count;
	int slots;
	struct kw_session *session;
	struct kw_player *player;         /* the candidate's; loaded: its code is in it */
	bool loaded;
	struct baseline_run base[KW_BASELINES];
	struct reference_run reference;
	struct c_values *c_values;
	struct torch_values *torch_values;
	struct kw_distribution *distribution[KW_MAX_OUTPUTS]; /* per output, once it was looked at; in the arena */
	struct kw_eval *ev64, *ev32;
	struct kw_eval *coarse;           /* NULL: no output is f64 or i64 */
	struct other_formula formula[KW_EXPR_FORMS];
	int formulas;                     /* so many of them have been needed: they belong to every tolerance from now on */
	struct kw_tolerance tol[KW_MAX_OUTPUTS];
	double declared_abs[KW_MAX_OUTPUTS];   /* k x A of the declared data of this case */
	double declared_share[KW_MAX_OUTPUTS]; /* the same as a share of the outputs' RMS */
	double formula_abs[KW_MAX_OUTPUTS];    /* k x A of the declared data by other formulas */
	uint64_t poison_seed;
	uint64_t weight_seed, weights_in[KW_MOST_SLOTS]; /* of this process, and of what lies in a slot */
	struct memo memo[KW_MAX_OUTPUTS];
	double footprint_bytes;
	struct kw_cost cost;
	int killed;                       /* signal that ended a player from outside; 0: none did. Then w->failed is set, to
					   * end this attempt, and no verdict */
	int64_t killed_bytes;             /* kw_play_result.own_bytes */
	bool too_much;                    /* more than an interpreter is given: the case is not judged, for the reason in its result. w->failed
					   * is set to end it */
	bool sampled;                     /* expected values at sampled elements only */
	bool external;                    /* they come from the process of a reference in C or PyTorch */
	bool steps;                       /* the expression has floor, round, casts to whole numbers ... */
	bool excuse;                      /* kw_stage_compare lets pass what is a step off as a plain kernel may be */
	bool each;                        /* kw_stage_compare lets pass what is off as a plain kernel may be at that very element */
	struct kw_case_result *result;
	bool original[KW_MAX_TENSORS];    /* inputs of the slot that is being filled which the problem's author gave */
	int64_t fixed_ns;                 /* cost of an empty batch */
	double call_ns;                   /* modules: of a call that does nothing, one of many in a batch */
	int64_t start_ns;                 /* modules on a GPU: that a batch with one such call costs beside an empty one; 0: not known */
	struct kw_module_play module;     /* spec NULL: machine code */
};

/* reference_c.c: a reference in C. It is built like a candidate, cached by what it is made of; its values come from a process of
 * its own and are forgotten with the inputs they belong to. */
struct c_reference;                       /* of a work: source, builds, device */
struct c_values;                          /* of a stage: process, buffers, values */
enum kw_status kw_c_reference_new(struct work *w, struct kw_error *err);
void kw_c_reference_free(struct work *w);
enum kw_status kw_c_values_open(struct stage *s, struct kw_external *out, struct kw_error *err);
void kw_c_values_close(struct stage *s);
/* Its text as a kernel of the task's own dtypes, and what it is called; NULL where there is none. */
const struct kw_candidate *kw_c_reference_as_baseline(const struct work *w);

/* reference_torch.c: a reference in PyTorch. It is loaded in a Python process of the judge; a stage hands inputs over and takes values. */
struct torch_process;
struct torch_values;
enum kw_status kw_torch_reference_new(struct work *w, struct kw_error *err);
void kw_torch_reference_ahead(struct kw_judge *j, const struct kw_task *t, const struct kw_expr *e, uint64_t seed);
/* What computed it, and how, as a line of the verdict. */
void kw_torch_reference_note(struct work *w);
/* Whether a call of the reference changes what its outputs depend on. */
bool kw_torch_keeps_state(const struct work *w);
void kw_torch_process_free(struct kw_judge *j);
/* The process without a reference yet. begin: the judge has one to start; start: any thread, does what takes long. */
bool kw_torch_process_begin(struct kw_judge *j);
void kw_torch_process_start(struct kw_judge *j);
/* How a module that stands for the reference is made and called: a pickle in base64, in the verdict's arena, NULL where the task's inputs
 * in their order are all; and which of the inputs it holds as weights. */
enum kw_status kw_torch_stand_in(struct work *w, const char **how, bool weight[], struct kw_error *err);
/* For values that would be refused: KW_ERR_INPUT where an output moves with the last place of an f32 of the inputs so much that nothing can
 * be held against it. */
enum kw_status kw_torch_steady(struct stage *s, const struct kw_view *inputs, int output, struct kw_error *err);
/* How far plain evaluations in PyTorch are off at each element of an output at most. round 0: the plain values; each further one asks with
 * inputs moved in the last place. *more false: there are no more. The other gives an element's, 0 where nobody asked. */
enum kw_status kw_torch_own_errors(struct stage *s, const struct kw_view *inputs, int output, int round, bool *more, struct kw_error *err);
double kw_torch_own_error(const struct stage *s, int output, int64_t flat);
bool kw_torch_is_exact(const struct work *w); /* f64, so far */
enum kw_status kw_torch_values_open(struct stage *s, struct kw_external *out, struct kw_error *err);
/* torch_check.c: the task's expression against its PyTorch, on data of the smallest case. says: where they differ, or why nothing was
 * compared. */
enum kw_torch_agreement { KW_TORCH_UNCHECKED, KW_TORCH_AGREES, KW_TORCH_DIFFERS };
enum kw_status kw_torch_compare(struct work *w, enum kw_torch_agreement *out, char *says, size_t bytes, struct kw_error *err);
void kw_torch_values_close(struct stage *s);
/* The inputs that the author of a problem calls it with, drawn anew, into views of this case; given: which of them there are. */
enum kw_status kw_torch_original(struct stage *s, struct kw_view *views, uint64_t seed, bool given[], struct kw_error *err);

/* gpu_reference.c, for builds.c. */
struct reference_job {
	const struct kw_candidate *candidate;
	const struct kw_bound_plan *plan;
	struct kw_build_result *result;
	bool *done;
};
size_t kw_references_jobs(struct work *w, const struct stage *s, struct reference_job jobs[KW_REFERENCES]);

/* module.c: Python modules. Nothing to do for other candidates. */
enum kw_status kw_module_host_new(struct work *w, struct kw_error *err);
void kw_module_host_free(struct work *w);
/* How long its players have waited for Triton's compiler so far: time of building, not of running. */
int64_t kw_module_waited_ns(const struct work *w);
/* A call took wall_ns, or a batch; waited_ns: the wait so far when it began. */
void kw_count_run(struct work *w, int64_t wall_ns, int64_t waited_ns);
/* The process that players for modules are copies of: any thread, which must live as long as that is wanted. */
void kw_module_host_start(struct kw_judge *j, int triton);

/* expect.c */
void kw_expected_free(struct kw_judge *j);
enum kw_status kw_stage_module(struct stage *s, struct kw_error *err);
/* What any Python player is told of a case. in_place: what is updated in place is handed over where the answer is expected. */
json_t *kw_stage_spec(const struct stage *s, const char *file, const char *stand_in, bool in_place);
/* Whether the next call is one whose operations are looked at: every one that no clock sees where libraries are refused, else until some are seen. */
bool kw_module_is_watched(const struct stage *s);
/* Operations of PyTorch that a watched call used: a remark, or the verdict where the task refuses libraries. */
void kw_module_operations(struct stage *s, const struct kw_play_result *r);
/* Of the candidate's player. */
struct kw_player_opts kw_stage_player_opts(const struct stage *s, bool writable_inputs);
/* Says of its players which had to be started anew, once. */
void kw_stage_note_starts(struct stage *s);

/* builds.c: the candidate for each distinct set of defines, and the baselines of the perf cases, side by side. */
enum kw_status kw_builds_make(struct work *w, struct stage **stages, size_t count, struct kw_error *err);
const struct kw_artefact *kw_builds_find(const struct work *w, const struct kw_bound_plan *plan);
void kw_builds_release(struct work *w);
const char *kw_builds_key(const struct kw_backend *b, const struct kw_bound_plan *plan, struct kw_arena *a);

/* prepare.c: sessions and players cost milliseconds and depend on no line of the candidate, so a thread makes them while the
 * compiler runs. It has ended before the first call: seeds are drawn and code is loaded afterwards. */
struct prepare;
/* Starts the thread; it goes through the stages in this order. The array must live until the end. NULL: no thread could be
 * had, and every stage is opened when its turn comes. */
struct prepare *kw_prepare_begin(struct stage **stages, size_t count);
/* Waits for the thread and returns its failure. */
enum kw_status kw_prepare_end(struct prepare *p, struct kw_error *err);

/* stage.c */
enum kw_status kw_stage_bind(struct stage *s, struct work *w, const struct kw_case *c, struct kw_error *err);
/* Working buffers, players without code if asked for (else they start when they are loaded), evaluators; nothing to do when
 * they are there. Any thread, one at a time. */
enum kw_status kw_stage_open(struct stage *s, bool player, struct kw_error *err);
/* Adds the workspaces that the candidate and the baselines of this stage ask for to its buffers. */
enum kw_status kw_stage_workspaces(struct stage *s, struct kw_error *err);
/* The evaluators of the other formula of this number, 0 .. KW_EXPR_FORMS - 1; on first use they are made. */
enum kw_status kw_stage_formula(struct stage *s, int number, struct kw_error *err);
/* Bytes that kw_stage_open will take. */
double kw_stage_bytes(const struct stage *s);
void kw_stage_close(struct stage *s);
/* The tensors of a slot, and the inputs of such views with a seed that was not there before. */
void kw_stage_views(const struct stage *s, int slot, struct kw_view *out);
enum kw_status kw_stage_fill_views(struct stage *s, struct kw_view *views, enum kw_fill fill, struct kw_error *err);
enum kw_status kw_stage_fill(struct stage *s, int slot, enum kw_fill fill, struct kw_error *err);
/* anew: others than before, for a process that is about to load the module. */
enum kw_status kw_stage_weights(struct stage *s, int slot, bool anew, struct kw_error *err);
void kw_stage_poison(struct stage *s, int slot);
/* spoil.c: fills the workspaces of a slot that are not asked to be zero. Not in timed batches, where it would take longer than
 * the calls. */
void kw_stage_spoil(struct stage *s, int slot);
/* share 1: every element (or every sampled one); below: that share of the chunks, drawn now, and poison everywhere. */
enum kw_status kw_stage_compare(struct stage *s, int slot, enum kw_fill fill, double share, int output,
				struct kw_compare_stats *st, struct kw_error *err);
/* The tolerance of kw_judge_opts.close for an output; 0: not asked. */
double kw_stage_close_rule(const struct stage *s, int output);
/* distribution.c: the same for an output that is compared by its distribution; what is wrong becomes the verdict. */
enum kw_status kw_stage_distribution(struct stage *s, int slot, enum kw_fill fill, double share, int output,
				     struct kw_compare_stats *st, struct kw_error *err);
/* A player that has run nothing yet, with the candidate loaded: nothing of earlier calls is left. */
enum kw_status kw_stage_player(struct stage *s, struct kw_play_result *r, struct kw_error *err);
/* Brings a slot to where the judge reads it. */
enum kw_status kw_stage_pull(struct stage *s, int slot, struct kw_error *err);
/* Of the bytes of all outputs: whether they changed is told by it. */
enum kw_status kw_stage_output_hash(struct stage *s, int slot, uint64_t *out, struct kw_error *err);
int kw_stage_timeout_ms(const struct stage *s);

/* tolerance.c */
#define PLAIN_TIMES 4                 /* an honest kernel may err this many times as much as a plain one (compare.h) */
/* Whether the f64 reference of this output is no better than a plain kernel. */
bool kw_output_is_wide(const struct kw_tensor_decl *d);
/* Points both evaluators at a slot's inputs and derives the tolerance from its contents. *usable false: under
 * this special fill a plain f32 kernel cannot be right, or the reference itself is undefined. */
enum kw_status kw_stage_reference(struct stage *s, int slot, enum kw_fill fill, bool *usable, struct kw_error *err);
/* The tolerance from a plain evaluation that was made elsewhere: worst |plain - f64|, sum of f64 squares, how many elements
 * were finite in both, NaN in f64, finite in f64 only. false: as *usable of kw_stage_reference. */
bool kw_stage_set_tolerance(struct stage *s, int output, enum kw_fill fill, double worst, double squares, int64_t n, int64_t nan,
			    int64_t ill);
/* The tolerance again, from more than one plain evaluation of this data: it is repeated with other rounding errors and
 * with other data of the same kind. *more false: exact, nothing was done. */
enum kw_status kw_stage_tell_more(struct stage *s, int slot, enum kw_fill fill, int output, bool *more,
				  struct kw_error *err);
/* The tolerance again, as wide as the errors of plain kernels with the first `count` other formulas. *more false: it did not
 * grow. */
enum kw_status kw_stage_rephrase(struct stage *s, int slot, enum kw_fill fill, int output, int count, bool *more,
				 struct kw_error *err);
/* Whether a plain kernel that rounds here or there may give this very value: a step away from the reference, where that is
 * next to one. One thread at a time. */
bool kw_stage_may_be(struct stage *s, int output, const int64_t *index, double value);
/* How far plain evaluations of one element are off at most, with this and that rounding. */
enum kw_status kw_stage_plain_at(struct stage *s, int output, const int64_t *index, double *error);
/* The error that an element is allowed beside its tolerance, as a plain kernel errs there (compare.h). One thread at a time. */
double kw_stage_own_part(struct stage *s, int output, int64_t flat, const int64_t *index);

/* trial.c: one checked batch. order: slots, each filled and poisoned already. */
enum kw_status kw_trial_fresh(struct stage *s, struct kw_error *err);
enum kw_status kw_trial_run(struct stage *s, int slot, enum kw_fill fill, double share, bool linger, int64_t *wall_ns,
			    struct kw_error *err);
enum kw_status kw_trial_check(struct stage *s, int slot, enum kw_fill fill, double share, struct kw_error *err);
/* The same without a verdict, for answers that are none of the candidate's: the statistics of the worst output. *known false: nothing could
 * be compared. */
enum kw_status kw_trial_compare(struct stage *s, int slot, double share, struct kw_compare_stats *worst, bool *known, struct kw_error *err);
void kw_trial_alias(struct stage *s, const struct kw_play_result *r);
void kw_trial_late(struct stage *s, const struct kw_play_result *r);
void kw_trial_fault(struct stage *s, const struct kw_play_result *r, enum kw_fill fill);
void kw_trial_release(struct kw_play_result *r);
/* Whether the player was ended from outside: then this attempt is over. */
bool kw_trial_killed(struct stage *s, const struct kw_play_result *r);

/* forensics.c: a mismatch gets its name. */
enum kw_status kw_forensics(struct stage *s, int slot, enum kw_fill fill, int output, const struct kw_compare_stats *st,
			    struct kw_error *err);
void kw_memo_keep(struct stage *s, int output, struct kw_error *err);
/* The same in two steps, for who has the values: where they are wanted; and the values there. */
const struct memo *kw_memo_places(struct stage *s, int output);
void kw_memo_add(struct stage *s, int output, const double *want);
void kw_fail_verdict(struct work *w, const char *case_label, enum kw_subclass sub, const char *summary,
		     const char *evidence);

/* judge.c: a line that goes with the verdict, whatever it is; once. */
void kw_note(struct work *w, const char *text);

/* sanitize.c: a candidate that was right so far under compute-sanitizer, on a few of its small cases; what it finds is the
 * verdict. Nothing to do where opts do not ask for it. */
enum kw_status kw_sanitize(struct work *w, struct kw_error *err);
/* profiled.c: a right candidate under a profiler on its first timed cases, where somebody asked for that (kw_judge_opts.profiled). The
 * other writes a call of a stage's kernel to a file, for a process of its own (device/sanitized.h): inputs have contents; outputs and
 * workspaces none, so that reading them first is seen. */
enum kw_status kw_profile(struct work *w, struct kw_error *err);
enum kw_status kw_stage_write_job(struct stage *s, const char *path, struct kw_error *err);

/* timing.c */
enum kw_status kw_timing_case(struct stage *s, struct kw_error *err);

/* baseline.c */
struct baseline {
	const char *name;
	struct kw_candidate candidate;
	const struct form *torch;             /* NULL: it is a kernel, candidate */
	bool naive_flags, usable, may_fail;   /* may_fail: judged without it then */
};
struct torch_baselines;
struct baseline_set {
	struct torch_baselines *torch;
	struct kw_arena arena;
	struct baseline item[KW_BASELINES];
	int count;
};
enum kw_status kw_baselines_new(struct work *w, struct kw_error *err);
void kw_baselines_free(struct work *w);
/* Binds the baselines' plans to a perf case. */
enum kw_status kw_baselines_bind(struct stage *s, struct kw_error *err);
/* Starts the trusted players that are not there yet, without code. */
enum kw_status kw_baselines_start(struct stage *s, struct kw_error *err);
/* One that may fail and did: the case goes on without it, with a warning. */
void kw_baseline_drop(struct stage *s, int i, const char *why);
enum kw_status kw_baselines_load(struct stage *s, struct kw_error *err);
void kw_baselines_close(struct stage *s);
/* baseline_torch.c: adds those from PyTorch to the set; starts, compiles and checks them, in that order, when it is their turn. */
enum kw_status kw_torch_baselines_new(struct work *w, struct kw_error *err);
enum kw_status kw_torch_baselines_load(struct stage *s, struct kw_error *err);
/* Some of them are still to be started for this case. */
bool kw_torch_baselines_wait(const struct stage *s);

/* unseen.c: draws a case from the declared dim ranges that this machine can check; KW_NO when none is found. */
enum kw_status kw_unseen_case(struct work *w, uint64_t seed, struct kw_case *out, struct kw_error *err);

/* parallel.c: fn(arg, i) for i in 0..n on up to `threads` threads; order is not defined. */
void kw_parallel(int threads, int64_t n, void (*fn)(void *arg, int64_t i), void *arg);

#endif

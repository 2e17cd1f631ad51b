/* source_scan.h - the walk over one GPU kernel's tokens that the files source*.c share: names that were declared, loops around the token,
 * facts that were found. Internal to this folder; one owner. */
#ifndef KW_PROFILE_SOURCE_SCAN_H
#define KW_PROFILE_SOURCE_SCAN_H

#include "profile/launches.h"
#include "profile/tokens.h"

enum { KW_SCAN_NAMES = 256, KW_SCAN_LOOPS = 64, KW_SCAN_STRIDED = 256 };

enum kw_scan_kind { KW_SCAN_INTEGER, KW_SCAN_CONSTANT, KW_SCAN_LANE, KW_SCAN_FAR, KW_SCAN_POINTER, KW_SCAN_SHARED, KW_SCAN_LOCAL_ARRAY };
struct kw_scan_name {
	size_t token;                     /* where it is declared */
	enum kw_scan_kind kind;
	int bytes;                        /* of an element of an array */
	long last, before;                /* its last dimension, and the one before; 0: none or not known */
};
struct kw_scan_loop {
	size_t end, var;                  /* var: token of the running index; 0: none */
	bool fixed;                       /* its bound is a constant */
};
struct kw_scan {
	const struct kw_tokens *t;
	struct kw_launch *k;
	size_t from, to;
	struct kw_scan_name names[KW_SCAN_NAMES];
	size_t name_count;
	struct kw_scan_loop loops[KW_SCAN_LOOPS];
	size_t loop_count;
	size_t deepest;                   /* most loops around anything */
	struct {
		size_t token, depth;
	} strided[KW_SCAN_STRIDED];
	size_t strided_count;
	size_t guard_end;                 /* inside `if (threadIdx.x == 0)` up to here */
	bool opencl;
};
extern const char *const kw_scan_integers[]; /* types; NULL behind the last */
const struct kw_scan_name *kw_scan_find(const struct kw_scan *s, size_t i, enum kw_scan_kind kind);
/* A number, a macro, a parameter of a template: known when it is compiled. */
bool kw_scan_is_constant(const struct kw_scan *s, size_t i);
/* One more of them, at this token's line. */
void kw_scan_fact(struct kw_scan *s, int metric, size_t i);
enum { KW_SCAN_NEAR = 8 }; /* elements between lanes that are no fault yet */
/* source_lanes.c. The value of one token; 0: not known. */
long kw_scan_value(const struct kw_scan *s, size_t i);
bool kw_scan_holds_lane(const struct kw_scan *s, size_t from, size_t to);
/* Lane times something in [from, to): the constant, -1 for a running value, 0 for no such product. */
long kw_scan_lane_factor(const struct kw_scan *s, size_t from, size_t to);
bool kw_scan_is_far(const struct kw_scan *s, size_t from, size_t to);
/* array[from, to) begins where neighbouring lanes are far apart. */
bool kw_scan_begins_far(const struct kw_scan *s, size_t array, size_t from, size_t to);
/* source_arith.c: a double among floats, a division of integers, if that is what stands at i. */
void kw_scan_literal(struct kw_scan *s, size_t i);
void kw_scan_division(struct kw_scan *s, size_t i);
#endif

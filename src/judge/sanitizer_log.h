/* sanitizer_log.h - what compute-sanitizer prints, as data: memcheck, racecheck, initcheck and synccheck, in the forms of its
 * versions of 2020 to 2026.
 *
 *     ========= Invalid __global__ write of size 4 bytes
 *     =========     at copy(const float *, float *)+0x90 in candidate.cu:12
 *     =========     by thread (3,0,0) in block (0,0,0)
 *     =========     Access to 0x710fdc800400 is out of bounds
 *     =========     and is 1 bytes after the nearest allocation at 0x710fdc800000 of size 1,024 bytes
 *
 * Pure functions; any thread. */
#ifndef KW_JUDGE_SANITIZER_LOG_H
#define KW_JUDGE_SANITIZER_LOG_H

#include "core/verdict.h"

enum { KW_SANITIZER_HITS = 16 };

struct kw_sanitizer_place {
	char kernel[96];                  /* or the function that was inlined; without parameters */
	char file[96];                    /* "": not known */
	int line;
};
struct kw_sanitizer_hit {
	enum kw_subclass subclass;
	bool warning;                     /* the tool itself is not sure */
	char what[160];                   /* its first line, without the severity */
	struct kw_sanitizer_place at, other; /* other: the second access of a race */
	char kernel[96];                  /* that was launched, where the place is in a function of it */
	bool has_thread, has_address, has_allocation, before;
	int thread[3], block[3];
	uint64_t address, allocation, allocation_bytes;
	int64_t distance_bytes;           /* from the nearest allocation: behind it, or before */
	int64_t hazards;                  /* of a race; else 0 */
	int64_t times;                    /* that it was told, for other threads */
};
struct kw_sanitizer_log {
	struct kw_sanitizer_hit hits[KW_SANITIZER_HITS]; /* each place once */
	size_t count;
	bool finished;                    /* it came to its summary */
	int64_t errors;                   /* of the summary */
	char trouble[200];                /* what kept it from working; "": nothing */
};
/* Lines that are not its own (of the program under it) are passed over. */
void kw_sanitizer_parse(const char *text, struct kw_sanitizer_log *out);

#endif

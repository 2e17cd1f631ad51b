/* agent_inside.h - what the files of an agent share. Private to agent.c and agent_life.c. */
#ifndef KW_AGENT_AGENT_INSIDE_H
#define KW_AGENT_AGENT_INSIDE_H

#include "agent/agent.h"
#include "agent/prices.h"

enum { PARALLEL_DEFAULT = 4, KNOWN_MAX = 1 << 20, SHORTER = 2 };
static const size_t scratch_bytes = (size_t)2 << 30;
static const char unread[] = "unread"; /* the outcome of a call whose answer has arrived, and no more */

struct kw_agent {
	struct kw_arena arena;
	struct kw_agent_opts opts;
	struct kw_model *models[KW_ROLE_COUNT];      /* of a role; several may be the same */
	struct kw_model *own[KW_ROLE_COUNT + 1];     /* opened, once each */
	size_t own_count;
	struct kw_prices prices;
	struct kw_store *store;
	int64_t run_id;
	const char *mark, *prefix;                   /* prefix: of its slots, "" or "part1/" */
	int asked[KW_ROLE_COUNT];                    /* calls of a role so far: the index of the next */
	char (*known)[KW_SHA256_HEX];
	size_t known_count, known_room;
	struct kw_agent_sums sums;
	int useless_in_a_row;
	int64_t waited_ns;
	enum kw_run_state stop;
	_Atomic int64_t until_ns;                    /* of kw_now_ns: when nobody waits for an answer any more; 0: never */
	void (*watch)(void *arg, const char *role, bool waiting);
	void *watch_arg;
};

/* Whether a kernel of this hash was judged before. */
bool kw_agent_knows(const struct kw_agent *g, const char *sha);

#endif

/* module_inside.h - what the files of a module's player share. Private to module.c and module_outputs.c. */
#ifndef KW_DEVICE_MODULE_INSIDE_H
#define KW_DEVICE_MODULE_INSIDE_H

#include "device/module.h"

/* As in python/module_player.py. */
enum { TEXT_BYTES = 2048, ZYGOTE_TIMEOUT_MS = 120000, FORK_TIMEOUT_MS = 20000, SPARSE = 64 };
#define ASK_BYTES ((size_t)1 << 20) /* of a question, at the end of the report */
#define ANSWER_MAX ((size_t)256 << 20)
#define SPAN_MAX ((size_t)4 << 30) /* of an output that is not contiguous: a copy of it is made first */
enum { TOO_MUCH = 16 };
enum { NO_TENSOR = 1000, ELSEWHERE, COUNT, UNREADABLE };
struct reported {
	uint64_t address;
	uint32_t dtype, rank;
	int64_t dim[KW_MAX_RANK], stride[KW_MAX_RANK];
};

struct kw_module {
	struct kw_module_host host;
	struct slots *slots;           /* NULL: the device has memory of its own, and the player copies its outputs into it */
	const struct kw_buffer_spec *specs; /* of the session */
	int slot_count;
	size_t inputs, outputs;
	struct kw_view *want;          /* [outputs] */
	char *spec, *key;
	int report_fd;
	size_t report_bytes;
	uint8_t *report;               /* the player writes to it at any time that it runs */
	bool copies;
	int32_t order[WIRE_ORDER_MAX]; /* of the last batch */
	int count;
};

/* What the player says of itself, cleaned. */
void kw_module_text(const struct kw_module *m, char *out, size_t n);
/* Of the stopped player's memory. */
bool kw_module_read(const struct kw_child *c, uint64_t from, void *to, size_t bytes);

#endif

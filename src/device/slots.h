/* slots.h - a session's working buffers: K copies of every buffer, each a memfd of its own. Private to device/.
 *
 * In the player each buffer lies between two PROT_NONE regions of GUARD_BYTES or more, at an address that the judge
 * draws anew for each session and slot; only the judge knows and needs the table. In the judge it is mapped
 * read-write, without guards. What is left of the pages beside a buffer is filled with canaries. */
#ifndef KW_DEVICE_SLOTS_H
#define KW_DEVICE_SLOTS_H

#include "device/device.h"

struct slot_buffer {
	int fd;
	bool huge;                     /* in huge pages */
	size_t file_bytes, offset;     /* the buffer starts offset bytes into the file */
	uint8_t *map;                  /* judge's mapping of the whole file */
	uint64_t address;              /* player's mapping of the whole file */
};
struct slots {
	struct kw_session base;        /* first: the same address */
	struct kw_buffer_spec *specs;  /* own copies, names too */
	size_t buffer_count, tensor_count;
	int slots;
	struct slot_buffer *buffers;   /* [slot * buffer_count + buffer] */
	uint64_t arena_base, arena_bytes, canary_seed;
	size_t total_bytes;
};
enum kw_status kw_slots_new(struct kw_device *d, const struct kw_session_opts *o, struct kw_session **out,
			    struct kw_error *err);
void kw_slots_free(struct kw_session *s);
void *kw_slots_ptr(struct kw_session *s, int slot, int buffer);
bool kw_slots_canary_ok(struct kw_session *s, int slot, int buffer, int64_t *offset_bytes);
void kw_slots_flush(struct kw_session *s, int slot, int part, int parts);
bool kw_slots_huge_pages(const struct kw_session *s);
uint64_t kw_slots_player_address(struct kw_session *s, int slot, int buffer);
struct slots *kw_slots_of(const struct kw_session *s);
struct slot_buffer *kw_slots_get(struct slots *s, int slot, int buffer);
/* The buffer that an address of the player is in or less than 1 MiB beside; false when there is none. */
bool kw_slots_find(const struct slots *s, uint64_t address, int *slot, int *buffer, int64_t *offset_bytes);

#endif

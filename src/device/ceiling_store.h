/* ceiling_store.h - measured ceilings in a small file, $XDG_DATA_HOME/kernelwright/ceilings.json: a list for each machine, each
 * entry with its kind, size, rate, method, time, and what was known of driver and clocks. Private to device/ and judge/.
 *
 *     if (!kw_ceiling_kept(&d->hardware, "copy", bytes, methods, &c)) {
 *             ... measure ...
 *             kw_ceiling_keep(&d->hardware, "copy", &c, kw_device_state_json(d));
 *     }
 *
 * Entries are good for a week. A file that cannot be read or written is no error: it is measured again next time. Another
 * process may write at the same time; then one of the two is measured again. */
#ifndef KW_DEVICE_CEILING_STORE_H
#define KW_DEVICE_CEILING_STORE_H

#include "base/json.h"
#include "device/device.h"

extern const int64_t kw_ceiling_keep_ms;

/* The entries of a machine: a new array, maybe empty. NULL: out of memory. */
json_t *kw_ceilings_read(const char *machine);
/* Replaces them; takes list. Other machines' stay. */
void kw_ceilings_write(const char *machine, json_t *list);

/* Of a device that is known by its name, architecture and driver. methods: the texts that today's code writes (NULL-terminated): by
 * another way than ours it is not to be compared with. Fills per_s, bytes and method. */
bool kw_ceiling_kept(const struct kw_hardware *h, const char *kind, int64_t bytes, const char *const *methods,
		     struct kw_ceiling *out);
/* about: an object with more keys for the entry, taken; may be NULL. */
void kw_ceiling_keep(const struct kw_hardware *h, const char *kind, const struct kw_ceiling *c, json_t *about);

#endif

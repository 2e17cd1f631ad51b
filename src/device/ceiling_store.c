#include "device/ceiling_store.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

const int64_t kw_ceiling_keep_ms = (int64_t)7 * 24 * 3600 * 1000;

static const char *path_of(struct kw_arena *a)
{
	const char *home = kw_path_data_home(a);

	return home ? kw_path_join(a, home, "ceilings.json") : NULL;
}

static json_t *read_all(struct kw_arena *a)
{
	const char *path = path_of(a);
	struct kw_buf text;
	json_t *all = NULL;

	kw_buf_init(&text, 1 << 20);
	if (path && kw_path_exists(path) && kw_file_read(path, 1 << 20, &text, NULL) == KW_OK &&
	    kw_json_parse(path, text.ptr, text.len, &all, NULL) != KW_OK)
		kw_log(KW_LOG_WARN, "%s cannot be read; measuring anew", path);
	kw_buf_release(&text);
	return json_is_object(all) ? all : (json_decref(all), json_object());
}

json_t *kw_ceilings_read(const char *machine)
{
	struct kw_arena a;
	json_t *all, *list;

	kw_arena_init(&a, 1 << 16);
	all = read_all(&a);
	list = json_object_get(all, machine);
	list = json_is_array(list) ? json_incref(list) : json_array();
	json_decref(all);
	kw_arena_release(&a);
	return list;
}

void kw_ceilings_write(const char *machine, json_t *list)
{
	struct kw_arena a;
	struct kw_buf text;
	struct kw_error err;
	json_t *all;
	const char *path;

	kw_arena_init(&a, 1 << 16);
	kw_buf_init(&text, 1 << 20);
	all = read_all(&a);
	json_object_set_new(all, machine, list);
	path = path_of(&a);
	if (path && kw_json_pretty(all, &text, NULL) == KW_OK &&
	    (kw_mkdirs(kw_path_data_home(&a), &err) != KW_OK || kw_file_write(path, text.ptr, text.len, &err) != KW_OK))
		kw_log(KW_LOG_DEBUG, "ceilings are not kept: %s", err.text);
	json_decref(all);
	kw_buf_release(&text);
	kw_arena_release(&a);
}

/* ---- one entry ---- */

static void machine_text(const struct kw_hardware *h, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "%s, %s, %s", h->name, h->arch, h->driver);
}

static bool is_entry(const json_t *one, const char *kind, int64_t bytes)
{
	return strcmp(kw_json_get_str(one, "kind", ""), kind) == 0 && kw_json_get_i64(one, "bytes", 0) == bytes;
}

bool kw_ceiling_kept(const struct kw_hardware *h, const char *kind, int64_t bytes, const char *const *methods,
		     struct kw_ceiling *out)
{
	char machine[256];
	const json_t *one;
	json_t *list;
	bool found = false;
	size_t i;

	machine_text(h, machine, sizeof(machine));
	list = kw_ceilings_read(machine);
	json_array_foreach(list, i, one) {
		double per_s = kw_json_get_f64(one, "per_s", 0);

		if (!is_entry(one, kind, bytes) || !(per_s > 0) || kw_wall_ms() - kw_json_get_i64(one, "when_ms", 0) > kw_ceiling_keep_ms)
			continue;
		for (size_t k = 0; methods[k]; k++)
			if (strcmp(methods[k], kw_json_get_str(one, "method", "")) == 0) {
				out->per_s = per_s;
				out->bytes = bytes;
				out->method = methods[k];
				found = true;
			}
	}
	json_decref(list);
	return found;
}

void kw_ceiling_keep(const struct kw_hardware *h, const char *kind, const struct kw_ceiling *c, json_t *about)
{
	int64_t now = kw_wall_ms();
	char machine[256], when[32];
	json_t *list, *entry;

	machine_text(h, machine, sizeof(machine));
	list = kw_ceilings_read(machine);
	for (size_t i = json_array_size(list); i > 0; i--)
		if (is_entry(json_array_get(list, i - 1), kind, c->bytes))
			json_array_remove(list, i - 1);
	entry = json_pack("{s:s,s:I,s:f,s:s,s:I,s:s}", "kind", kind, "bytes", (json_int_t)c->bytes, "per_s", c->per_s, "method", c->method,
			  "when_ms", (json_int_t)now, "when", kw_wall_text(now, when, sizeof(when)));
	if (about)
		json_object_update(entry, about);
	json_decref(about);
	json_array_append_new(list, entry);
	kw_ceilings_write(machine, list);
}

/* json.h - jansson with our errors and our rules.
 *
 * Trees are jansson's (json_t, reference counted); this header adds bounded parsing, typed
 * getters, canonical text (sorted keys, no spaces, shortest doubles) for hashing, and
 * finite doubles only (NaN and Inf are written as null). */
#ifndef KW_BASE_JSON_H
#define KW_BASE_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* name is for messages ("FILE:line:column: …"). Refuses duplicate keys and over 64 levels. */
enum kw_status kw_json_parse(const char *name, const char *text, size_t len, json_t **out,
			     struct kw_error *err);
/* Canonical: sorted keys, compact. */
enum kw_status kw_json_canonical(const json_t *j, struct kw_buf *out, struct kw_error *err);
/* For people: 2 spaces, insertion order. */
enum kw_status kw_json_pretty(const json_t *j, struct kw_buf *out, struct kw_error *err);
json_t *kw_json_real(double v);                      /* null for NaN and Inf */
/* Getters with a default; never fail. */
const char *kw_json_get_str(const json_t *obj, const char *key, const char *fallback);
int64_t kw_json_get_i64(const json_t *obj, const char *key, int64_t fallback);
double kw_json_get_f64(const json_t *obj, const char *key, double fallback);
bool kw_json_get_bool(const json_t *obj, const char *key, bool fallback);

#endif

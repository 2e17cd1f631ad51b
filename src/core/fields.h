/* fields.h - a plain struct to and from a JSON object, by a table of its members.
 *
 *     static const struct kw_field fields[] = {
 *             KW_FIELD(struct kw_times, "median_ns", F64, median_ns),
 *             KW_FIELD(struct kw_times, "cold", BOOL, cold),
 *     };
 *     ok = kw_fields_put(obj, fields, KW_FIELD_COUNT(fields), &times);
 *
 * Doubles that JSON does not have are the strings "nan", "inf" and "-inf", but for a KNOWN one, whose NaN is null: set it
 * to NaN before it is read. Texts that are not UTF-8
 * (a compiler's message cut in the middle of a character) have their bad bytes replaced by '?'.
 * Internal to src/core. */
#ifndef KW_CORE_FIELDS_H
#define KW_CORE_FIELDS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

enum kw_field_kind {
	KW_FIELD_F64,              /* double */
	KW_FIELD_KNOWN,            /* double; one that is not known (NaN) is null */
	KW_FIELD_I64,              /* int64_t */
	KW_FIELD_INT,              /* int */
	KW_FIELD_BOOL,             /* bool */
	KW_FIELD_STR,              /* const char *; NULL is null */
	KW_FIELD_CHARS             /* char[size] */
};
struct kw_field {
	const char *key;
	enum kw_field_kind kind;
	size_t offset, size;
};
#define KW_FIELD(type, key, kind, member) \
	{ key, KW_FIELD_##kind, offsetof(type, member), sizeof(((type *)0)->member) }
#define KW_FIELD_COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

/* False when out of memory. */
bool kw_fields_put(json_t *obj, const struct kw_field *fields, size_t count, const void *base);
/* A key that is not there (or null) leaves its member alone; one of another type is an error. Strings are
 * copied to the arena. what: the object's name for messages. */
enum kw_status kw_fields_get(const json_t *obj, const char *what, const struct kw_field *fields,
			     size_t count, void *base, struct kw_arena *a, struct kw_error *err);

json_t *kw_field_text(const char *text);                /* NULL: null */
json_t *kw_field_real(double v);
bool kw_field_to_real(const json_t *j, double *out);
/* Sets a key and owns value; false when either could not be made. */
bool kw_field_set(json_t *obj, const char *key, json_t *value);
/* Lists of doubles, of int64, of texts; of objects, each filled by put (false: out of memory). NULL: out of memory. */
json_t *kw_field_reals(const double *v, size_t count);
json_t *kw_field_ints(const int64_t *v, size_t count);
json_t *kw_field_texts(const char *const *v, size_t count);
json_t *kw_field_objects(const void *first, size_t bytes, size_t count, bool (*put)(json_t *obj, const void *item));
/* The list under a key, in the arena; NULL and 0 when there is none. */
enum kw_status kw_field_get_reals(const json_t *obj, const char *key, double **out, size_t *count,
				  struct kw_arena *a, struct kw_error *err);
enum kw_status kw_field_get_ints(const json_t *obj, const char *key, int64_t **out, size_t *count,
				 struct kw_arena *a, struct kw_error *err);
enum kw_status kw_field_get_texts(const json_t *obj, const char *key, const char ***out, size_t *count,
				  struct kw_arena *a, struct kw_error *err);

#endif

/* yaml.h - libfyaml behind one checked walker.
 *
 * A document is parsed once into nodes of our own; every node knows its line and column, so each
 * message reads "softmax.yaml:12:3: …". Duplicate keys are refused; caps: 1 MiB, 32 levels,
 * 100,000 nodes. Flow and block style are the same to the walker, but see kw_yaml_is_plain_null:
 * `{ expr: y = max(x, 0) }` splits at the comma, and the loader uses that to say so.
 *
 *     struct kw_yaml *root;
 *     kw_yaml_parse("softmax.yaml", text, len, arena, &root, err);
 *     static const char *const keys[] = { "name", "dims", NULL };
 *     kw_yaml_check_keys(root, keys, err);             // unknown key: suggests the nearest
 *     kw_yaml_get_str(root, "name", true, &name, err); // required
 *
 * Refused besides: anchors, aliases, tags, a second document, bytes that are not UTF-8.
 * All memory is in the arena; nothing to release. */
#ifndef KW_BASE_YAML_H
#define KW_BASE_YAML_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

enum kw_yaml_kind { KW_YAML_SCALAR, KW_YAML_SEQ, KW_YAML_MAP };
struct kw_yaml {
	enum kw_yaml_kind kind;
	const char *file;             /* as given to parse */
	int line, column;             /* from 1 */
	const char *text;             /* scalar: value; NUL-terminated */
	size_t text_len;
	bool quoted;                  /* scalar was quoted or a block: never a number or null */
	bool flow;                    /* map or seq was written in flow style */
	const char *key;              /* this node's key when its parent is a map */
	int key_line, key_column;
	struct kw_yaml *first, *next; /* children in order */
	size_t child_count;
};

enum kw_status kw_yaml_parse(const char *file, const char *text, size_t len, struct kw_arena *a,
			     struct kw_yaml **root, struct kw_error *err);
/* "file:line:column" of a node into out; returns out. */
const char *kw_yaml_where(const struct kw_yaml *n, char *out, size_t out_bytes);
/* Fails at a node: kw_fail with its place. */
enum kw_status kw_yaml_fail(const struct kw_yaml *n, struct kw_error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* True for an unquoted empty value, ~ or null; false for NULL. */
bool kw_yaml_is_plain_null(const struct kw_yaml *n);
/* NULL when there is no such key (or n is no map). */
const struct kw_yaml *kw_yaml_find(const struct kw_yaml *map, const char *key);
enum kw_status kw_yaml_check_keys(const struct kw_yaml *map, const char *const *keys,
				  struct kw_error *err);
/* Typed readers. With required false and the key absent, *out is left alone. */
enum kw_status kw_yaml_get_str(const struct kw_yaml *map, const char *key, bool required,
			       const char **out, struct kw_error *err);
enum kw_status kw_yaml_get_i64(const struct kw_yaml *map, const char *key, bool required,
			       int64_t *out, struct kw_error *err);
enum kw_status kw_yaml_get_f64(const struct kw_yaml *map, const char *key, bool required,
			       double *out, struct kw_error *err);
enum kw_status kw_yaml_get_bool(const struct kw_yaml *map, const char *key, bool required,
				bool *out, struct kw_error *err);
enum kw_status kw_yaml_i64(const struct kw_yaml *scalar, int64_t *out, struct kw_error *err);
enum kw_status kw_yaml_f64(const struct kw_yaml *scalar, double *out, struct kw_error *err);

#endif

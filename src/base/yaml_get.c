/* The checked readers of yaml.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"

const char *kw_yaml_where(const struct kw_yaml *n, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "%s:%d:%d", n->file, n->line, n->column);
	return out;
}

enum kw_status kw_yaml_fail(const struct kw_yaml *n, struct kw_error *err, const char *fmt, ...)
{
	char where[512], text[1536];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return kw_fail(err, KW_ERR_INPUT, kw_yaml_where(n, where, sizeof(where)), "%s", text);
}

static const char *kind_name(const struct kw_yaml *n)
{
	return n->kind == KW_YAML_MAP ? "a map" : n->kind == KW_YAML_SEQ ? "a list" : "a value";
}

bool kw_yaml_is_plain_null(const struct kw_yaml *n)
{
	return n && n->kind == KW_YAML_SCALAR && !n->quoted &&
	       (n->text_len == 0 || strcmp(n->text, "~") == 0 || strcmp(n->text, "null") == 0);
}

const struct kw_yaml *kw_yaml_find(const struct kw_yaml *map, const char *key)
{
	if (!map || map->kind != KW_YAML_MAP)
		return NULL;
	for (const struct kw_yaml *c = map->first; c; c = c->next)
		if (strcmp(c->key, key) == 0)
			return c;
	return NULL;
}

enum kw_status kw_yaml_check_keys(const struct kw_yaml *map, const char *const *keys,
				  struct kw_error *err)
{
	size_t n = 0;

	if (map->kind != KW_YAML_MAP)
		return kw_yaml_fail(map, err, "expected a map of keys and values, got %s",
				    kind_name(map));
	while (keys[n])
		n++;
	for (const struct kw_yaml *c = map->first; c; c = c->next) {
		struct kw_yaml at = { .file = c->file, .line = c->key_line,
				      .column = c->key_column };
		const char *near;
		size_t i = 0;

		while (i < n && strcmp(keys[i], c->key) != 0)
			i++;
		if (i < n)
			continue;
		near = kw_str_nearest(c->key, keys, n);
		if (near)
			return kw_yaml_fail(&at, err, "unknown key '%.100s'; did you mean '%s'?",
					    c->key, near);
		return kw_yaml_fail(&at, err, "unknown key '%.100s'", c->key);
	}
	return KW_OK;
}

/* *found is NULL when the key is absent and need not be there. */
static enum kw_status find_scalar(const struct kw_yaml *map, const char *key, bool required,
				  const struct kw_yaml **found, struct kw_error *err)
{
	*found = kw_yaml_find(map, key);
	if (!*found)
		return required ? kw_yaml_fail(map, err, "key '%s' is missing", key) : KW_OK;
	if ((*found)->kind != KW_YAML_SCALAR)
		return kw_yaml_fail(*found, err, "'%s' must be one value, not %s", key,
				    kind_name(*found));
	return KW_OK;
}

enum kw_status kw_yaml_get_str(const struct kw_yaml *map, const char *key, bool required,
			       const char **out, struct kw_error *err)
{
	const struct kw_yaml *n;
	enum kw_status s = find_scalar(map, key, required, &n, err);

	if (s != KW_OK || !n)
		return s;
	if (kw_yaml_is_plain_null(n))
		return kw_yaml_fail(n, err, "'%s' is empty", key);
	*out = n->text;
	return KW_OK;
}

enum kw_status kw_yaml_i64(const struct kw_yaml *scalar, int64_t *out, struct kw_error *err)
{
	if (scalar->kind != KW_YAML_SCALAR)
		return kw_yaml_fail(scalar, err, "expected a whole number, got %s",
				    kind_name(scalar));
	if (scalar->quoted ||
	    !kw_str_to_i64((struct kw_str){ scalar->text, scalar->text_len }, out))
		return kw_yaml_fail(scalar, err, "expected a whole number of 64 bits, got '%.100s'",
				    scalar->text);
	return KW_OK;
}

enum kw_status kw_yaml_f64(const struct kw_yaml *scalar, double *out, struct kw_error *err)
{
	static const struct {
		const char *text;
		double value;
	} special[] = { { ".inf", INFINITY }, { "-.inf", -INFINITY }, { ".nan", NAN } };

	if (scalar->kind != KW_YAML_SCALAR)
		return kw_yaml_fail(scalar, err, "expected a number, got %s", kind_name(scalar));
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		if (!scalar->quoted && strcmp(scalar->text, special[i].text) == 0) {
			*out = special[i].value;
			return KW_OK;
		}
	}
	if (scalar->quoted ||
	    !kw_str_to_f64((struct kw_str){ scalar->text, scalar->text_len }, out))
		return kw_yaml_fail(scalar, err, "expected a number, got '%.100s'", scalar->text);
	return KW_OK;
}

enum kw_status kw_yaml_get_i64(const struct kw_yaml *map, const char *key, bool required,
			       int64_t *out, struct kw_error *err)
{
	const struct kw_yaml *n;
	enum kw_status s = find_scalar(map, key, required, &n, err);

	return s != KW_OK || !n ? s : kw_yaml_i64(n, out, err);
}

enum kw_status kw_yaml_get_f64(const struct kw_yaml *map, const char *key, bool required,
			       double *out, struct kw_error *err)
{
	const struct kw_yaml *n;
	enum kw_status s = find_scalar(map, key, required, &n, err);

	return s != KW_OK || !n ? s : kw_yaml_f64(n, out, err);
}

enum kw_status kw_yaml_get_bool(const struct kw_yaml *map, const char *key, bool required,
				bool *out, struct kw_error *err)
{
	const struct kw_yaml *n;
	enum kw_status s = find_scalar(map, key, required, &n, err);

	if (s != KW_OK || !n)
		return s;
	if (n->quoted || (strcmp(n->text, "true") != 0 && strcmp(n->text, "false") != 0))
		return kw_yaml_fail(n, err, "'%s' must be true or false, not '%.100s'", key,
				    n->text);
	*out = n->text[0] == 't';
	return KW_OK;
}

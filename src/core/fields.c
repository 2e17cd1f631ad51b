#include "core/fields.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

/* Length of the valid character at p, or 0. */
static size_t character(const char *p)
{
	size_t left = strnlen(p, 4);

	for (size_t n = 1; n <= left; n++)
		if (kw_utf8_valid(p, n))
			return n;
	return 0;
}

json_t *kw_field_text(const char *text)
{
	json_t *j;
	char *clean;

	if (!text)
		return json_null();
	if (kw_utf8_valid(text, strlen(text)))
		return json_string(text);
	clean = kw_strdup(text);
	for (char *p = clean; p && *p;) {
		size_t n = character(p);

		if (n == 0)
			*p = '?';
		p += n ? n : 1;
	}
	j = clean ? json_string(clean) : NULL;
	kw_free(clean);
	return j;
}

json_t *kw_field_real(double v)
{
	if (isnan(v))
		return json_string("nan");
	if (isinf(v))
		return json_string(v > 0 ? "inf" : "-inf");
	return json_real(v);
}

bool kw_field_to_real(const json_t *j, double *out)
{
	const char *text = json_string_value(j);

	if (json_is_number(j))
		*out = json_number_value(j);
	else if (text && strcmp(text, "nan") == 0)
		*out = NAN;
	else if (text && strcmp(text, "inf") == 0)
		*out = INFINITY;
	else if (text && strcmp(text, "-inf") == 0)
		*out = -INFINITY;
	else
		return false;
	return true;
}

bool kw_field_set(json_t *obj, const char *key, json_t *value)
{
	return json_object_set_new(obj, key, value) == 0;
}

static json_t *make_value(const struct kw_field *f, const void *member)
{
	double real;
	int64_t wide;
	int narrow;
	bool flag;
	const char *text;

	switch (f->kind) {
	case KW_FIELD_F64:
		memcpy(&real, member, sizeof(real));
		return kw_field_real(real);
	case KW_FIELD_KNOWN:
		memcpy(&real, member, sizeof(real));
		return isnan(real) ? json_null() : kw_field_real(real);
	case KW_FIELD_I64:
		memcpy(&wide, member, sizeof(wide));
		return json_integer(wide);
	case KW_FIELD_INT:
		memcpy(&narrow, member, sizeof(narrow));
		return json_integer(narrow);
	case KW_FIELD_BOOL:
		memcpy(&flag, member, sizeof(flag));
		return json_boolean(flag);
	case KW_FIELD_STR:
		memcpy(&text, member, sizeof(text));
		return kw_field_text(text);
	case KW_FIELD_CHARS:
		return kw_field_text(member);
	}
	return NULL;
}

bool kw_fields_put(json_t *obj, const struct kw_field *fields, size_t count, const void *base)
{
	bool all = obj != NULL;

	for (size_t i = 0; i < count && all; i++)
		all = kw_field_set(obj, fields[i].key,
				   make_value(&fields[i], (const char *)base + fields[i].offset));
	return all;
}

static enum kw_status fail_type(const struct kw_field *f, const char *what, struct kw_error *err)
{
	static const char *const kinds[] = {
		[KW_FIELD_F64] = "a number",       [KW_FIELD_KNOWN] = "a number", [KW_FIELD_I64] = "a whole number",
		[KW_FIELD_INT] = "a whole number", [KW_FIELD_BOOL] = "true or false",
		[KW_FIELD_STR] = "a text",         [KW_FIELD_CHARS] = "a text",
	};

	return kw_fail(err, KW_ERR_INPUT, "", "'%s' of %s must be %s", f->key, what, kinds[f->kind]);
}

/* Integers in their range; *ok false otherwise. */
static bool get_integer(const json_t *j, const struct kw_field *f, void *member)
{
	int64_t v = json_is_integer(j) ? (int64_t)json_integer_value(j) : 0;
	int narrow = (int)v;

	if (!json_is_integer(j) || (f->kind == KW_FIELD_INT && (v < INT_MIN || v > INT_MAX)))
		return false;
	if (f->kind == KW_FIELD_INT)
		memcpy(member, &narrow, sizeof(narrow));
	else
		memcpy(member, &v, sizeof(v));
	return true;
}

static enum kw_status get_text(const json_t *j, const struct kw_field *f, void *member,
			       struct kw_arena *a, struct kw_error *err)
{
	const char *text = json_string_value(j);
	size_t n = strlen(text);

	if (f->kind == KW_FIELD_CHARS) {
		n = n < f->size ? n : f->size - 1;
		memcpy(member, text, n);
		((char *)member)[n] = '\0';
		return KW_OK;
	}
	text = kw_arena_strdup(a, text);
	memcpy(member, &text, sizeof(text));
	return text ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
}

static enum kw_status get_field(const json_t *j, const char *what, const struct kw_field *f,
				void *member, struct kw_arena *a, struct kw_error *err)
{
	double real;
	bool flag = json_is_true(j);

	switch (f->kind) {
	case KW_FIELD_F64:
	case KW_FIELD_KNOWN:
		if (!kw_field_to_real(j, &real))
			return fail_type(f, what, err);
		memcpy(member, &real, sizeof(real));
		return KW_OK;
	case KW_FIELD_I64:
	case KW_FIELD_INT:
		return get_integer(j, f, member) ? KW_OK : fail_type(f, what, err);
	case KW_FIELD_BOOL:
		if (!json_is_boolean(j))
			return fail_type(f, what, err);
		memcpy(member, &flag, sizeof(flag));
		return KW_OK;
	default:
		if (!json_is_string(j))
			return fail_type(f, what, err);
		return get_text(j, f, member, a, err);
	}
}

enum kw_status kw_fields_get(const json_t *obj, const char *what, const struct kw_field *fields,
			     size_t count, void *base, struct kw_arena *a, struct kw_error *err)
{
	enum kw_status s = KW_OK;

	if (!json_is_object(obj))
		return kw_fail(err, KW_ERR_INPUT, "", "%s must be a JSON object", what);
	for (size_t i = 0; i < count && s == KW_OK; i++) {
		const json_t *j = json_object_get(obj, fields[i].key);

		if (j && !json_is_null(j))
			s = get_field(j, what, &fields[i], (char *)base + fields[i].offset, a, err);
	}
	return s;
}

/* Values of one kind that lie one behind the other, `bytes` each. */
static json_t *make_list(enum kw_field_kind kind, size_t bytes, const void *first, size_t count)
{
	const struct kw_field f = { .kind = kind };
	json_t *list = json_array();
	bool all = list != NULL;

	for (size_t i = 0; i < count && all; i++)
		all = json_array_append_new(list, make_value(&f, (const char *)first + i * bytes)) == 0;
	if (all)
		return list;
	json_decref(list);
	return NULL;
}

json_t *kw_field_reals(const double *v, size_t count)
{
	return make_list(KW_FIELD_F64, sizeof(*v), v, count);
}

json_t *kw_field_ints(const int64_t *v, size_t count)
{
	return make_list(KW_FIELD_I64, sizeof(*v), v, count);
}

json_t *kw_field_texts(const char *const *v, size_t count)
{
	return make_list(KW_FIELD_STR, sizeof(*v), v, count);
}

json_t *kw_field_objects(const void *first, size_t bytes, size_t count, bool (*put)(json_t *obj, const void *item))
{
	json_t *list = json_array();
	bool all = list != NULL;

	for (size_t i = 0; i < count && all; i++) {
		json_t *obj = json_object();

		all = json_array_append_new(list, obj) == 0 && put(obj, (const char *)first + i * bytes);
	}
	if (all)
		return list;
	json_decref(list);
	return NULL;
}

/* The list under a key, into the arena; NULL and 0 when there is none. */
static enum kw_status get_list(const json_t *obj, const char *key, enum kw_field_kind kind, size_t bytes, void **out,
			       size_t *count, struct kw_arena *a, struct kw_error *err)
{
	static const char *const kinds[] = { "numbers", "whole numbers", "whole numbers",
					     "true or false", "texts", "texts" };
	const json_t *list = json_object_get(obj, key);
	const struct kw_field f = { .key = key, .kind = kind, .size = bytes };
	enum kw_status s = KW_OK;

	*out = NULL;
	*count = json_array_size(list);
	if (list && !json_is_null(list) && !json_is_array(list))
		return kw_fail(err, KW_ERR_INPUT, "", "'%s' must be a list", key);
	if (*count == 0)
		return KW_OK;
	*out = kw_arena_calloc(a, *count, bytes);
	if (!*out)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (size_t i = 0; i < *count && s == KW_OK; i++)
		s = get_field(json_array_get(list, i), "", &f, (char *)*out + i * bytes, a, err);
	return s == KW_ERR_INPUT ? kw_fail(err, s, "", "'%s' must hold %s", key, kinds[kind]) : s;
}

enum kw_status kw_field_get_reals(const json_t *obj, const char *key, double **out, size_t *count,
				  struct kw_arena *a, struct kw_error *err)
{
	void *list;
	enum kw_status s = get_list(obj, key, KW_FIELD_F64, sizeof(**out), &list, count, a, err);

	*out = list;
	return s;
}

enum kw_status kw_field_get_ints(const json_t *obj, const char *key, int64_t **out, size_t *count,
				 struct kw_arena *a, struct kw_error *err)
{
	void *list;
	enum kw_status s = get_list(obj, key, KW_FIELD_I64, sizeof(**out), &list, count, a, err);

	*out = list;
	return s;
}

enum kw_status kw_field_get_texts(const json_t *obj, const char *key, const char ***out, size_t *count,
				  struct kw_arena *a, struct kw_error *err)
{
	void *list;
	enum kw_status s = get_list(obj, key, KW_FIELD_STR, sizeof(**out), &list, count, a, err);

	*out = list;
	return s;
}

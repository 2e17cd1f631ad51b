#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

enum { MAX_DEPTH = 64 };

/* jansson's lexer drops the byte that it has no memory for and goes on, so a text would lose a letter. */
static _Thread_local bool lacked;

static void *alloc(size_t n)
{
	void *p = kw_alloc(n);

	lacked = lacked || !p;
	return p;
}

/* Trees are then made by our allocator, which can fail on purpose. Both end in malloc and free,
 * so it does not matter what was made before. */
__attribute__((constructor)) static void use_our_allocator(void)
{
	json_set_alloc_funcs(alloc, kw_free);
}

/* jansson itself recurses up to 2,048 levels; a scan outside of strings tells the place too. */
static enum kw_status check_depth(const char *name, const char *text, size_t len,
				  struct kw_error *err)
{
	int depth = 0, line = 1, column = 0;
	bool in_string = false;
	char where[512];

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		column++;
		if (c == '\n') {
			line++;
			column = 0;
		}
		if (in_string) {
			if (c == '\\')
				i++, column++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if ((c == '[' || c == '{') && ++depth > MAX_DEPTH) {
			snprintf(where, sizeof(where), "%s:%d:%d", name, line, column);
			return kw_fail(err, KW_ERR_LIMIT, where, "more than %d levels of nesting",
				       MAX_DEPTH);
		} else if (c == ']' || c == '}') {
			depth--;
		}
	}
	return KW_OK;
}

enum kw_status kw_json_parse(const char *name, const char *text, size_t len, json_t **out,
			     struct kw_error *err)
{
	enum kw_status s = check_depth(name, text, len, err);
	json_error_t fault;
	char where[512];

	*out = NULL;
	if (s != KW_OK)
		return s;
	lacked = false;
	*out = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
	if (*out && !lacked)
		return KW_OK;
	if (*out || lacked) {
		json_decref(*out);
		*out = NULL;
		return kw_fail(err, KW_ERR_NOMEM, name, "out of memory");
	}
	/* jansson leaves the text empty when it could not even start. */
	if (json_error_code(&fault) == json_error_out_of_memory || fault.text[0] == '\0')
		return kw_fail(err, KW_ERR_NOMEM, name, "out of memory");
	snprintf(where, sizeof(where), "%s:%d:%d", name, fault.line < 1 ? 1 : fault.line,
		 fault.column < 1 ? 1 : fault.column);
	return kw_fail(err, KW_ERR_INPUT, where, "%s", fault.text);
}

json_t *kw_json_real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

const char *kw_json_get_str(const json_t *obj, const char *key, const char *fallback)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s ? s : fallback;
}

int64_t kw_json_get_i64(const json_t *obj, const char *key, int64_t fallback)
{
	const json_t *v = json_object_get(obj, key);

	return json_is_integer(v) ? (int64_t)json_integer_value(v) : fallback;
}

double kw_json_get_f64(const json_t *obj, const char *key, double fallback)
{
	const json_t *v = json_object_get(obj, key);

	return json_is_number(v) ? json_number_value(v) : fallback;
}

bool kw_json_get_bool(const json_t *obj, const char *key, bool fallback)
{
	const json_t *v = json_object_get(obj, key);

	return json_is_boolean(v) ? json_is_true(v) : fallback;
}

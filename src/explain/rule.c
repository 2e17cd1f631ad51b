#include "explain/rule.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

enum { MAX_GROUP = 600 }; /* bytes of a message's words in a sentence */

static const char *const about_names[KW_ABOUT_COUNT] = {
#define X(e, name) name,
	KW_ABOUT_LIST(X)
#undef X
};

const char *kw_about_name(enum kw_about a)
{
	return about_names[a];
}

static const char *const keys[] = { "title",	"about",     "when",	   "message", "captures", "verdict",
				    "evidence", "directive", "change",	   "moves",   "gain",	  "rank",     "sure",
				    "relieves", "check",     "wrong_when", "source",  "hides",	  "choice",
				    "final",	"fallback",  "waste",  "class",	   "example", "quiet",	  "opencl", "hip",
				    "triton", NULL };
static const char *const word_keys[] = { "title", "verdict", "evidence", "change", "check", "wrong_when", NULL };

/* ---- reading ---- */

static enum kw_status condition(const struct kw_yaml *map, const char *key, bool required, struct kw_rule *r,
				struct kw_arena *a, struct kw_condition **out, struct kw_error *err)
{
	const struct kw_yaml *at = kw_yaml_find(map, key);
	const char *text = NULL;
	char where[512];
	enum kw_status s = kw_yaml_get_str(map, key, required, &text, err);

	if (s != KW_OK || !text)
		return s;
	return kw_condition_parse(text, &r->captures, a, out, kw_yaml_where(at, where, sizeof(where)), err);
}

static enum kw_status texts(const struct kw_yaml *map, const char *key, const char **out, size_t *count,
			    struct kw_error *err)
{
	const struct kw_yaml *list = kw_yaml_find(map, key);

	*count = 0;
	if (!list)
		return KW_OK;
	if (list->kind != KW_YAML_SEQ)
		return kw_yaml_fail(list, err, "'%s' must be a list", key);
	for (const struct kw_yaml *c = list->first; c; c = c->next) {
		if (c->kind != KW_YAML_SCALAR || *count == KW_RULE_MAX_LIST)
			return kw_yaml_fail(c, err, "'%s' must hold at most %d words", key, KW_RULE_MAX_LIST);
		out[(*count)++] = c->text;
	}
	return KW_OK;
}

static enum kw_status relieves(const struct kw_yaml *map, struct kw_rule *r, struct kw_error *err)
{
	static const char *const names[] = { "dram", "l2", "l1", "sm" };
	const char *list[KW_RULE_MAX_LIST];
	size_t n;
	enum kw_status s = texts(map, "relieves", list, &n, err);

	for (size_t i = 0; s == KW_OK && i < n; i++) {
		size_t k = 0;

		while (k < 4 && strcmp(names[k], list[i]) != 0)
			k++;
		if (k == 4)
			return kw_yaml_fail(kw_yaml_find(map, "relieves"), err, "'%.40s' is no unit: dram, l2, l1, sm",
					    list[i]);
		r->relieves |= 1u << k;
	}
	return s;
}

/* "metric: value" pairs, or one text for a message rule. */
static enum kw_status example(const struct kw_yaml *map, const char *key, struct kw_rule_example *out, size_t *count,
			      const char **text, struct kw_error *err)
{
	const struct kw_yaml *e = kw_yaml_find(map, key);

	*count = 0;
	if (!e)
		return KW_OK;
	if (e->kind == KW_YAML_SCALAR) {
		*text = e->text;
		return KW_OK;
	}
	if (e->kind != KW_YAML_MAP)
		return kw_yaml_fail(e, err, "'%s' must be a map of metrics and values, or a line of text", key);
	for (const struct kw_yaml *c = e->first; c; c = c->next) {
		struct kw_rule_example *x = &out[*count];
		enum kw_status s;

		if (*count == KW_RULE_MAX_EXAMPLE)
			return kw_yaml_fail(c, err, "at most %d values", KW_RULE_MAX_EXAMPLE);
		x->before = strncmp(c->key, "before.", 7) == 0;
		x->metric = kw_metric_by_name(x->before ? c->key + 7 : c->key);
		if (x->metric < 0)
			return kw_yaml_fail(c, err, "no metric is called '%.60s'", c->key);
		s = kw_yaml_f64(c, &x->value, err);
		if (s != KW_OK)
			return s;
		(*count)++;
	}
	return KW_OK;
}

/* The end of a pattern's [...], whose first character p is. */
static const char *brackets_end(const char *p)
{
	p += p[1] == '^' ? 2 : 1;
	for (p += *p == ']'; *p && *p != ']'; p++) {
		const char kind = *p == '[' && p[1] && strchr(":.=", p[1]) ? p[1] : 0;

		if (kind)
			for (p += 2; *p && p[1] && !(*p == kind && p[1] == ']');)
				p++;
	}
	return *p ? p + 1 : p;
}

/* How often what is ahead of the {...} or + at *p is written out for it; goes behind its numbers. x+ is xx*, and x{2,} is xxx*. */
static unsigned long repeats(const char **p)
{
	char *end;
	unsigned long least, most;

	if (**p == '+') {
		(*p)++;
		return 2;
	}
	least = strtoul(*p + 1, &end, 10);
	most = least;
	if (*end == ',') {
		const char *second = end + 1;

		most = strtoul(second, &end, 10);
		most = end == second ? least + 1 : most > least ? most : least;
	}
	*p = end;
	return most < 1 ? 1 : most > KW_RULE_MAX_PATTERN ? KW_RULE_MAX_PATTERN : most;
}

/* The characters of a pattern with its repeats written out, as regcomp does, which takes memory by the square of that: ((a{20}){20}){20} is
 * 8,000 of them, and a with twenty + behind it is a million. Within a group it stops at the group's end. What is over KW_RULE_MAX_PATTERN need
 * not be exact. */
static size_t written_out(const char **at, bool in_group)
{
	const char *p = *at, *atom;
	size_t ahead = 0, last = 0;

	while (*p && !(in_group && *p == ')')) {
		if (*p == '+' || (*p == '{' && (isdigit((unsigned char)p[1]) || p[1] == ','))) {
			last = (last ? last : 1) * repeats(&p);
			last = last > KW_RULE_MAX_PATTERN ? KW_RULE_MAX_PATTERN + 1 : last;
			continue;
		}
		if (strchr("*?}", *p)) {
			last++, p++;
			continue;
		}
		ahead += last;
		atom = p++;
		if (*atom == '(') {
			last = 2 + written_out(&p, true);
			p += *p != 0;
			continue;
		}
		if (*atom == '\\' && *p)
			p++;
		else if (*atom == '[')
			p = brackets_end(atom);
		last = (size_t)(p - atom);
	}
	*at = p;
	return ahead + last;
}

static enum kw_status message(const struct kw_yaml *map, struct kw_rule *r, struct kw_arena *a, struct kw_error *err)
{
	char why[200];
	const char *rest;
	int code;
	enum kw_status s = kw_yaml_get_str(map, "message", true, &r->pattern, err);

	if (s == KW_OK)
		s = texts(map, "captures", r->captures.name, &r->captures.count, err);
	if (s != KW_OK)
		return s;
	if (r->captures.count > KW_MAX_CAPTURES)
		return kw_yaml_fail(kw_yaml_find(map, "captures"), err, "at most %d captures", KW_MAX_CAPTURES);
	rest = r->pattern;
	if (strlen(rest) > KW_RULE_MAX_PATTERN || written_out(&rest, false) > KW_RULE_MAX_PATTERN)
		return kw_yaml_fail(kw_yaml_find(map, "message"), err, "a pattern of over %d characters, with its repeats written out",
				    KW_RULE_MAX_PATTERN);
	r->message = kw_arena_calloc(a, 1, sizeof(*r->message));
	if (!r->message)
		return kw_fail(err, KW_ERR_NOMEM, r->file, "out of memory");
	code = regcomp(r->message, r->pattern, REG_EXTENDED | REG_ICASE);
	if (code == 0)
		return KW_OK;
	regerror(code, r->message, why, sizeof(why));
	r->message = NULL;
	return kw_yaml_fail(kw_yaml_find(map, "message"), err, "not a pattern: %s", why);
}

static enum kw_status words(const struct kw_yaml *map, struct kw_rule *r, struct kw_error *err)
{
	const struct {
		const char *key;
		bool required;
		const char **out;
	} list[] = {
		{ "title", true, &r->title },	      { "verdict", false, &r->verdict },
		{ "evidence", true, &r->evidence },   { "directive", true, &r->directive_id },
		{ "change", true, &r->directive },    { "moves", false, &r->moves },
		{ "check", true, &r->check },	      { "wrong_when", true, &r->wrong_when },
		{ "source", true, &r->source },	      { "choice", false, &r->choice },
		{ "class", false, &r->cls },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		enum kw_status s = kw_yaml_get_str(map, list[i].key, list[i].required, list[i].out, err);

		if (s != KW_OK)
			return s;
		if (list[i].required && !(*list[i].out)[0])
			return kw_yaml_fail(kw_yaml_find(map, list[i].key), err, "'%s' is empty", list[i].key);
	}
	return KW_OK;
}

/* The group that "{=3}" names; 0: none. */
static size_t group_number(const char *p, const char *end, size_t most)
{
	int64_t n;

	return kw_str_to_i64((struct kw_str){ p, (size_t)(end - p) }, &n) && n >= 1 && (size_t)n <= most && n < KW_MAX_SAID ? (size_t)n : 0;
}

/* Every {…} of a sentence must be an expression (or a group of the message), so that a slip is found when the rule is loaded. */
static enum kw_status check_sentence(const struct kw_rule *r, const char *sentence, struct kw_arena *a,
				     struct kw_error *err)
{
	for (const char *p = sentence ? strchr(sentence, '{') : NULL; p; p = strchr(p + 1, '{')) {
		const char *end = strchr(p, '}'), *colon;
		struct kw_condition *c;
		enum kw_status s;
		char *text;

		if (!end)
			return kw_fail(err, KW_ERR_INPUT, r->file, "a '{' has no '}' in \"%.100s\"", sentence);
		if (p[1] == '=' && (!r->message || !group_number(p + 2, end, r->message->re_nsub)))
			return kw_fail(err, KW_ERR_INPUT, r->file, "'%.*s' is no group of the rule's message", (int)(end - p + 1 < 40 ? end - p + 1 : 40), p);
		if (p[1] == '=')
			continue;
		colon = memrchr(p, ':', (size_t)(end - p));
		text = kw_arena_strndup(a, p + 1, (size_t)((colon ? colon : end) - p - 1));
		if (!text)
			return kw_fail(err, KW_ERR_NOMEM, r->file, "out of memory");
		s = kw_condition_parse(text, &r->captures, a, &c, r->file, err);
		if (s != KW_OK)
			return s;
	}
	return KW_OK;
}

static enum kw_status checks(struct kw_rule *r, struct kw_arena *a, struct kw_error *err)
{
	const char *const sentences[] = { r->evidence, r->verdict, r->directive, r->check };
	enum kw_status s = KW_OK;

	if (!r->cls)
		r->cls = "kernel";
	if (strcmp(r->cls, "kernel") != 0 && strcmp(r->cls, "environment") != 0 && strcmp(r->cls, "measurement") != 0)
		return kw_fail(err, KW_ERR_INPUT, r->file, "class must be kernel, environment or measurement");
	if (!(r->sure >= 0 && r->sure <= 1))
		return kw_fail(err, KW_ERR_INPUT, r->file, "sure must be between 0 and 1");
	if (r->message ? !r->example_text : r->example_count == 0)
		return kw_fail(err, KW_ERR_INPUT, r->file, "a rule has an example that fires");
	for (size_t i = 0; s == KW_OK && i < 4; i++)
		s = check_sentence(r, sentences[i], a, err);
	return s;
}

/* `opencl:`, `hip:` and `triton:` hold sentences that stand in for the rule's own where a kernel is in that language. */
static enum kw_status other_words(const struct kw_yaml *map, const char *language, enum kw_words words, struct kw_rule *r, struct kw_arena *a,
				  struct kw_error *err)
{
	const struct kw_yaml *own = kw_yaml_find(map, language);
	struct kw_rule *other;
	enum kw_status s;

	if (!own)
		return KW_OK;
	if (own->kind != KW_YAML_MAP)
		return kw_yaml_fail(own, err, "'%s' must be a map of sentences", language);
	other = kw_arena_alloc(a, sizeof(*other));
	if (!other)
		return kw_fail(err, KW_ERR_NOMEM, r->file, "out of memory");
	*other = *r;
	s = kw_yaml_check_keys(own, word_keys, err);
	for (size_t i = 0; s == KW_OK && word_keys[i]; i++) {
		const char **const out[] = { &other->title, &other->verdict, &other->evidence, &other->directive, &other->check, &other->wrong_when };

		s = kw_yaml_get_str(own, word_keys[i], false, out[i], err);
	}
	r->words[words] = other;
	return s == KW_OK ? checks(other, a, err) : s;
}

enum kw_status kw_rule_parse(const char *file, const char *text, size_t len, struct kw_arena *a, struct kw_rule *out,
			     struct kw_error *err)
{
	const char *about = NULL, *base = kw_path_base(file), *dot = strrchr(base, '.');
	struct kw_yaml *map;
	enum kw_status s = kw_yaml_parse(file, text, len, a, &map, err);
	size_t i = 0;

	*out = (struct kw_rule){ .file = file, .sure = 0.25 };
	out->name = kw_arena_strndup(a, base, dot ? (size_t)(dot - base) : strlen(base));
	if (s == KW_OK)
		s = kw_yaml_check_keys(map, keys, err);
	if (s == KW_OK)
		s = kw_yaml_get_str(map, "about", true, &about, err);
	if (s != KW_OK)
		return s;
	while (i < KW_ABOUT_COUNT && strcmp(about_names[i], about) != 0)
		i++;
	if (i == KW_ABOUT_COUNT)
		return kw_yaml_fail(kw_yaml_find(map, "about"), err,
				    "'%.40s': a rule is about gpu, cpu, code, message, timing or compare", about);
	out->about = (enum kw_about)i;
	s = words(map, out, err);
	if (s == KW_OK && out->about == KW_ABOUT_MESSAGE)
		s = message(map, out, a, err);
	if (s == KW_OK)
		s = condition(map, "when", out->about != KW_ABOUT_MESSAGE, out, a, &out->when, err);
	if (s == KW_OK)
		s = condition(map, "gain", false, out, a, &out->gain, err);
	if (s == KW_OK)
		s = condition(map, "rank", false, out, a, &out->rank, err);
	if (s == KW_OK)
		s = kw_yaml_get_f64(map, "sure", false, &out->sure, err);
	if (s == KW_OK)
		s = kw_yaml_get_bool(map, "final", false, &out->final, err);
	if (s == KW_OK)
		s = kw_yaml_get_bool(map, "fallback", false, &out->fallback, err);
	if (s == KW_OK)
		s = kw_yaml_get_bool(map, "waste", false, &out->waste, err);
	if (s == KW_OK)
		s = texts(map, "hides", out->hides, &out->hides_count, err);
	if (s == KW_OK)
		s = relieves(map, out, err);
	if (s == KW_OK)
		s = example(map, "example", out->example, &out->example_count, &out->example_text, err);
	if (s == KW_OK)
		s = example(map, "quiet", out->quiet, &out->quiet_count, &out->quiet_text, err);
	if (s == KW_OK)
		s = checks(out, a, err);
	if (s == KW_OK)
		s = other_words(map, "opencl", KW_WORDS_OPENCL, out, a, err);
	if (s == KW_OK)
		s = other_words(map, "hip", KW_WORDS_HIP, out, a, err);
	return s == KW_OK ? other_words(map, "triton", KW_WORDS_TRITON, out, a, err) : s;
}

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct kw_rule *)x)->name, ((const struct kw_rule *)y)->name);
}

static enum kw_status check_names(const struct kw_rule *rules, size_t n, struct kw_error *err)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < rules[i].hides_count; k++)
			if (!kw_rule_find(rules, n, rules[i].hides[k]))
				return kw_fail(err, KW_ERR_INPUT, rules[i].file, "it hides '%.60s', which is no rule",
					       rules[i].hides[k]);
		if (rules[i].choice && !kw_rule_find(rules, n, rules[i].choice))
			return kw_fail(err, KW_ERR_INPUT, rules[i].file, "its choice '%.60s' is no rule",
				       rules[i].choice);
	}
	return KW_OK;
}

enum kw_status kw_rules_load(struct kw_arena *a, struct kw_rule **out, size_t *count, struct kw_error *err)
{
	char **paths;
	size_t n;
	enum kw_status s = kw_data_list("knowledge/rules/", ".yaml", a, &paths, &n, err);

	*count = 0;
	if (s != KW_OK)
		return s;
	*out = kw_arena_calloc(a, n + 1, sizeof(**out));
	if (!*out)
		return kw_fail(err, KW_ERR_NOMEM, "knowledge/rules/", "no memory for the rules");
	for (size_t i = 0; s == KW_OK && i < n; i++) {
		char *text;
		size_t len;

		s = kw_data_read(paths[i], a, &text, &len, err);
		if (s == KW_OK)
			s = kw_rule_parse(paths[i], text, len, a, &(*out)[i], err);
		*count += (*out)[i].message || s == KW_OK;
	}
	if (s == KW_OK) {
		qsort(*out, *count, sizeof(**out), by_name);
		s = check_names(*out, *count, err);
	}
	if (s != KW_OK) {
		kw_rules_release(*out, *count);
		*count = 0;
	}
	return s;
}

void kw_rules_release(struct kw_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rules[i].message)
			regfree(rules[i].message);
}

bool kw_rule_hides(const struct kw_rule *a, const struct kw_rule *b)
{
	for (size_t i = 0; i < a->hides_count; i++)
		if (strcmp(a->hides[i], b->name) == 0)
			return true;
	return false;
}

const struct kw_rule *kw_rule_find(const struct kw_rule *rules, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(rules[i].name, name) == 0)
			return &rules[i];
	return NULL;
}

/* ---- using ---- */

const struct kw_rule *kw_rule_in_words_of(const struct kw_rule *r, enum kw_words words)
{
	return r->words[words] ? r->words[words] : r;
}

bool kw_rule_fires(const struct kw_rule *r, const struct kw_facts *f)
{
	double v = r->when ? kw_condition_eval(r->when, f) : 1;

	return !isnan(v) && (v < 0 || v > 0);
}

bool kw_rule_matches(const struct kw_rule *r, const char *line, struct kw_facts *f)
{
	regmatch_t m[KW_MAX_SAID];

	for (size_t i = 0; i < KW_MAX_CAPTURES; i++)
		f->captured[i] = NAN;
	if (!r->message || regexec(r->message, line, KW_MAX_SAID, m, 0) != 0)
		return false;
	for (size_t g = 0; g < KW_MAX_SAID; g++)
		f->said[g] = m[g].rm_so < 0 ? (struct kw_str){ NULL, 0 } : (struct kw_str){ line + m[g].rm_so, (size_t)(m[g].rm_eo - m[g].rm_so) };
	/* Names go to the groups that took part, in their order: alternatives may capture in different places. */
	for (size_t i = 0, g = 1; i < r->captures.count && g < KW_MAX_SAID; g++) {
		struct kw_str s = f->said[g];
		char text[32];

		if (!s.ptr)
			continue;
		snprintf(text, sizeof(text), "%.*s", (int)(s.len < 31 ? s.len : 31), s.ptr);
		if (strncmp(text, "0x", 2) == 0)
			f->captured[i] = (double)strtoull(text, NULL, 16);
		else if (!kw_number_read(s, KW_NUMBER_POINT, &f->captured[i]))
			continue;
		i++;
	}
	return true;
}

static void say_value(struct kw_buf *out, double v, struct kw_str form)
{
	char text[64];

	if (kw_str_eqz(form, "bytes"))
		kw_buf_addz(out, kw_human_bytes(v, text, sizeof(text)));
	else if (kw_str_eqz(form, "time"))
		kw_buf_addz(out, kw_human_ns(v, text, sizeof(text)));
	else if (kw_str_eqz(form, "rate"))
		kw_buf_addz(out, kw_human_rate(v, "B/s", text, sizeof(text)));
	else if (kw_str_eqz(form, "x"))
		kw_buf_printf(out, "%.3gx", v);
	else if (kw_str_eqz(form, "int"))
		kw_buf_printf(out, "%.0f", v);
	else if (form.len == 1 && form.ptr[0] >= '0' && form.ptr[0] <= '9')
		kw_buf_printf(out, "%.*f", form.ptr[0] - '0', v);
	else
		kw_buf_printf(out, "%.6g", v);
}

/* What a group of a message says, cut where it is long, between two letters. */
static void say_group(struct kw_str s, struct kw_buf *out, bool *missing)
{
	size_t n = s.len < MAX_GROUP ? s.len : kw_utf8_prefix(s.ptr, MAX_GROUP);

	if (!s.ptr || s.len == 0) {
		*missing = true;
		return;
	}
	kw_buf_add(out, s.ptr, n);
	if (n < s.len)
		kw_buf_addz(out, " ...");
}

/* {EXPRESSION:FORM} at p; returns what is behind it. *missing when there is no value. */
static const char *say_braces(const struct kw_rule *r, const char *p, const struct kw_facts *f, struct kw_arena *a,
			      struct kw_buf *out, bool *missing)
{
	const char *end = strchr(p, '}'), *colon;
	struct kw_condition *c;
	struct kw_error ignored;
	double v = NAN;

	char *text;

	if (!end)
		return p + strlen(p);
	if (p[1] == '=') {
		say_group(f->said[r->message ? group_number(p + 2, end, r->message->re_nsub) : 0], out, missing);
		return end + 1;
	}
	colon = memrchr(p, ':', (size_t)(end - p));
	text = kw_arena_strndup(a, p + 1, (size_t)((colon ? colon : end) - p - 1));
	if (text && kw_condition_parse(text, &r->captures, a, &c, "", &ignored) == KW_OK)
		v = kw_condition_eval(c, f);
	if (isnan(v)) {
		*missing = true;
		kw_buf_addz(out, "an unknown number");
	} else {
		say_value(out, v, colon ? (struct kw_str){ colon + 1, (size_t)(end - colon - 1) } : KW_STR(""));
	}
	return end + 1;
}

/* "(s)" is an s behind any number but 1, "(is|are)" the one or the other: whatever stood in braces last. *p stays where there is none. */
static bool agree(const char **p, bool one, struct kw_buf *out)
{
	const char *start = *p + 1, *bar = start, *end;

	if (strncmp(*p, "(s)", 3) == 0) {
		if (!one)
			kw_buf_addc(out, 's');
		*p += 3;
		return true;
	}
	while (isalpha((unsigned char)*bar) || *bar == ' ')
		bar++;
	for (end = *bar == '|' ? bar + 1 : bar; isalpha((unsigned char)*end) || *end == ' ';)
		end++;
	if (**p != '(' || *bar != '|' || *end != ')')
		return false;
	if (one)
		kw_buf_add(out, start, (size_t)(bar - start));
	else
		kw_buf_add(out, bar + 1, (size_t)(end - bar - 1));
	*p = end + 1;
	return true;
}

const char *kw_rule_say(const struct kw_rule *r, const char *sentence, const struct kw_facts *f, struct kw_arena *a)
{
	struct kw_arena scratch; /* expressions of the braces */
	struct kw_buf out;
	size_t part = 0;
	bool missing = false, inside = false, one = false;
	const char *text;

	if (!sentence)
		return "";
	kw_arena_init(&scratch, 1 << 20);
	kw_buf_init(&out, 4096);
	for (const char *p = sentence; *p;) {
		if (strncmp(p, "[[", 2) == 0) {
			part = out.len;
			missing = false;
			inside = true;
			p += 2;
		} else if (inside && strncmp(p, "]]", 2) == 0) {
			if (missing && out.ptr)
				out.ptr[out.len = part] = '\0';
			inside = false;
			p += 2;
		} else if (*p == '{') {
			size_t before = out.len;

			p = say_braces(r, p, f, &scratch, &out, &missing);
			one = out.len == before + 1 && out.ptr[before] == '1';
		} else if (*p != '(' || !agree(&p, one, &out)) {
			kw_buf_addc(&out, *p++);
		}
	}
	text = out.full ? NULL : kw_arena_str(a, kw_str_trim(kw_buf_str(&out)));
	kw_buf_release(&out);
	kw_arena_release(&scratch);
	return text;
}

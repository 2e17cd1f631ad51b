#include "backend/source.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 5, 6))) static bool
found(struct kw_source_fault *out, enum kw_subclass cls, int line, int column, const char *fmt, ...)
{
	va_list ap;

	*out = (struct kw_source_fault){ .cls = cls, .line = line, .column = column };
	va_start(ap, fmt);
	vsnprintf(out->message, sizeof(out->message), fmt, ap);
	va_end(ap);
	return false;
}

/* ---- flags ---- */

bool kw_source_flag_allowed(const char *const *allowed, size_t count, const char *flag)
{
	static const char value[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.,=";

	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(allowed[i]);

		if (allowed[i][n - 1] != '=') {
			if (strcmp(flag, allowed[i]) == 0)
				return true;
		} else if (strncmp(flag, allowed[i], n) == 0 && flag[n] &&
			   strspn(flag + n, value) == strlen(flag + n)) {
			return true;
		}
	}
	return false;
}

/* Line of the plan line that has this flag; 0 when it is not found. */
static int flag_line(const struct kw_candidate *c, const char *flag)
{
	const char *at = c->source ? strstr(c->source, flag) : NULL;
	int line = at ? 1 : 0;

	for (const char *p = c->source; at && p < at; p++)
		line += *p == '\n';
	return line;
}

bool kw_source_flags(const struct kw_candidate *c, const char *const *allowed, size_t count,
		     struct kw_source_fault *out)
{
	for (size_t i = 0; i < c->plan.flag_count; i++) {
		const char *flag = c->plan.flags[i], *near;

		if (kw_source_flag_allowed(allowed, count, flag))
			continue;
		near = kw_str_nearest(flag, allowed, count);
		return found(out, KW_S_BUILD_PLAN, flag_line(c, flag), 1,
			     "the flag '%.100s' is not on the list of allowed flags%s%s%s", flag,
			     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	}
	return true;
}

/* ---- includes ---- */

bool kw_source_includes(const struct kw_candidate *c, struct kw_source_fault *out)
{
	const char *p = c->source;

	for (int line = 1; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL, line++) {
		const char *q = p + strspn(p, " \t");
		int n;

		if (*q != '#')
			continue;
		q += 1 + strspn(q + 1, " \t");
		if (strncmp(q, "include", 7) != 0)
			continue;
		q += 7 + strspn(q + 7, " \t");
		if ((*q != '"' && *q != '<') || (q[1] != '/' && strncmp(q + 1, "..", 2) != 0))
			continue;
		n = (int)strcspn(q + 1, "\">\n");
		return found(out, KW_S_INCLUDE, line, (int)(q - p) + 1,
			     "#include of '%.*s': a candidate includes system headers by name "
			     "only, no files",
			     n > 150 ? 150 : n, q + 1);
	}
	return true;
}

/* ---- host code ---- */

struct scanner {
	const char *p, *line_start;
	int line;
};

static void step(struct scanner *s)
{
	if (*s->p++ == '\n') {
		s->line++;
		s->line_start = s->p;
	}
}

/* R"tag( ... )tag" */
static void skip_raw(struct scanner *s)
{
	char end[24] = ")";
	size_t n = strcspn(s->p, "(\n");

	if (n > 16 || s->p[n] != '(')
		return;
	memcpy(end + 1, s->p, n);
	end[n + 1] = '"';
	end[n + 2] = '\0';
	while (*s->p && strncmp(s->p, end, n + 2) != 0)
		step(s);
	for (size_t i = 0; *s->p && i < n + 2; i++)
		step(s);
}

/* A comment or a literal that begins here. */
static bool skip(struct scanner *s)
{
	char quote = *s->p;

	if (s->p[0] == '/' && s->p[1] == '/') {
		while (*s->p && *s->p != '\n')
			step(s);
		return true;
	}
	if (s->p[0] == '/' && s->p[1] == '*') {
		step(s);
		step(s);
		while (*s->p && !(s->p[0] == '*' && s->p[1] == '/'))
			step(s);
		for (int i = 0; i < 2 && *s->p; i++)
			step(s);
		return true;
	}
	if (quote != '"' && quote != '\'')
		return false;
	if (quote == '\'' && isxdigit((unsigned char)s->p[1]) && s->p[2] != '\'' &&
	    s->line_start < s->p && isxdigit((unsigned char)s->p[-1]))
		return false; /* 1'000'000 */
	step(s);
	if (quote == '"' && s->p - 2 >= s->line_start && s->p[-2] == 'R') {
		skip_raw(s);
		return true;
	}
	while (*s->p && *s->p != quote && *s->p != '\n') {
		if (*s->p == '\\' && s->p[1])
			step(s);
		step(s);
	}
	if (*s->p == quote)
		step(s);
	return true;
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* `main` as a whole word before a '('. */
static bool is_main(const struct scanner *s)
{
	const char *p = s->p;

	if (strncmp(p, "main", 4) != 0 || in_word(p[4]) || (p > s->line_start && in_word(p[-1])))
		return false;
	return p[4 + strspn(p + 4, " \t")] == '(';
}

bool kw_source_host_code(const struct kw_candidate *c, struct kw_source_fault *out)
{
	struct scanner s = { c->source, c->source, 1 };

	while (s.p && *s.p) {
		int column = (int)(s.p - s.line_start) + 1;

		if (skip(&s))
			continue;
		if (strncmp(s.p, "<<<", 3) == 0)
			return found(out, KW_S_SYNTAX, s.line, column,
				     "'<<<': a candidate has no host code; its kernels are "
				     "launched by plan lines, "
				     "like `//@ kernel NAME grid=(...) block=(...) args=(...)`");
		if (is_main(&s))
			return found(out, KW_S_SYNTAX, s.line, column,
				     "'main': a candidate has no host code; only its kernels are "
				     "called, as the plan lines say");
		step(&s);
	}
	return true;
}

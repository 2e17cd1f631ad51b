#include "expr/lex.h"

#include <string.h>

void lex_init(struct lexer *l, const char *text, size_t len)
{
	*l = (struct lexer){ .s = text, .end = text + len, .line_start = text, .line = 1 };
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_blanks(struct lexer *l)
{
	while (l->s < l->end) {
		if (*l->s == '#') {
			while (l->s < l->end && *l->s != '\n')
				l->s++;
		} else if (*l->s == '\n' && l->nesting > 0) {
			l->line++;
			l->line_start = ++l->s;
		} else if (*l->s == ' ' || *l->s == '\t' || *l->s == '\r') {
			l->s++;
		} else {
			return;
		}
	}
}

static struct token number(struct lexer *l, struct token t)
{
	const char *p = l->s;
	bool whole = true;

	while (p < l->end && (is_digit(*p) || *p == '.')) {
		whole = whole && *p != '.';
		p++;
	}
	if (p < l->end && (*p == 'e' || *p == 'E')) {
		const char *q = p + 1;
		if (q < l->end && (*q == '+' || *q == '-'))
			q++;
		if (q < l->end && is_digit(*q)) {
			whole = false;
			for (p = q; p < l->end && is_digit(*p); p++)
				;
		}
	}
	t.text = (struct kw_str){ l->s, (size_t)(p - l->s) };
	l->s = p;
	if (p < l->end && is_name(*p)) {
		t.kind = T_BAD;
		t.why = "a number runs into a letter";
	} else if (whole && kw_str_to_i64(t.text, &t.i)) {
		t.kind = T_INT;
	} else if (kw_str_to_f64(t.text, &t.f)) {
		t.kind = T_FLOAT;
	} else {
		t.kind = T_BAD;
		t.why = "not a number";
	}
	return t;
}

static struct token string(struct lexer *l, struct token t)
{
	char quote = *l->s;
	const char *p = l->s + 1;

	while (p < l->end && *p != quote && *p != '\n')
		p++;
	if (p == l->end || *p == '\n') {
		t.kind = T_BAD;
		t.why = "a string without its closing quote";
		l->s = p;
		return t;
	}
	t.kind = T_STR;
	t.text = (struct kw_str){ l->s + 1, (size_t)(p - l->s - 1) };
	l->s = p + 1;
	return t;
}

struct token lex_next(struct lexer *l)
{
	static const char *const two[] = { "**", "//", "==", "!=", "<=", ">=" };
	struct token t = { .line = l->line, .column = (int)(l->s - l->line_start) + 1 };

	skip_blanks(l);
	t.text = (struct kw_str){ l->s, l->s < l->end };
	if (l->s < l->end || t.line == l->line) { /* else the end is behind the last token, not where an open bracket led */
		t.line = l->line;
		t.column = (int)(l->s - l->line_start) + 1;
	}
	if (l->s == l->end) {
		t.kind = T_END;
		return t;
	}
	if (*l->s == '\n' || *l->s == ';') {
		t.kind = T_NEWLINE;
		if (*l->s++ == '\n') {
			l->line++;
			l->line_start = l->s;
		}
		return t;
	}
	if (is_digit(*l->s) || (*l->s == '.' && l->s + 1 < l->end && is_digit(l->s[1])))
		return number(l, t);
	if (*l->s == '\'' || *l->s == '"')
		return string(l, t);
	if (is_name(*l->s)) {
		const char *p = l->s;
		while (p < l->end && (is_name(*p) || is_digit(*p)))
			p++;
		t.kind = T_NAME;
		t.text.len = (size_t)(p - l->s);
		l->s = p;
		return t;
	}
	t.kind = T_OP;
	for (size_t i = 0; i < sizeof(two) / sizeof(*two); i++) {
		if (l->end - l->s >= 2 && memcmp(l->s, two[i], 2) == 0) {
			t.text.len = 2;
			l->s += 2;
			return t;
		}
	}
	if (*l->s == '\0' || !strchr("+-*/%@()[]{},=<>&|~.:?!", *l->s)) {
		t.kind = T_BAD;
		t.why = "this character means nothing here";
	}
	l->nesting += *l->s == '(' || *l->s == '[';
	if ((*l->s == ')' || *l->s == ']') && l->nesting > 0)
		l->nesting--;
	l->s++;
	return t;
}

/* lex.h - tokens of the expression language; columns count bytes from 1. */
#ifndef KW_EXPR_LEX_H
#define KW_EXPR_LEX_H

#include "base/str.h"

enum token_kind { T_END, T_NEWLINE, T_NAME, T_INT, T_FLOAT, T_STR, T_OP, T_BAD };
struct token {
	enum token_kind kind;
	struct kw_str text;               /* STR: without quotes; OP: one or two characters */
	int64_t i;
	double f;
	int line, column;
	const char *why;                  /* BAD */
};
struct lexer {
	const char *s, *end, *line_start;
	int line, nesting;                /* newlines inside brackets are blanks */
};
void lex_init(struct lexer *l, const char *text, size_t len);
struct token lex_next(struct lexer *l);

#endif

/* lang.h - how the kernel languages that the author writes differ: one row of a table each.
 *
 * The author writes one dialect: C with the names of the builder header (kw.h), which each backend
 * brings in its own language (kw_f16, kw_maxf, KW_F32, int64_t, …). What no header can hide stands
 * here. A language that is not here cannot be filled, and its patterns are refused with a reason.
 *
 * A language runs in one of two ways. On a CPU (`device` false) a thread walks strips of STRIP
 * columns and reads tensors where they are. On a GPU a team of threads shares a row: the strip is
 * the vector of `strip` elements that one thread moves at once, running results are joined across
 * the team, and `grid=` and `block=` come from the pattern's own kernel line. */
#ifndef KW_AUTHOR_LANG_H
#define KW_AUTHOR_LANG_H

#include <stdbool.h>

#include "core/dtype.h"

struct kw_au_lang {
	const char *backend;
	const char *comment;	/* what a line of text begins with: "//", "#" */
	bool tensors;		/* Triton: whole blocks at once, written by author/triton.c; the rest of the row is not used */
	bool device;
	const char *kernel;	/* before a kernel's name: "void " */
	const char *address;	/* before the type of a pointer into memory: "", "__global " */
	const char *restricted; /* "restrict" */
	const char *strip;	/* elements of a strip: "STRIP" */
	const char *count;	/* how many of them are in use: "n" */
	const char *array;	/* before an array that is moved as vectors: "", "alignas(16) " */
	const char *unroll;	/* a line before short loops; "" where the compiler sees to it */
	/* Statements and expressions; $name is replaced. NULL where `device` is false. */
	const char *load;  /* $from (an address) to the array $to, as one vector */
	const char *fetch; /* the same for a row that stays in registers */
	const char *store; /* the array $from to the address $to */
	const char *team;  /* joins $value of all threads that share a row: $op is sum, prod, max,
			      min,  any or all, $type the type, $site a number of its own */
	bool forms;	   /* its header has the cheaper forms of author/forms.h */
	bool packs;	   /* `store` takes floats for an output that is narrower */
	const char *erf1;  /* a function of 1 + erf(x) that does for narrow outputs; NULL: none */
	const char *
		share; /* declares $name, a thread's place in the vectors of a row of $type that lie
			  in shared memory behind $offset bytes; NULL: there are no such patterns */
	const char *all; /* the same of all threads of the block */
	/* Functions that are called something else than in kw.h; ends with a NULL. `rough` ones are
	 * exact to a few units of f16, and used where every output is that narrow. */
	const char *const (*names)[2], *const (*rough)[2];
	const char *rough_lines; /* plan lines that go with them */
};

/* NULL: the author does not know the language. */
const struct kw_au_lang *kw_au_lang_find(const char *backend);
/* What a value is computed as; every float of 32 bits or less is a float. */
const char *kw_au_ctype(enum kw_dtype computed);
/* A tensor's elements. */
const char *kw_au_storage(enum kw_dtype d);

#endif

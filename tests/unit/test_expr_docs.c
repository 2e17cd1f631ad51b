/* docs/expressions.md is what the table of functions says. KW_UPDATE=1 writes it. */
#include "expr/internal.h"

#include "base/file.h"
#include "tap.h"

int main(void)
{
	const char *top = getenv("KW_TOP");
	struct kw_error err = { 0 };
	struct kw_buf want, got;
	char path[4096];

	snprintf(path, sizeof(path), "%s/docs/expressions.md", top ? top : ".");
	kw_buf_init(&want, 1 << 20);
	kw_buf_init(&got, 1 << 20);
	expr_docs(&want);
	if (getenv("KW_UPDATE"))
		ok(kw_file_write(path, want.ptr, want.len, &err) == KW_OK, "written");
	ok(kw_file_read(path, 1 << 20, &got, &err) == KW_OK, "the page is there");
	if (!ok(got.ptr && strcmp(got.ptr, want.ptr) == 0, "docs/expressions.md is up to date"))
		diag("run KW_UPDATE=1 build/tests/unit/test_expr_docs in the top folder");
	for (int id = 1; id < OP_COUNT; id++) {
		const struct kw_op *op = op_get((enum op_id)id);
		if (!op->doc[0] || op_find_hidden(kw_str_from(op->name)) != op)
			ok(false, "%s: a documentation line, and a name of its own", op->name);
	}
	kw_buf_release(&want);
	kw_buf_release(&got);
	return done();
}

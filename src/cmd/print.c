/* Printing results. */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "cmd/cmd.h"

enum { JSON_MAX_BYTES = 256 << 20 };

int kw_put_errno;

void kw_put(const char *text, size_t len)
{
	if (fwrite(text, 1, len, stdout) != len && !kw_put_errno)
		kw_put_errno = errno;
}

enum kw_status kw_print_buf(struct kw_buf *b, struct kw_error *err)
{
	enum kw_status status = KW_OK;

	kw_progress_end();
	if (b->full)
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the output");
	else if (b->len)
		kw_put(b->ptr, b->len);
	kw_buf_release(b);
	return status;
}

enum kw_status kw_print_json(json_t *j, struct kw_error *err)
{
	struct kw_buf text;
	enum kw_status status;

	if (!j)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the output");
	kw_buf_init(&text, JSON_MAX_BYTES);
	status = kw_json_pretty(j, &text, err);
	json_decref(j);
	kw_buf_addc(&text, '\n');
	if (status != KW_OK) {
		kw_buf_release(&text);
		return status;
	}
	return kw_print_buf(&text, err);
}

enum kw_status kw_run_number(const struct kw_cmd *cmd, const char *text, int64_t *id, struct kw_error *err)
{
	struct kw_store *s;
	struct kw_run_row *rows;
	struct kw_arena a;
	size_t n = 0;
	enum kw_status status;

	if (text) {
		if (kw_str_to_i64(kw_str_from(text), id) && *id > 0)
			return KW_OK;
		return kw_fail(err, KW_ERR_USAGE, "", "'%.60s' is no number of a run; see kwright runs list", text);
	}
	kw_arena_init(&a, 256 << 20);
	status = kw_store_open(cmd->env.store_dir, true, &s, err);
	if (status == KW_OK) {
		status = kw_store_run_list(s, &a, &rows, &n, err);
		kw_store_close(s);
	}
	if (status == KW_OK && n == 0)
		status = kw_fail(err, KW_ERR_NOT_FOUND, cmd->env.store_dir, "there is no run yet");
	if (status == KW_OK)
		*id = rows[n - 1].id;
	kw_arena_release(&a);
	return status;
}

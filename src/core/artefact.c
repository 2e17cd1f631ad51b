#include "core/artefact.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

void kw_artefact_release(struct kw_artefact *a)
{
	kw_free(a->code);
	kw_free(a->diagnostics);
	kw_free(a->log);
	json_decref(a->facts);
	memset(a, 0, sizeof(*a));
}

const char *kw_diagnostic_place(const struct kw_diagnostic *d, char *out, size_t out_bytes)
{
	if (d->line > 0)
		snprintf(out, out_bytes, "%s:%d:%d", d->file, d->line, d->column);
	else
		snprintf(out, out_bytes, "%s", d->file);
	return out;
}

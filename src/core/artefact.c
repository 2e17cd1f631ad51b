#include "core/artefact.h"

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

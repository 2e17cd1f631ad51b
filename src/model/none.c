/* Provider `none`: nobody. The built-in author does what it can. */
#include "model/provider.h"

static enum kw_status open_none(const char *argument, const struct kw_provider_opts *o, void **state, struct kw_error *err)
{
	(void)o;
	*state = NULL;
	return argument[0] ? kw_fail(err, KW_ERR_USAGE, "", "none takes nothing behind a colon, not '%.60s'", argument)
			   : KW_OK;
}

static enum kw_status ask(void *state, const struct kw_ask *a, struct kw_answer *out, struct kw_error *err)
{
	(void)state;
	(void)out;
	kw_fail(err, KW_NO, "", "there is no model to ask as %s", a->role);
	return KW_NO;
}

const struct kw_provider kw_provider_none = {
	.name = "none", .argument = "", .title = "no model: the built-in patterns", .open = open_none, .ask = ask,
};

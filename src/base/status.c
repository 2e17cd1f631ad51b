#include "base/status.h"

static const struct {
	const char *name, *text;
	int exit_code;
} statuses[] = {
#define X(name, code, text) { #name, text, code },
	KW_STATUS_LIST(X)
#undef X
};

enum { STATUS_COUNT = sizeof(statuses) / sizeof(statuses[0]) };

const char *kw_status_name(enum kw_status s)
{
	return (unsigned)s < STATUS_COUNT ? statuses[s].name : "KW_ERR_UNKNOWN";
}

const char *kw_status_text(enum kw_status s)
{
	return (unsigned)s < STATUS_COUNT ? statuses[s].text : "unknown status";
}

int kw_status_exit(enum kw_status s)
{
	return (unsigned)s < STATUS_COUNT ? statuses[s].exit_code : 5;
}

/* Who runs a run: a process is known by its number, its start time (numbers are used again), the
 * machine's boot and PID namespace, and the host's name for people. */
#include "store/owner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { BOOT_ID_BYTES = 36, PROC_BYTES = 4096 };

static void read_small(const char *path, char *out, size_t out_bytes)
{
	struct kw_buf b;

	out[0] = '\0';
	kw_buf_init(&b, PROC_BYTES);
	if (kw_file_read(path, PROC_BYTES, &b, NULL) == KW_OK && b.len > 0)
		snprintf(out, out_bytes, "%s", b.ptr);
	kw_buf_release(&b);
}

/* Field 22 of /proc/PID/stat, in clock ticks after boot; 0 when there is no such process, or only what its parent has not
 * asked for yet (a zombie: where nothing collects orphans, as in many containers, it stays for ever). The name in field 2 may
 * hold anything, so count from its last bracket. */
static int64_t start_time(int64_t pid)
{
	char path[64], text[PROC_BYTES], *p;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	read_small(path, text, sizeof(text));
	p = strrchr(text, ')');
	if (p && p[1] == ' ' && (p[2] == 'Z' || p[2] == 'X'))
		return 0;
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoll(p + 1, NULL, 10) : 0;
}

void kw_owner_self(struct kw_owner *o)
{
	char id[BOOT_ID_BYTES + 1];
	struct stat st;

	memset(o, 0, sizeof(*o));
	o->pid = getpid();
	o->pid_start = start_time(o->pid);
	if (gethostname(o->host, sizeof(o->host) - 1) != 0)
		snprintf(o->host, sizeof(o->host), "unknown");
	read_small("/proc/sys/kernel/random/boot_id", id, sizeof(id));
	if (stat("/proc/self/ns/pid", &st) != 0)
		st.st_ino = 0;
	snprintf(o->boot, sizeof(o->boot), "%s %llu", id, (unsigned long long)st.st_ino);
}

bool kw_owner_is(const struct kw_owner *a, const struct kw_owner *b)
{
	return a->pid == b->pid && a->pid_start == b->pid_start && strcmp(a->boot, b->boot) == 0 &&
	       strcmp(a->host, b->host) == 0;
}

enum kw_owner_state kw_owner_state(const struct kw_owner *o, const struct kw_owner *self)
{
	if (o->pid == 0)
		return KW_OWNER_NONE;
	if (kw_owner_is(o, self))
		return KW_OWNER_SELF;
	if (strcmp(o->host, self->host) != 0)
		return KW_OWNER_UNKNOWN;
	if (strncmp(o->boot, self->boot, BOOT_ID_BYTES) != 0)
		return KW_OWNER_DEAD; /* this machine was started anew since */
	if (strcmp(o->boot, self->boot) != 0)
		return KW_OWNER_UNKNOWN; /* another container */
	if (kill((pid_t)o->pid, 0) != 0 && errno == ESRCH)
		return KW_OWNER_DEAD;
	return start_time(o->pid) == o->pid_start ? KW_OWNER_ALIVE : KW_OWNER_DEAD;
}

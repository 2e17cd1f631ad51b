/* A player that is the user's Python. It is started as any player is, with the same namespaces and the same open files, and then
 * gives its process to the interpreter, which runs files of ours. The filter of system calls is made here, where there is a library
 * for it, and travels with them. */
#include "device/runner.h"
#include "device/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Descriptor 4 holds the files, 5 the filter. */
enum { FILES = WIRE_CODE, FILTER = WIRE_CODE + 1, INSTRUCTION_BYTES = 8 };

/* What goes wrong before the files can speak for themselves is told in their place: struct wire_reply, WIRE_MACHINE. */
static char boot[] = "import json, sys, types\n"
		     "told = json.load(open(4))\n"
		     "told['filter'] = open(5, 'rb').read().hex()\n"
		     "kwright = sys.modules['kwright'] = types.ModuleType('kwright')\n"
		     "kwright.__path__ = []\n"
		     "try:\n"
		     "    for name, text in sorted(told['files'].items(), key=lambda f: f[0] == told['main']):\n"
		     "        module = sys.modules['kwright.' + name] = types.ModuleType('kwright.' + name)\n"
		     "        setattr(kwright, name, module)\n"
		     "        exec(compile(text, '<kwright/python/%s.py>' % name, 'exec'), module.__dict__)\n"
		     "except BaseException as e:\n"
		     "    import socket, struct\n"
		     "    text = ('%s: %s' % (type(e).__name__, e)).encode('utf-8', 'replace')[:159]\n"
		     "    socket.socket(fileno=3).send(struct.pack('<IiQQIIii160s', 0x7280, 0, 0, 0, 0, 0, 0, 0, text))\n"
		     "    raise\n"
		     "sys.modules['kwright.' + told['main']].main(told)\n";
_Static_assert(WIRE_MACHINE == 0x7280 && sizeof(struct wire_reply) == 200, "as the boot has it");

static void put_filter(void)
{
	struct kw_seccomp_filter filter;
	int fd = memfd_create("filter", 0);
	size_t bytes = kw_seccomp_python(&filter) ? (size_t)filter.count * INSTRUCTION_BYTES : 0;

	if (fd < 0 || (bytes && write(fd, filter.code, bytes) != (ssize_t)bytes) || lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, FILTER) < 0)
		kw_player_fault("the filter of a player cannot be kept", errno);
	if (fd != FILTER)
		close(fd);
	kw_seccomp_filter_release(&filter);
}

/* One thread, no files written, nothing of the user's settings. */
static void set_environment(const struct wire_python *m)
{
	static const char *const one[] = { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONDONTWRITEBYTECODE" };

	for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++)
		setenv(one[i], "1", 1);
	setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
	setenv("HOME", m->home, 1);
	if (m->folders[0])
		setenv("PYTHONPATH", m->folders, 1);
}

void kw_python_player(void)
{
	static struct wire_python m;
	static char command[] = "-c";
	char *argv[] = { m.path, command, boot, NULL };
	int fds[WIRE_MAPS_MAX], got = 0;

	if (!kw_wire_receive(&m, sizeof(m), fds, WIRE_MAPS_MAX, &got) || got != 1)
		_exit(2);
	m.path[sizeof(m.path) - 1] = m.home[sizeof(m.home) - 1] = m.folders[sizeof(m.folders) - 1] = '\0';
	if (fds[0] != FILES) {
		dup2(fds[0], FILES);
		close(fds[0]);
	}
	put_filter();
	set_environment(&m);
	fcntl(FILES, F_SETFD, 0);
	fcntl(FILTER, F_SETFD, 0);
	fcntl(WIRE_CONTROL, F_SETFD, 0);
	execv(m.path, argv);
	kw_player_fault("the Python of a player cannot be started", errno);
}

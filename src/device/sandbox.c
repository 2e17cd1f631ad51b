#include "device/sandbox.h"

#include "base/alloc.h"
#include "base/shadow.h"
#include "base/str.h"
#include "device/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Landlock as of ABI 6 (linux/landlock.h of the build machine may be older): Documentation/userspace-api/landlock.rst. */
struct ruleset_attr {
	uint64_t handled_access_fs, handled_access_net, scoped;
};
enum { FS_ABI1 = (1 << 13) - 1, FS_REFER = 1 << 13, FS_TRUNCATE = 1 << 14, FS_IOCTL_DEV = 1 << 15, NET_ALL = 3, SCOPE_ALL = 3 };
enum { FS_READ = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR };

enum { RULESET_FD = 100 };
struct kw_sandbox {
	int ruleset;                   /* -1: no Landlock here */
	struct kw_seccomp_filter filter;
	bool driver;                   /* needs more addresses than we allow */
	char layers[160];
};

int kw_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi > 0 ? (int)abi : 0;
}

static uint64_t fs_rights(int abi)
{
	return FS_ABI1 | (abi >= 2 ? (uint64_t)FS_REFER : 0) | (abi >= 3 ? (uint64_t)FS_TRUNCATE : 0) |
	       (abi >= 5 ? (uint64_t)FS_IOCTL_DEV : 0);
}

static int make_ruleset(int abi)
{
	struct ruleset_attr a = {
		.handled_access_fs = fs_rights(abi),
		.handled_access_net = abi >= 4 ? NET_ALL : 0,
		.scoped = abi >= 6 ? SCOPE_ALL : 0,
	};
	size_t bytes = abi >= 6 ? sizeof(a) : abi >= 4 ? offsetof(struct ruleset_attr, scoped) :
						       offsetof(struct ruleset_attr, handled_access_net);

	return (int)syscall(SYS_landlock_create_ruleset, &a, bytes, 0);
}

static bool landlock_nothing(unsigned flags)
{
	int abi = kw_landlock_abi(), fd, saved;
	long r;

	if (!abi)
		return false;
	fd = make_ruleset(abi);
	if (fd < 0)
		return false;
	r = syscall(SYS_landlock_restrict_self, fd, flags);
	saved = errno;
	close(fd);
	errno = saved;
	return r == 0;
}

bool kw_sandbox_landlock_nothing(void)
{
	return landlock_nothing(0);
}

bool kw_sandbox_landlock_everywhere(void)
{
	return landlock_nothing(1u << 3 /* LANDLOCK_RESTRICT_SELF_TSYNC, of ABI 8 */);
}

bool kw_sandbox_no_new_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &head, none) == 0;
}

/* An id that no account has: not the shared "nobody", so that two players cannot touch each other. */
bool kw_sandbox_own_user(bool *changed)
{
	uid_t id = (uid_t)(1879048192 + (unsigned)getpid() % 65536u + ((unsigned)(uintptr_t)&id >> 4) % 1000000u);
	bool ok = true;

	*changed = false;
	if (geteuid() == 0) {
		setgroups(0, NULL);
		/* In a user namespace of our own, or in one with few ids mapped, this is refused. */
		if ((setresgid(id, id, id) == 0 && setresuid(id, id, id) == 0) ||
		    (setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0))
			*changed = true;
	}
	if (!drop_capabilities())
		ok = false;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return ok;
}

bool kw_sandbox_private_shm(void)
{
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=64k,mode=0700") == 0;
}

bool kw_sandbox_empty_root(void)
{
	static const char *const places[] = { "/tmp", "/var", "/usr", "/proc" };

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (mount("tmpfs", places[i], "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,nr_inodes=2,mode=0555") < 0)
			continue;
		if (chdir(places[i]) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
			return false;
		if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
			return false;
		mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
		return true;
	}
	return false;
}

bool kw_sandbox_scratch(size_t bytes)
{
	char options[64];

	snprintf(options, sizeof(options), "size=%zu,nr_inodes=4096,mode=0777", bytes);
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0 && mkdir("/tmp/tmp", 0777) == 0 &&
	       chmod("/tmp/tmp", 0777) == 0;
}

bool kw_sandbox_scratch_root(void)
{
	return chdir("/tmp") == 0 && syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
}

static bool limit(int what, uint64_t value)
{
	struct rlimit l, now;

	if (getrlimit((__rlimit_resource_t)what, &now) < 0)
		return false;
	if (now.rlim_max != RLIM_INFINITY && value > now.rlim_max)
		value = now.rlim_max;
	l = (struct rlimit){ value, value };
	return setrlimit((__rlimit_resource_t)what, &l) == 0;
}

/* Bytes of address space in use, and of private writable memory ("data"), from statm: pages, the first and sixth field. */
static void memory_of(pid_t pid, uint64_t *space, uint64_t *data)
{
	unsigned long size = 0, ignored, d = 0;
	char path[40] = "/proc/self/statm";
	FILE *f;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%lu %lu %lu %lu %lu %lu", &size, &ignored, &ignored, &ignored, &ignored, &d) != 6)
			size = 0;
		fclose(f);
	}
	*space = (uint64_t)size * 4096;
	*data = (uint64_t)d * 4096;
}

bool kw_sandbox_no_writes(void)
{
	return limit(RLIMIT_FSIZE, 0);
}

bool kw_sandbox_rlimits(int64_t memory_bytes, int threads, bool own_ids, int files, int64_t file_bytes)
{
	uint64_t space, data, stacks = (uint64_t)threads * (16u << 20);
	bool ok;

	memory_of(0, &space, &data);
	if (!space)
		return false;
	ok = limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, (uint64_t)file_bytes) && limit(RLIMIT_NOFILE, (uint64_t)files) &&
	     (!own_ids || limit(RLIMIT_NPROC, (uint64_t)threads * 2 + 16)) && limit(RLIMIT_MSGQUEUE, 0) && limit(RLIMIT_MEMLOCK, 0);
#ifndef KW_SHADOW /* a sanitizer reserves terabytes */
	/* malloc reserves 128 MiB of addresses for each thread that it gives an arena. */
	ok = ok && limit(RLIMIT_DATA, data + (uint64_t)memory_bytes + stacks) &&
	     limit(RLIMIT_AS, space + (uint64_t)memory_bytes + stacks + (uint64_t)threads * (160u << 20));
#else
	(void)memory_bytes, (void)stacks;
#endif
	return ok;
}

bool kw_sandbox_limit_memory(pid_t pid, int64_t memory_bytes, int threads)
{
	uint64_t space, data, stacks = (uint64_t)threads * (16u << 20);
	struct rlimit l;

	memory_of(pid, &space, &data);
	if (!space)
		return false;
	l.rlim_cur = l.rlim_max = data + (uint64_t)memory_bytes + stacks;
	if (prlimit(pid, RLIMIT_DATA, &l, NULL) != 0)
		return false;
	l.rlim_cur = l.rlim_max = space + (uint64_t)memory_bytes + stacks + (uint64_t)threads * (160u << 20);
	return prlimit(pid, RLIMIT_AS, &l, NULL) == 0;
}

bool kw_sandbox_limit_data(pid_t pid, int64_t memory_bytes)
{
	uint64_t space, data;
	struct rlimit l;

	memory_of(pid, &space, &data);
	l.rlim_cur = l.rlim_max = data + (uint64_t)memory_bytes;
	return space && prlimit(pid, RLIMIT_DATA, &l, NULL) == 0;
}

static void allow_path(int ruleset, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = rights };
	struct stat st;
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return; /* what is not there cannot be read */
	if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
				       LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
	rule.parent_fd = fd;
	syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	close(fd);
}

static int compiler_ruleset(const char *write_dir, const char *const *extra)
{
	static const char *const read[] = { "/usr", "/lib", "/lib64", "/lib32", "/bin", "/etc/alternatives",
					    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/opt",
					    "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu",
					    "/dev/urandom", "/dev/zero", "/nix", NULL };
	int abi = kw_landlock_abi(), fd = abi ? make_ruleset(abi) : -1;
	uint64_t device = FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | (abi >= 5 ? (uint64_t)FS_IOCTL_DEV : 0);

	if (fd < 0)
		return -1;
	for (size_t i = 0; read[i]; i++)
		allow_path(fd, read[i], FS_READ);
	for (size_t i = 0; extra && extra[i]; i++)
		allow_path(fd, extra[i], strncmp(extra[i], "/dev/", 5) ? FS_READ : device);
	allow_path(fd, "/dev/null", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
	if (write_dir)
		allow_path(fd, write_dir, fs_rights(abi) & ~(uint64_t)(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
								       LANDLOCK_ACCESS_FS_MAKE_SOCK | FS_IOCTL_DEV));
	return fd;
}

bool kw_sandbox_landlock_reads(const char *write_dir, const char *const *read)
{
	int fd = compiler_ruleset(write_dir, read);
	bool ok = fd >= 0 && syscall(SYS_landlock_restrict_self, fd, 0) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

static enum kw_status new_box(int ruleset, struct kw_sandbox **out, struct kw_error *err)
{
	struct kw_sandbox *s = kw_calloc(1, sizeof(*s));
	bool filter;

	*out = NULL;
	if (!s) {
		if (ruleset >= 0)
			close(ruleset);
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a sandbox");
	}
	/* Away from the numbers that a child gives its own descriptors before it enters. */
	s->ruleset = ruleset >= 0 ? fcntl(ruleset, F_DUPFD_CLOEXEC, RULESET_FD) : -1;
	if (ruleset >= 0)
		close(ruleset);
	filter = kw_seccomp_compiler(&s->filter);
	snprintf(s->layers, sizeof(s->layers), "%s%srlimits%s%s", s->ruleset >= 0 ? "landlock " : "",
		 filter ? "seccomp " : "", s->ruleset < 0 ? " (no landlock)" : "", filter ? "" : " (no seccomp)");
	*out = s;
	return KW_OK;
}

enum kw_status kw_sandbox_library_new(const char *const *read, struct kw_sandbox **out, struct kw_error *err)
{
	int abi = kw_landlock_abi(), fd = abi ? make_ruleset(abi) : -1;

	for (size_t i = 0; fd >= 0 && read[i]; i++)
		allow_path(fd, read[i], FS_READ);
	return new_box(fd, out, err);
}

enum kw_status kw_sandbox_compiler_new(const char *write_dir, const char *const *read, struct kw_sandbox **out,
				       struct kw_error *err)
{
	return new_box(compiler_ruleset(write_dir, read), out, err);
}

enum kw_status kw_sandbox_reader_new(const char *const *read, struct kw_sandbox **out, struct kw_error *err)
{
	return new_box(compiler_ruleset(NULL, read), out, err);
}

int kw_sandbox_enter_files(void *sandbox)
{
	const struct kw_sandbox *s = sandbox;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return s->ruleset >= 0 && syscall(SYS_landlock_restrict_self, s->ruleset, 0) < 0 ? -1 : 0;
}

int kw_sandbox_rules(const struct kw_sandbox *s)
{
	return s->ruleset;
}

void kw_sandbox_for_names(struct kw_sandbox *s)
{
	int abi = kw_landlock_abi();

	if (s->ruleset >= 0)
		allow_path(s->ruleset, "/proc", FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | (abi >= 3 ? (uint64_t)FS_TRUNCATE : 0));
}

bool kw_sandbox_own_proc(const char *dir)
{
	const char *paths[] = { dir, "/dev", "/proc/self" };
	int abi = kw_landlock_abi(), fd;
	struct ruleset_attr a = { .handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | (abi >= 3 ? (uint64_t)FS_TRUNCATE : 0) };
	bool ok = true;

	fd = abi ? (int)syscall(SYS_landlock_create_ruleset, &a, offsetof(struct ruleset_attr, handled_access_net), 0) : -1;
	for (size_t i = 0; fd >= 0 && ok && i < sizeof(paths) / sizeof(paths[0]); i++) {
		/* Left open: what nobody holds may be made anew, and then is another folder. */
		struct landlock_path_beneath_attr rule = { .allowed_access = a.handled_access_fs, .parent_fd = open(paths[i], O_PATH) };

		ok = rule.parent_fd >= 0 && syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
	}
	ok = ok && fd >= 0 && kw_sandbox_no_new_privs() && syscall(SYS_landlock_restrict_self, fd, 0) == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

void kw_sandbox_for_driver(struct kw_sandbox *s)
{
	s->driver = true;
}

int kw_sandbox_enter(void *sandbox)
{
	const struct kw_sandbox *s = sandbox;

	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 256u << 20);
	limit(RLIMIT_NOFILE, 256);
	limit(RLIMIT_CPU, 120);
#ifndef KW_SHADOW
	if (!s->driver)
		limit(RLIMIT_AS, (uint64_t)4 << 30);
#endif
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	if (s->ruleset >= 0 && syscall(SYS_landlock_restrict_self, s->ruleset, 0) < 0)
		return -1;
	drop_capabilities();
	return kw_seccomp_load(&s->filter) ? 0 : -1;
}

void kw_sandbox_free(struct kw_sandbox *s)
{
	if (!s)
		return;
	if (s->ruleset >= 0)
		close(s->ruleset);
	kw_seccomp_filter_release(&s->filter);
	kw_free(s);
}

const char *kw_sandbox_layers(const struct kw_sandbox *s)
{
	return s->layers;
}

/* sandbox.h - boxes for code that is not ours: the player and the compiler (design 6.2).
 *
 * Layers: own user id, namespaces (see player.h), Landlock, seccomp, rlimits, no_new_privs. Each is probed when it is
 * entered; what this machine does not grant is left out and *named* by the layers text, never silently skipped.
 *
 * The compiler's box is prepared by the parent (which may allocate) and entered by the child between fork and exec
 * (which may not):
 *
 *     kw_sandbox_compiler_new(dir, NULL, &box, err);
 *     struct kw_proc_opts o = { .before_exec = kw_sandbox_enter, .before_exec_arg = box, .timeout_ms = 30000 };
 *     kw_proc_run(argv, &o, &r, err);
 *     kw_sandbox_free(box);
 *
 * Thread rule: one owner; a box may be entered by any number of children, at once too. */
#ifndef KW_DEVICE_SANDBOX_H
#define KW_DEVICE_SANDBOX_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kw_sandbox;
/* Reads /usr, /lib*, /bin, /etc/alternatives, ld.so.cache and what `read` names (NULL-terminated; NULL: nothing
 * more); writes write_dir only (and /dev/null); no network, ptrace, mounts; 4 GiB of memory, 120 s of CPU time,
 * files up to 256 MiB. The environment should hold TMPDIR=write_dir. */
enum kw_status kw_sandbox_compiler_new(const char *write_dir, const char *const *read, struct kw_sandbox **out,
				       struct kw_error *err);
/* For a compiler that is a library: reads what `read` names and nothing else, writes nothing; the rest as above. The child
 * loads the library first, then calls kw_sandbox_enter itself. */
enum kw_status kw_sandbox_library_new(const char *const *read, struct kw_sandbox **out, struct kw_error *err);
/* For a compiler that starts a GPU's driver, which reserves hundreds of GiB of addresses: no limit on those. Its device files
 * (`read` names that begin with /dev/) may be written. */
void kw_sandbox_for_driver(struct kw_sandbox *s);
/* For a program that reads what `read` names and what a compiler's box may read, writes nothing and is limited in other ways. */
enum kw_status kw_sandbox_reader_new(const char *const *read, struct kw_sandbox **out, struct kw_error *err);
/* For a program whose own program's threads get names, which is done by a file in /proc (NVIDIA's driver fails without): all files there may be
 * written, since the processes are not known yet. Those should call kw_sandbox_own_proc. */
void kw_sandbox_for_names(struct kw_sandbox *s);
/* From here on, exec included, this process writes existing files of its own in /proc only, of /dev, and of `dir`, and what its box allows of
 * those. Async-signal-safe. */
bool kw_sandbox_own_proc(const char *dir);
/* Only the files of a box; what else it limits is left to who is in it. Async-signal-safe; 0 or -1. */
int kw_sandbox_enter_files(void *sandbox);
/* For a process that is there already, which enters them itself: a descriptor of Landlock's rules, which stays the box's; -1: none here. */
int kw_sandbox_rules(const struct kw_sandbox *s);
/* For kw_proc_opts.before_exec: 0, or -1 when a layer that was granted cannot be entered. Async-signal-safe. */
int kw_sandbox_enter(void *sandbox);
void kw_sandbox_free(struct kw_sandbox *s);
/* "landlock seccomp rlimits", "seccomp rlimits (no landlock: kernel)" */
const char *kw_sandbox_layers(const struct kw_sandbox *s);

/* The ABI of Landlock on this kernel; 0: none. */
int kw_landlock_abi(void);

/* Player's own lock-down, in order; each returns false with errno when not granted. Called by the player's trusted
 * start-up, single-threaded. */
bool kw_sandbox_no_new_privs(void);
/* root only: an unused user and group id, no supplementary groups, no capabilities. Else drops capabilities. */
bool kw_sandbox_own_user(bool *changed);
/* In a mount namespace of our own: an empty read-only root. */
bool kw_sandbox_empty_root(void);
/* For a runtime that keeps files: an empty, private /tmp of at most `bytes`, which kw_sandbox_scratch_root later makes the
 * whole root; what was /tmp/NAME is found under the same name again, but empty. */
bool kw_sandbox_scratch(size_t bytes);
bool kw_sandbox_scratch_root(void);
/* In a mount namespace of our own: an empty /dev/shm that nobody else sees. */
bool kw_sandbox_private_shm(void);
/* Denies every file access (memfds excepted), TCP, signals and abstract sockets outside, as the ABI allows. */
bool kw_sandbox_landlock_nothing(void);
/* The same in every thread; false where the kernel can do that to the calling one only. */
bool kw_sandbox_landlock_everywhere(void);
/* Allows reading what a compiler's box may read and what `read` names, and writing in write_dir: for threads that are made
 * afterwards too. */
bool kw_sandbox_landlock_reads(const char *write_dir, const char *const *read);
/* memory: bytes of data beyond what is mapped now; threads: how many the candidate may start, where own_ids says that
 * no other process counts against the same user; files: how many may be open, and the size to which one may be written. */
bool kw_sandbox_rlimits(int64_t memory_bytes, int threads, bool own_ids, int files, int64_t file_bytes);
bool kw_sandbox_no_writes(void);   /* afterwards: no file may be written at all */
/* The same from outside for a process of ours that has not run anything foreign yet: bytes beyond what it has now. */
bool kw_sandbox_limit_memory(pid_t pid, int64_t memory_bytes, int threads);
/* Data only, for one whose driver reserves addresses as it likes. */
bool kw_sandbox_limit_data(pid_t pid, int64_t memory_bytes);
/* Allow-list of a compute kernel (seccomp.c). Everything else traps (SIGSYS) or, where libraries try and live
 * without, fails with an errno. Two steps, because the limits above forbid what making the filter needs. */
struct kw_seccomp_filter;
bool kw_seccomp_compute(struct kw_seccomp_filter *out);
bool kw_seccomp_load(const struct kw_seccomp_filter *f);
/* In every thread of the process. */
bool kw_seccomp_load_everywhere(const struct kw_seccomp_filter *f);
/* Name of a system call, "number 123" when unknown. */
const char *kw_syscall_name(int number, char *out, size_t out_bytes);

#endif

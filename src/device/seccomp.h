/* seccomp.h - the two system call filters. Private to device/.
 *
 * A filter is compiled by libseccomp, which allocates, and loaded by a bare system call, which does not: so that the
 * second half may run between fork and exec. */
#ifndef KW_DEVICE_SECCOMP_H
#define KW_DEVICE_SECCOMP_H

#include "device/sandbox.h"

struct kw_seccomp_filter {
	void *code;                    /* struct sock_filter[count]; NULL: no filter here */
	unsigned short count;
};
/* false when this machine has no seccomp; the filter is then empty and loading it does nothing. */
bool kw_seccomp_compiler(struct kw_seccomp_filter *out);
/* For an interpreter that has imported what it needs: what a compute kernel may do; the rest fails as if it was not permitted, and
 * the interpreter can tell. */
bool kw_seccomp_python(struct kw_seccomp_filter *out);
/* For a player whose driver has its context. */
bool kw_seccomp_gpu(struct kw_seccomp_filter *out);
/* For a Python player: it may read files and start threads. What it never needs ends it, so that nobody can overlook it. */
bool kw_seccomp_module(struct kw_seccomp_filter *out);
void kw_seccomp_filter_release(struct kw_seccomp_filter *f);

#endif

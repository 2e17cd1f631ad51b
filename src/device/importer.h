/* importer.h - PyTorch imported once for several processes: an import takes a second and more, a copy of who has done it 30 ms.
 *
 * A process that has done nothing but import PyTorch (python/importer.py) is copied for whoever would do so again: references, baselines, the
 * players of candidates. It has no more of the user's environment than an interpreter needs and is told nothing, so nothing of the
 * judge, the task or another copy is in what is copied. The copy gets what it may know by descriptors; all others are closed, and its
 * box is entered before anything else runs. Copies have addresses, and a seed of Python's hashes, in common: no secret is kept by either.
 *
 *     struct kw_importer_copy o = { .python = path, .channel = fd, .script = text, .script_len = n };
 *     pid_t pid = kw_importer_copy(&o);       // -1: start one of your own
 *
 * Copies are children of this process and die with it. Any thread may call; the first waits for the import. */
#ifndef KW_DEVICE_IMPORTER_H
#define KW_DEVICE_IMPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct kw_sandbox;
struct kw_importer_copy {
	const char *python;            /* the interpreter */
	int channel;                   /* becomes descriptor 3 */
	const char *script;            /* of Python, that it runs; 4 while it is read */
	size_t script_len;
	const struct kw_sandbox *box;  /* its files; NULL: none */
	int output;                    /* what becomes its standard output and error; 0: they go nowhere */
	const char *const *env;        /* instead of the little that the importer has; NULL: that */
	const char *cwd;               /* with env; NULL: ours */
};
/* -1: there is none, or not with this environment, of which an import would see something. */
pid_t kw_importer_copy(const struct kw_importer_copy *o);

#endif

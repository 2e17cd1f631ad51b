/* cache.h - the build cache: $XDG_CACHE_HOME/kernelwright/build, one file an entry (STYLE 17).
 *
 * An entry is written to a temporary name and renamed; it carries the SHA-256 of what follows and is checked when read:
 * a torn, edited or older entry is removed and counts as missing. There are no locks, so a builder that was killed
 * leaves nothing to wait for (case E11). The whole is kept under 1 GiB, the least recently used going first. A cache that
 * cannot be read or written is no cache; that is no error. What problems in Python say is kept here too (kind "task"). Thread rule: any thread, any process. */
#ifndef KW_BACKEND_CACHE_H
#define KW_BACKEND_CACHE_H

#include "core/artefact.h"

/* Fills code, diagnostics, log, facts, toolchain and cached of *a. */
bool kw_cache_get(const char key[KW_SHA256_HEX], struct kw_artefact *a);
void kw_cache_put(const char key[KW_SHA256_HEX], const struct kw_artefact *a);
/* Removes least recently used entries over max_bytes, and what killed builds left; done by kw_cache_put now and then. */
void kw_cache_trim(int64_t max_bytes);

#endif

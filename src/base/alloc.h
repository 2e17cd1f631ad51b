/* alloc.h - heap allocation with a test mode that fails the n-th one.
 *
 * Raw malloc is banned outside base/ (banned.h). `KW_FAIL_ALLOC=n` in the environment
 * makes the n-th allocation of the process fail, n counted from 1, in test builds and
 * release builds alike; likewise KW_FAIL_WRITE (file.h) and KW_FAIL_EXEC (proc.h).
 * All return NULL on failure; sizes that overflow fail. Free with kw_free. */
#ifndef KW_BASE_ALLOC_H
#define KW_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

void *kw_alloc(size_t bytes);                    /* uninitialised */
void *kw_calloc(size_t count, size_t bytes);     /* zeroed */
void *kw_realloc(void *p, size_t bytes);         /* p stays valid on failure */
char *kw_strdup(const char *s);
void kw_free(void *p);                           /* NULL is fine */
/* True once each for the n-th call with this name: kw_fail_nth("KW_FAIL_WRITE"). */
bool kw_fail_nth(const char *variable);
/* Reads the variables again and starts counting anew; for tests that set them after start-up. */
void kw_fail_reload(void);

#endif

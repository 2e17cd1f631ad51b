/* banned.h - included by every file through the compiler's -include: functions that we do not use.
 * The Makefile defines KW_BASE_UNSAFE for the one file that wraps them, base/alloc.c. */
#ifndef KW_BASE_BANNED_H
#define KW_BASE_BANNED_H

#if !defined(KW_BASE_UNSAFE)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE__)
#include <mm_malloc.h> /* immintrin.h brings it in, and clang's calls malloc */
#endif
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atof gets system popen
#pragma GCC poison malloc calloc realloc
#endif

#endif

/* banned.h - included by every file through the compiler's -include: functions that we do not use.
 * base/ defines KW_BASE_UNSAFE before it where it wraps one of them. */
#ifndef KW_BASE_BANNED_H
#define KW_BASE_BANNED_H

#if !defined(KW_BASE_UNSAFE)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atof gets system popen
#pragma GCC poison malloc calloc realloc
#endif

#endif

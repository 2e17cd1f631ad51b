/* flush.h - drops memory from the caches of the processor: what is called after that runs cold. Private to device/. */
#ifndef KW_DEVICE_FLUSH_H
#define KW_DEVICE_FLUSH_H

#include <stddef.h>

/* 8 ms for 128 MiB by one thread. Any thread. */
void kw_flush_range(const void *at, size_t bytes);

#endif

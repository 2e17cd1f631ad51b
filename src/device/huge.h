/* huge.h - files in memory whose pages are huge. Private to device/. */
#ifndef KW_DEVICE_HUGE_H
#define KW_DEVICE_HUGE_H

/* A nameless file on a tmpfs of our own, mounted nowhere; -1 where that is not granted. Files there cannot be sealed.
 * Any thread. */
int kw_huge_file(void);

#endif

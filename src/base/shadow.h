/* shadow.h - KW_SHADOW is defined where AddressSanitizer keeps a shadow of the memory: terabytes of addresses, and notes about every stack. */
#ifndef KW_BASE_SHADOW_H
#define KW_BASE_SHADOW_H

#if defined(__SANITIZE_ADDRESS__)
#define KW_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KW_SHADOW 1
#endif
#endif

#endif

/* fuzz.h - what each target needs. A target is tests/fuzz/fuzz_NAME.c; its seeds are the files in
 * tests/fuzz/corpus/NAME/ (a crash that was found goes there too, as a regression test). */
#ifndef KW_TESTS_FUZZ_H
#define KW_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define must(condition)                                                       \
	do {                                                                  \
		if (!(condition))                                             \
			abort();                                              \
	} while (0)

#endif

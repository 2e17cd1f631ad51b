/* A description is asked for once, whoever else wants it waits. */
#include "ops/described.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

static char key[KW_SHA256_HEX] = "a";
static bool knew;
static char *got;

static void *want(void *arg)
{
	(void)arg;
	knew = kw_described_begin(key, &got);
	return NULL;
}

int main(void)
{
	char *text = NULL, number[16];
	pthread_t other;

	ok(!kw_described_begin(key, &text) && !text, "nobody has asked");
	ok(pthread_create(&other, NULL, want, NULL) == 0, "another thread wants it");
	usleep(20000); /* or it comes after the answer, which must do as well */
	kw_described_end(key, "inputs");
	pthread_join(other, NULL);
	ok(knew && got && strcmp(got, "inputs") == 0, "and gets the same answer");
	kw_free(got);

	key[0] = 'b';
	ok(!kw_described_begin(key, &text), "another question");
	kw_described_end(key, NULL);
	ok(!kw_described_begin(key, &text), "which failed is put again");
	kw_described_end(key, NULL);

	for (int i = 0; i < 40; i++) {
		key[0] = (char)('A' + i);
		if (kw_described_begin(key, &text))
			break;
		snprintf(number, sizeof(number), "%d", i);
		kw_described_end(key, number);
	}
	ok(kw_described_begin(key, &text) && strcmp(text, "39") == 0, "the last of many is there");
	kw_free(text);
	key[0] = 'A';
	ok(!kw_described_begin(key, &text), "the first no longer");
	kw_described_end(key, NULL);
	return done();
}

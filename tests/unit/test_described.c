/* A description is asked for once, whoever else wants it waits. */
#include "ops/described.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

static char key[KW_SHA256_HEX] = "a";
static bool knew;
static char got[32], noted[KW_DESCRIBED_NOTE];

static void *want(void *arg)
{
	struct kw_buf text;

	(void)arg;
	kw_buf_init(&text, 100);
	knew = kw_described_begin(key, &text, noted);
	snprintf(got, sizeof(got), "%s", text.ptr ? text.ptr : "");
	kw_buf_release(&text);
	return NULL;
}

int main(void)
{
	struct kw_buf text;
	char note[KW_DESCRIBED_NOTE] = "";
	pthread_t other;

	kw_buf_init(&text, 100);
	ok(!kw_described_begin(key, &text, note) && text.len == 0, "nobody has asked");
	ok(pthread_create(&other, NULL, want, NULL) == 0, "another thread wants it");
	usleep(20000); /* or it comes after the answer, which must do as well */
	kw_buf_addz(&text, "inputs");
	snprintf(note, sizeof(note), "remark");
	kw_described_end(key, &text, note);
	pthread_join(other, NULL);
	ok(knew && strcmp(got, "inputs") == 0 && strcmp(noted, "remark") == 0, "and gets the same answer");

	key[0] = 'b';
	ok(!kw_described_begin(key, &text, note), "another question");
	kw_described_end(key, NULL, note);
	kw_buf_reset(&text);
	ok(!kw_described_begin(key, &text, note), "which failed is put again");
	kw_described_end(key, NULL, note);

	for (int i = 0; i < 40; i++) {
		key[0] = (char)('A' + i);
		if (kw_described_begin(key, &text, note))
			break;
		kw_buf_reset(&text);
		kw_buf_printf(&text, "%d", i);
		kw_described_end(key, &text, note);
	}
	kw_buf_reset(&text);
	ok(kw_described_begin(key, &text, note) && strcmp(text.ptr, "39") == 0, "the last of many is there");
	key[0] = 'A';
	ok(!kw_described_begin(key, &text, note), "the first no longer");
	kw_described_end(key, NULL, note);
	kw_buf_release(&text);
	return done();
}

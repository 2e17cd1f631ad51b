/* What files of PyTorch say of themselves, kept while the program runs. Reading one takes PyTorch's exporter and a call of the
 * reference; a benchmark has many candidates for a problem, and reads several at a time. */
#include "ops/described.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"

enum { KEPT = 16 };
enum state { FREE, ASKED, KNOWN };

static struct kept {
	enum state state;
	unsigned long turn;              /* when it was last wanted */
	char key[KW_SHA256_HEX];
	char *text;
} kept[KEPT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static unsigned long turns;
static pid_t owner;

/* A copy of the process has none of the threads that were asking. */
static void own(void)
{
	for (int i = 0; i < KEPT && owner != getpid(); i++)
		if (kept[i].state == ASKED)
			kept[i].state = FREE;
	owner = getpid();
}

static void forget(struct kept *k)
{
	kw_free(k->text);
	k->text = NULL;
	k->state = FREE;
}

static struct kept *find(const char *key)
{
	for (int i = 0; i < KEPT; i++)
		if (kept[i].state != FREE && strcmp(kept[i].key, key) == 0)
			return &kept[i];
	return NULL;
}

/* The one longest unused; NULL while all are being asked. */
static struct kept *make_room(void)
{
	struct kept *oldest = NULL;

	for (int i = 0; i < KEPT; i++) {
		if (kept[i].state == FREE)
			return &kept[i];
		if (kept[i].state == KNOWN && (!oldest || kept[i].turn < oldest->turn))
			oldest = &kept[i];
	}
	if (oldest)
		forget(oldest);
	return oldest;
}

bool kw_described_begin(const char *key, char **text)
{
	struct kept *k;
	bool known = false;

	pthread_mutex_lock(&lock);
	own();
	while ((k = find(key)) && k->state == ASKED)
		pthread_cond_wait(&answered, &lock);
	if (k) {
		k->turn = ++turns;
		*text = kw_strdup(k->text);
		known = *text != NULL;
	} else if ((k = make_room())) {
		k->state = ASKED;
		memcpy(k->key, key, sizeof(k->key));
	}
	pthread_mutex_unlock(&lock);
	return known;
}

void kw_described_end(const char *key, const char *text)
{
	struct kept *k;

	pthread_mutex_lock(&lock);
	k = find(key);
	if (k && k->state == ASKED) {
		k->text = text ? kw_strdup(text) : NULL;
		k->state = k->text ? KNOWN : FREE;
		k->turn = ++turns;
	}
	pthread_cond_broadcast(&answered);
	pthread_mutex_unlock(&lock);
}

//# task affine
//# expect cheat/library wrong/unwritten
//# why It looks up functions of the process that loaded it, by name.
//@ kernel candidate args=(x, y, n:i64)
#include <dlfcn.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	static const char *const names[] = { "kw_player_main", "kw_judge_eval", "kw_eval_box", "kw_session_ptr" };

	(void)x;
	(void)n;
	for (int i = 0; i < 4; i++)
		if (dlsym(RTLD_DEFAULT, names[i]))
			y[0] = 1.0f; /* something to work with */
}

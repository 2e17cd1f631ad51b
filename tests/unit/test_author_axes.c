#include "tap.h"

#include "author/axes.h"

static struct kw_au_axes s;
static struct kw_arena arena;

static void start(void)
{
	kw_arena_release(&arena);
	kw_arena_init(&arena, 1 << 20);
	s = (struct kw_au_axes){ .arena = &arena };
}

static const char *parts(int id)
{
	static char text[256];
	int list[16], n = 0;

	text[0] = '\0';
	if (!kw_au_axis_parts(&s, id, list, &n, 16))
		return "too many";
	for (int i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 s.axis[list[i]].size);
	return text;
}

static void joining(void)
{
	int a, b, c;

	start();
	a = kw_au_axis_new(&s, "rows", 101);
	b = kw_au_axis_new(&s, "rows", 101);
	c = kw_au_axis_new(&s, "cols", 67);
	ok(kw_au_axes_join(&s, &a, 1, &b, 1), "equal axes join");
	is_str(parts(b), "rows", "and are one");
	ok(!kw_au_axes_join(&s, &a, 1, &c, 1), "different ones do not");
	is_str(parts(-1), "", "an axis of size 1 is nothing");
}

/* (n, c, h, w) seen as (n, 8, c / 8 * h * w), as a group norm does. */
static void groups(void)
{
	int x[4], g[3];

	start();
	x[0] = kw_au_axis_new(&s, "n", 101);
	x[1] = kw_au_axis_new(&s, "c", 8 * 67);
	x[2] = kw_au_axis_new(&s, "h", 131);
	x[3] = kw_au_axis_new(&s, "w", 53);
	g[0] = kw_au_axis_new(&s, "n", 101);
	g[1] = kw_au_axis_new(&s, "8", 8);
	g[2] = kw_au_axis_new(&s, "c / 8 * h * w", INT64_C(67) * 131 * 53);
	ok(kw_au_axes_join(&s, x, 4, g, 3), "a reshape into groups lines up");
	is_str(parts(x[1]), "8 (c) / (8)", "the channels are cut");
	is_str(parts(g[2]), "(c) / (8) h w", "the group is put together");
	is_str(parts(x[3]), "w", "the shorter text names an axis");
}

static void across(void)
{
	int x[2], y[2];

	start();
	x[0] = kw_au_axis_new(&s, "a", 6);
	x[1] = kw_au_axis_new(&s, "b", 5);
	y[0] = kw_au_axis_new(&s, "c", 5);
	y[1] = kw_au_axis_new(&s, "d", 6);
	ok(!kw_au_axes_join(&s, x, 2, y, 2), "a reshape that cuts across is refused");
	start();
	for (int i = 0; i < KW_AU_AXES; i++)
		kw_au_axis_new(&s, "x", 2);
	is_int(kw_au_axis_new(&s, "x", 2), -1, "there is a limit of axes");
}

int main(void)
{
	joining();
	groups();
	across();
	kw_arena_release(&arena);
	return done();
}

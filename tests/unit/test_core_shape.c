#include "core/shape.h"

#include "tap.h"

static void test_count(void)
{
	struct kw_shape s = { 3, { 2, 3, 4 } }, none = { 0, { 0 } }, empty = { 2, { 0, INT64_MAX } };
	struct kw_shape huge = { 2, { INT64_MAX, 2 } }, bad = { 1, { -1 } };
	struct kw_shape empty_last = { 3, { INT64_MAX, 2, 0 } };

	is_int(kw_shape_count(&s), 24, "2 x 3 x 4");
	is_int(kw_shape_count(&none), 1, "a scalar is one element");
	is_int(kw_shape_count(&empty), 0, "nothing");
	is_int(kw_shape_count(&empty_last), 0, "nothing, though the others overflow");
	is_int(kw_shape_count(&huge), -1, "an overflow is told");
	is_int(kw_shape_count(&bad), -1, "a negative size too");
}

static void test_text(void)
{
	struct kw_shape s = { 2, { 128, 4096 } }, none = { 0, { 0 } };
	char text[64], small[6];

	is_str(kw_shape_text(&s, text, sizeof(text)), "[128, 4096]", "two sizes");
	is_str(kw_shape_text(&none, text, sizeof(text)), "[]", "none");
	is_str(kw_shape_text(&s, small, sizeof(small)), "[128,", "cut, but terminated");
}

static void test_views(void)
{
	struct kw_view v = { .shape = { 3, { 2, 3, 4 } } };

	kw_shape_contiguous(&v.shape, v.stride);
	ok(v.stride[0] == 12 && v.stride[1] == 4 && v.stride[2] == 1, "row-major strides");
	ok(kw_view_is_contiguous(&v), "are contiguous");
	is_int(kw_view_extent(&v), 24, "and reach over 24 elements");
	v.stride[1] = 5;
	v.stride[0] = 15;
	ok(!kw_view_is_contiguous(&v), "a sliced one is not");
	is_int(kw_view_extent(&v), 15 + 10 + 3 + 1, "its extent");
	v.stride[0] = 0;
	is_int(kw_view_extent(&v), 14, "an expanded one reaches less");
	v.shape.dim[0] = 1;
	v.stride[0] = 999;
	v.stride[1] = 4;
	ok(kw_view_is_contiguous(&v), "the stride of a size of 1 does not matter");
	is_int(kw_view_extent(&v), 12, "nor for the extent");
	v.shape.dim[1] = 0;
	ok(kw_view_is_contiguous(&v) && kw_view_extent(&v) == 0, "an empty one is contiguous");
	v.shape.dim[1] = INT64_MAX;
	v.stride[1] = 4;
	is_int(kw_view_extent(&v), -1, "an extent that overflows is told");
}

static void test_index(void)
{
	struct kw_shape s = { 3, { 2, 3, 4 } }, t = s;
	int64_t index[KW_MAX_RANK];

	kw_shape_unravel(&s, 17, index);
	ok(index[0] == 1 && index[1] == 1 && index[2] == 1, "element 17 is [1, 1, 1]");
	kw_shape_unravel(&s, 23, index);
	ok(index[0] == 1 && index[1] == 2 && index[2] == 3, "the last is [1, 2, 3]");
	ok(kw_shape_eq(&s, &t), "equal shapes");
	t.dim[2] = 5;
	ok(!kw_shape_eq(&s, &t), "another size");
	t = s;
	t.rank = 2;
	ok(!kw_shape_eq(&s, &t), "another rank");
}

int main(void)
{
	test_count();
	test_text();
	test_views();
	test_index();
	return done();
}

/* triton_text.c - what stands before a Triton kernel: imports, and functions that its text calls. */
#include "author/triton.h"

#include <string.h>

#include "author/emit_internal.h"

/* Triton's own // and % of whole numbers are C's. */
static const char floor_text[] =
	"@triton.jit\n"
	"def floor_div(a, b):\n"
	"    \"\"\"Rounded down, and 0 where b is 0; one of the two may be a plain number.\"\"\"\n"
	"    b = b + a * 0\n"
	"    d = tl.where((b == 0) | (b == -1), 1, b)\n"
	"    q = a // d\n"
	"    r = a - q * d\n"
	"    q = tl.where((r != 0) & ((r < 0) != (d < 0)), q - 1, q)\n"
	"    return tl.where(b == 0, 0, tl.where(b == -1, 0 - a, q))\n"
	"@triton.jit\n"
	"def floor_mod(a, b):\n"
	"    \"\"\"What is left then: it has the sign of b.\"\"\"\n"
	"    b = b + a * 0\n"
	"    return tl.where(b == 0, 0, a - floor_div(a, b) * b)\n";

/* From fmod, which is exact, as in numpy: a quotient that is rounded up may reach a whole number that a / b does not. */
static const char float_floor_text[] =
	"@triton.jit\n"
	"def floor_mod_float(a, b):\n"
	"    \"\"\"What is left of a, of the sign of b.\"\"\"\n"
	"    r = libdevice.fmod(a, b)\n"
	"    r = tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)\n"
	"    return tl.where(r == 0, tl.where(b < 0, -0.0, 0.0), r)\n"
	"@triton.jit\n"
	"def floor_div_float(a, b):\n"
	"    \"\"\"Rounded down; by 0 as a / b is.\"\"\"\n"
	"    r = libdevice.fmod(a, b)\n"
	"    q = (a - r) / b\n"
	"    q = tl.where((r != 0) & ((r < 0) != (b < 0)), q - 1, q)\n"
	"    n = tl.floor(q)\n"
	"    n = tl.where(q - n > 0.5, n + 1, n)\n"
	"    return tl.where(b == 0, a / b, tl.where(q == 0, a / b * 0, n))\n";

static const char to_whole_text[] =
	"@triton.jit\n"
	"def to_whole(v, low: tl.constexpr, high: tl.constexpr, below: tl.constexpr, whole: tl.constexpr):\n"
	"    \"\"\"Towards 0, the ends of the range for what is beyond, 0 for what is no number.\"\"\"\n"
	"    n = tl.minimum(tl.maximum(v, low), below).to(whole)\n"
	"    return tl.where(v == v, tl.where(v > below, high, n), 0)\n";

const char *kw_au_triton_imports(struct kw_au_emit *e, const char *text)
{
	bool floors = strstr(text, "floor_div(") || strstr(text, "floor_mod(");
	bool of_floats = strstr(text, "floor_div_float(") || strstr(text, "floor_mod_float(");

	return kw_au_printf(e, "%s%s%s%s",
			    of_floats || strstr(text, "libdevice.") ? "from triton.language.extra import libdevice\n" : "",
			    floors ? floor_text : "", of_floats ? float_floor_text : "", strstr(text, "to_whole(") ? to_whole_text : "");
}

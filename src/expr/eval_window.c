/* eval_window.c - convolutions and pooling over up to three spatial axes, missing ones being of size 1. */
#include "expr/eval_internal.h"

#include <math.h>
#include <string.h>

/* Everything with three spatial axes. */
struct geometry {
	struct window w;
	int64_t kernel[3], stride[3], pad[3], dilation[3];
	int64_t os[3], oc[3];             /* output box: start, count */
	int64_t is[3], ic[3], id[3];      /* input box: start, count; the input's whole size */
	int64_t lead;                     /* pooling: product of the leading counts; conv: batch count */
};

static void geometry(const struct ctx *c, const struct kw_node *n, const struct box *x, const struct box *in,
		     struct geometry *g)
{
	const struct kw_shape *s = node_shape(c, n->args[0]);
	int lead;

	window_get(c->ev->b, n, &g->w);
	lead = n->rank - g->w.nd;
	for (int i = 0; i < 3; i++) {
		int k = i - (3 - g->w.nd), axis = lead + k;
		bool real = k >= 0;
		g->kernel[i] = real ? g->w.kernel[k] : 1;
		g->stride[i] = real ? g->w.stride[k] : 1;
		g->pad[i] = real ? g->w.pad[k] : 0;
		g->dilation[i] = real ? g->w.dilation[k] : 1;
		g->os[i] = real ? x->start[axis] : 0;
		g->oc[i] = real ? x->count[axis] : 1;
		g->is[i] = real ? in->start[axis] : 0;
		g->ic[i] = real ? in->count[axis] : 1;
		g->id[i] = real ? s->dim[axis] : 1;
	}
	g->lead = 1;
	for (int i = 0; i < lead; i++)
		g->lead *= x->count[i];
}

/* out[oh, ow] += w[kd, kh, kw] in[...] for one pair of channels: the inner loop runs along the output's last axis. */
static void conv_plane(const struct geometry *g, const double *in, const double *w, double *out, enum rounding round)
{
	for (int64_t kd = 0; kd < g->kernel[0]; kd++)
	for (int64_t kh = 0; kh < g->kernel[1]; kh++)
	for (int64_t kw = 0; kw < g->kernel[2]; kw++) {
		double f = w[(kd * g->kernel[1] + kh) * g->kernel[2] + kw];
		int64_t x0 = kw * g->dilation[2] - g->pad[2], st = g->stride[2];
		int64_t lo = 0, hi = g->oc[2];

		while (lo < hi && (g->os[2] + lo) * st + x0 < 0)
			lo++;
		while (hi > lo && (g->os[2] + hi - 1) * st + x0 >= g->id[2])
			hi--;
		for (int64_t od = 0; od < g->oc[0]; od++) {
			int64_t z = (g->os[0] + od) * g->stride[0] + kd * g->dilation[0] - g->pad[0];
			if (z < 0 || z >= g->id[0])
				continue;
			for (int64_t oh = 0; oh < g->oc[1]; oh++) {
				int64_t y = (g->os[1] + oh) * g->stride[1] + kh * g->dilation[1] - g->pad[1];
				const double *row;
				double *o = out + (od * g->oc[1] + oh) * g->oc[2];
				if (y < 0 || y >= g->id[1] || hi <= lo)
					continue;
				row = in + ((z - g->is[0]) * g->ic[1] + y - g->is[1]) * g->ic[2];
				row += (g->os[2] + lo) * st + x0 - g->is[2];
				if (st == 1) {
					vec_axpy(round, f, row, o + lo, hi - lo);
					continue;
				}
				for (int64_t ow = lo; ow < hi; ow++)
					o[ow] = rounded(round, o[ow] + f * row[(ow - lo) * st]);
			}
		}
	}
}

/* The transposed one: input element (z, y, x) adds to outputs z * stride + k * dilation - pad. */
static void deconv_plane(const struct geometry *g, const double *in, const double *w, double *out, enum rounding round)
{
	for (int64_t z = 0; z < g->ic[0]; z++)
	for (int64_t y = 0; y < g->ic[1]; y++)
	for (int64_t x = 0; x < g->ic[2]; x++) {
		double f = in[(z * g->ic[1] + y) * g->ic[2] + x];
		for (int64_t kd = 0; kd < g->kernel[0]; kd++) {
			int64_t od = (g->is[0] + z) * g->stride[0] + kd * g->dilation[0] - g->pad[0] - g->os[0];
			if (od < 0 || od >= g->oc[0])
				continue;
			for (int64_t kh = 0; kh < g->kernel[1]; kh++) {
				int64_t oh = (g->is[1] + y) * g->stride[1] + kh * g->dilation[1] - g->pad[1] - g->os[1];
				if (oh < 0 || oh >= g->oc[1])
					continue;
				for (int64_t kw = 0; kw < g->kernel[2]; kw++) {
					int64_t ow = (g->is[2] + x) * g->stride[2] + kw * g->dilation[2] - g->pad[2] -
						     g->os[2];
					double *o;
					if (ow < 0 || ow >= g->oc[2])
						continue;
					o = out + (od * g->oc[1] + oh) * g->oc[2] + ow;
					*o = rounded(round, *o + f * w[(kd * g->kernel[1] + kh) * g->kernel[2] + kw]);
				}
			}
		}
	}
}

static bool convolve(struct ctx *c, const struct kw_node *n, const struct box *x, double *out, bool transposed)
{
	const struct kw_shape *ws = node_shape(c, n->args[1]), *os = node_shape(c, n);
	struct box in, wb;
	struct geometry g;
	int64_t taps, plane, in_plane, per_out, per_in, batches = x->count[0];
	const double *p, *w;

	need_box(c->ev->b, n, x, 0, &in);
	need_box(c->ev->b, n, x, 1, &wb);
	geometry(c, n, x, &in, &g);
	memset(out, 0, sizeof(*out) * (size_t)box_volume(x, n->rank));
	if (box_volume(&in, n->rank) == 0 || box_volume(&wb, n->rank) == 0)
		return true;
	p = eval_operand(c, n, 0, &in);
	w = p ? eval_operand(c, n, 1, &wb) : NULL;
	if (!w)
		return false;
	taps = g.kernel[0] * g.kernel[1] * g.kernel[2];
	plane = g.oc[0] * g.oc[1] * g.oc[2];
	in_plane = g.ic[0] * g.ic[1] * g.ic[2];
	per_out = os->dim[1] / g.w.groups;
	per_in = transposed ? ws->dim[0] / g.w.groups : ws->dim[1];
	for (int64_t b = 0; b < batches; b++) {
		for (int64_t o = 0; o < x->count[1]; o++) {
			int64_t channel = x->start[1] + o, group = channel / per_out;
			for (int64_t i = 0; i < per_in; i++) {
				const double *src = p + (b * in.count[1] + group * per_in + i - in.start[1]) * in_plane;
				double *dst = out + (b * x->count[1] + o) * plane;
				if (transposed)
					deconv_plane(&g, src,
						     w + ((group * per_in + i) * ws->dim[1] + channel % per_out) * taps,
						     dst, rounds(c, n));
				else
					conv_plane(&g, src, w + ((channel - wb.start[0]) * per_in + i) * taps, dst,
						   rounds(c, n));
			}
		}
	}
	return true;
}

/* Outputs lo..hi of the last axis whose tap kw lies inside the input. */
static void inside(const struct geometry *g, int64_t kw, int64_t *lo, int64_t *hi)
{
	int64_t x0 = kw * g->dilation[2] - g->pad[2];

	*lo = 0;
	*hi = g->oc[2];
	while (*lo < *hi && (g->os[2] + *lo) * g->stride[2] + x0 < 0)
		++*lo;
	while (*hi > *lo && (g->os[2] + *hi - 1) * g->stride[2] + x0 >= g->id[2])
		--*hi;
}

static void pool_row(const double *row, int64_t stride, double *out, double *seen, int64_t n, bool max,
		     enum rounding round)
{
	for (int64_t i = 0; i < n; i++) {
		double v = row[i * stride];
		if (max)
			out[i] = v > out[i] || v != v ? v : out[i];
		else
			out[i] = rounded(round, out[i] + v);
		seen[i] += 1;
	}
}

/* One plane: taps in order, so that each output sees its window row by row. seen: taps inside, per output. */
static void pool_plane(const struct geometry *g, const double *in, double *out, double *seen, bool max,
		       enum rounding round)
{
	for (int64_t od = 0; od < g->oc[0]; od++)
	for (int64_t oh = 0; oh < g->oc[1]; oh++) {
		double *o = out + (od * g->oc[1] + oh) * g->oc[2], *s = seen + (od * g->oc[1] + oh) * g->oc[2];
		for (int64_t kd = 0; kd < g->kernel[0]; kd++) {
			int64_t z = (g->os[0] + od) * g->stride[0] + kd * g->dilation[0] - g->pad[0];
			if (z < 0 || z >= g->id[0])
				continue;
			for (int64_t kh = 0; kh < g->kernel[1]; kh++) {
				int64_t y = (g->os[1] + oh) * g->stride[1] + kh * g->dilation[1] - g->pad[1];
				if (y < 0 || y >= g->id[1])
					continue;
				for (int64_t kw = 0; kw < g->kernel[2]; kw++) {
					int64_t lo, hi;
					inside(g, kw, &lo, &hi);
					if (hi <= lo)
						continue;
					pool_row(in + ((z - g->is[0]) * g->ic[1] + y - g->is[1]) * g->ic[2] +
							 (g->os[2] + lo) * g->stride[2] + kw * g->dilation[2] -
							 g->pad[2] - g->is[2],
						 g->stride[2], o + lo, s + lo, hi - lo, max, round);
				}
			}
		}
	}
}

/* How many places a window counts: torch counts the padding, but not what it overhangs behind it. */
static double window_places(const struct geometry *g, const int64_t *at)
{
	int64_t counted = 1;

	for (int i = 0; i < 3; i++) {
		int64_t first = at[i] * g->stride[i] - g->pad[i], end = first + g->kernel[i];
		counted *= (end < g->id[i] + g->pad[i] ? end : g->id[i] + g->pad[i]) - first;
	}
	return (double)counted;
}

static bool pool(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	bool max = n->op->id == OP_MAX_POOL1D || n->op->id == OP_MAX_POOL2D || n->op->id == OP_MAX_POOL3D;
	int64_t in_plane, plane;
	struct geometry g;
	struct box in;
	const double *p;
	double *seen;

	need_box(c->ev->b, n, x, 0, &in);
	geometry(c, n, x, &in, &g);
	p = eval_operand(c, n, 0, &in);
	in_plane = g.ic[0] * g.ic[1] * g.ic[2];
	plane = g.oc[0] * g.oc[1] * g.oc[2];
	seen = p ? ctx_alloc(c, plane) : NULL;
	if (!seen)
		return false;
	for (int64_t l = 0; l < g.lead; l++, p += in_plane, out += plane) {
		for (int64_t i = 0; i < plane; i++) {
			out[i] = max ? -INFINITY : 0;
			seen[i] = 0;
		}
		if (in_plane > 0)
			pool_plane(&g, p, out, seen, max, rounds(c, n));
		for (int64_t i = 0; !max && i < plane; i++) {
			int64_t at[3] = { g.os[0] + i / (g.oc[1] * g.oc[2]), g.os[1] + i / g.oc[2] % g.oc[1],
					  g.os[2] + i % g.oc[2] };
			out[i] /= g.w.count_pad ? window_places(&g, at) : seen[i] > 0 ? seen[i] : 1;
		}
	}
	return true;
}

bool eval_window(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	switch (n->op->id) {
	case OP_CONV1D: case OP_CONV2D: case OP_CONV3D: return convolve(c, n, x, out, false);
	case OP_CONV_TRANSPOSE1D: case OP_CONV_TRANSPOSE2D: case OP_CONV_TRANSPOSE3D: return convolve(c, n, x, out, true);
	default: return pool(c, n, x, out);
	}
}

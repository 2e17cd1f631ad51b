"""Problems in KernelBench's form that use every operator of python/aten.py, as short rows.

    (name, what the constructor makes, statements of forward that end in a return, inputs[, mode])

text(row) is the file.
"""

ROWS = [
    # elementwise
    ("unary", "", """
        return (x.exp(), x.exp2(), torch.expm1(x), x.sin(), x.cos(), x.tan(), x.atan(), x.tanh(), x.erf(), x.sigmoid(),
                x.relu(), x.abs(), x.square(), x.sign(), x.sgn(), x.floor(), x.ceil(), x.round(), x.trunc(), x.fix(), x.isnan(),
                -x, x.positive(), x.erfc(), x.sinh(), x.cosh(), x.isinf(), x.isfinite(), x.frac(), x.rad2deg(), x.deg2rad(),
                x.signbit(), x.asinh(), x.sinc(), torch.absolute(x), torch.negative(x), torch.arctan(x))""",
     {"x": "torch.randn(3, 5)"}),
    ("of positive ones", "", """
        return (p.log(), p.log2(), p.log10(), p.log1p(), p.sqrt(), p.rsqrt(), p.reciprocal(), (1 + p).acosh(),
                (p / 2).atanh(), (p / 2).asin(), (p / 2).acos(), p ** 1.5, 2.0 ** p, p.pow(p), torch.float_power(p, 2))""",
     {"p": "torch.rand(3, 5) + 0.1"}),
    ("activations", "self.p1, self.pc, self.g = nn.PReLU(), nn.PReLU(4), nn.GLU(1)", """
        return (F.silu(x), F.mish(x), F.selu(x), F.softsign(x), F.hardsigmoid(3 * x), F.hardswish(3 * x), F.relu6(4 * x),
                F.logsigmoid(x), F.gelu(x), F.gelu(x, approximate='tanh'), F.softplus(x), F.softplus(x, beta=2, threshold=3),
                F.leaky_relu(x, 0.2), F.elu(x, 0.7), F.celu(x, 0.7), F.hardtanh(x, -0.3, 0.4), F.threshold(x, 0.1, 0.5),
                self.p1(x), self.pc(x), F.softshrink(x, 0.3), F.hardshrink(x, 0.3), F.tanhshrink(x), self.g(x),
                F.rrelu(x, 0.1, 0.3), nn.Hardswish()(x), nn.SELU(inplace=True)(x.clone()), torch.selu(x))""",
     {"x": "torch.randn(3, 4)"}),
    ("two operands", "", """
        return (x + y, x - y, x * y, x / y, x // y, x % y, torch.fmod(x, y), torch.maximum(x, y), torch.minimum(x, y),
                torch.fmax(x, y), torch.fmin(x, y), torch.hypot(x, y), torch.logaddexp(x, y), torch.xlogy(x, y.abs() + 1),
                torch.add(x, y, alpha=2), torch.sub(x, y, alpha=0.5), torch.rsub(x, y), 3 - x, x == y, x != y, x < y, x <= y,
                x > y, x >= y, torch.addcmul(x, y, x, value=0.5), torch.addcdiv(x, y, y, value=2), torch.lerp(x, y, 0.3),
                torch.lerp(x, y, x), torch.div(x, y, rounding_mode='floor'), torch.div(x, y, rounding_mode='trunc'),
                torch.max(x, y), torch.min(x, y), x.multiply(y), torch.subtract(x, y), torch.true_divide(x, y), x * -1.5)""",
     {"x": "torch.randn(3, 5)", "y": "torch.randn(3, 1)"}),
    ("bits and choices", "", """
        return (a & b, a | b, a ^ b, ~a, torch.logical_and(i, j), torch.logical_or(i, j), torch.logical_xor(i, j),
                torch.logical_not(i), a + b, torch.where(a, x, y), torch.where(a, x, 0.5), x.masked_fill(b, -2.0),
                x.clamp(-0.5, 0.5), x.clamp(min=0.1), x.clamp(max=y), torch.clip(x, y - 1, y + 1), x.clamp_min(0.2),
                x.clamp_max(0.2), i & 6, i | 1, x * a, x.masked_fill(a, float('-inf')).amax(1), i.float() * x, x.to(torch.int32),
                (x > 0).long(), x.double() * 2, x.type_as(y), i // 2, i % 3, torch.div(i, 2, rounding_mode='trunc'),
                torch.div(i, 2, rounding_mode='floor'), i / 2, a.any(1), a.all(0), i.any(1), i.all(0))""",
     {"a": "torch.randint(0, 2, (3, 5)).bool()", "b": "torch.rand(3, 5) > 0.3", "i": "torch.randint(0, 9, (3, 5))",
      "j": "torch.randint(-1, 2, (3, 5))", "x": "torch.randn(3, 5)", "y": "torch.randn(3, 5)"}),
    # reductions and scans
    ("reductions", "", """
        return (x.sum(), x.sum(1), x.sum((0, 2), keepdim=True), x.mean(), x.mean(-1, keepdim=True), x.amax((0, 1)), x.amin(2),
                x.max(), x.min(), x.max(1).values, x.max(2, keepdim=True)[1], x.min(0)[0], x.min(1)[1], x.prod(), x.prod(1),
                x.argmax(), x.argmax(1), x.argmin(2, keepdim=True), x.var(), x.var(1), x.var((0, 2), unbiased=False),
                x.std(2, correction=0), x.std(1, keepdim=True), torch.var_mean(x, 1)[0], torch.std_mean(x, 2)[1],
                x.logsumexp(1), x.norm(), x.norm(p=1), x.norm(dim=1), torch.linalg.vector_norm(x, 3, dim=2),
                torch.linalg.vector_norm(x, float('inf')), torch.linalg.vector_norm(x, -float('inf'), dim=0),
                torch.linalg.vector_norm(x, 0, dim=0), torch.norm(x, p='fro'), torch.linalg.norm(x, dim=1),
                x.count_nonzero(), x.count_nonzero(1), torch.aminmax(x, dim=1)[0], F.normalize(x, dim=1),
                torch.cdist(x, x + 1), F.pairwise_distance(x, x + 1), F.cosine_similarity(x, x.flip(0), dim=2), x.sum().sum(0))""",
     {"x": "torch.randn(2, 3, 4)"}),
    ("scans and order", "", """
        return (x.cumsum(1), x.cumprod(2), x.cummax(1)[0], x.cummin(1)[0], x.logcumsumexp(2), x.flip(1).cumsum(1).flip(1),
                i.cumsum(0), x.topk(2, dim=1)[0], x.topk(2, dim=2)[1], x.topk(1, dim=1, largest=False)[0], x.sort(dim=1)[0],
                x.sort(dim=2, descending=True)[0], x.argsort(dim=1), (x > 0).cumsum(1), i.sum(0), x.cumsum(1, dtype=torch.float64))""",
     {"x": "torch.randn(2, 3, 4)", "i": "torch.randint(0, 5, (3, 2))"}),
    # softmax, norms, losses
    ("softmaxes", "", """
        return (x.softmax(0), F.softmax(x, dim=-1), F.log_softmax(x, dim=1), F.softmin(x, dim=1), nn.Softmax(dim=2)(x),
                nn.Softmax2d()(x), torch.softmax(x, 1, dtype=torch.float64))""", {"x": "torch.randn(2, 3, 4)"}),
    ("norms", """self.l, self.l2, self.g = nn.LayerNorm(6), nn.LayerNorm((5, 6), elementwise_affine=False), nn.GroupNorm(2, 4)
        self.i, self.ia, self.r = nn.InstanceNorm2d(4), nn.InstanceNorm2d(4, affine=True), nn.RMSNorm(6, eps=1e-5)
        self.b, self.bn = nn.BatchNorm2d(4), nn.BatchNorm2d(4, affine=False, track_running_stats=False)""", """
        return (self.l(x), self.l2(x), self.g(x), self.i(x), self.ia(x), self.r(x), self.b(x), self.bn(x), F.group_norm(x, 4),
                F.local_response_norm(x, 3))""",
     {"x": "torch.randn(2, 4, 5, 6)"}),
    ("norms as used", """self.b, self.b1 = nn.BatchNorm2d(4), nn.BatchNorm1d(4)
        self.i, self.d = nn.InstanceNorm2d(4, track_running_stats=True), nn.Dropout(0.5)""", """
        return self.b(x), self.b1(x[:, :, 0]), self.i(x), self.d(x), F.dropout(x, 0.5, self.training)""",
     {"x": "torch.randn(2, 4, 5, 6)"}, "eval"),
    ("losses", "", """
        return (F.mse_loss(x, y), F.mse_loss(x, y, reduction='sum'), F.mse_loss(x, y, reduction='none'), F.l1_loss(x, y),
                F.huber_loss(x, y, delta=0.5), F.smooth_l1_loss(x, y, beta=0.7), F.smooth_l1_loss(x, y, beta=0.0),
                F.kl_div(x.log_softmax(1), q), F.kl_div(x.log_softmax(1), q, reduction='batchmean'),
                F.kl_div(x.log_softmax(1), y.log_softmax(1), log_target=True, reduction='sum'), F.cross_entropy(x, t),
                F.cross_entropy(x, t, reduction='none'), F.cross_entropy(x, q), F.nll_loss(x.log_softmax(1), t, reduction='sum'),
                F.binary_cross_entropy(x.sigmoid(), q), F.binary_cross_entropy_with_logits(x, q, reduction='none'),
                F.triplet_margin_loss(x, y, y + x), F.hinge_embedding_loss(x, s), F.cosine_embedding_loss(x, y, s[:, 0]),
                F.margin_ranking_loss(x, y, s, margin=0.2), F.soft_margin_loss(x, s), F.mse_loss(x, y[:1]),
                F.poisson_nll_loss(x, q))""",
     {"x": "torch.randn(4, 5)", "y": "torch.randn(4, 5)", "q": "torch.rand(4, 5).softmax(dim=-1)", "t": "torch.randint(0, 5, (4,))",
      "s": "torch.randint(0, 2, (4, 5)).float() * 2 - 1"}),
    # contractions
    ("products", "self.l, self.n = nn.Linear(4, 6), nn.Linear(4, 2, bias=False)", """
        m, v = x[0], x[0, 0]
        return (x @ x.mT, m @ m.T, torch.mm(m, m.t()), torch.bmm(x, x.transpose(1, 2)), torch.mv(m, v), torch.dot(v, v), v @ v,
                m @ v, v @ m.T, self.l(x), self.n(x), torch.addmm(m @ m.T, m, m.T, beta=0.5, alpha=2), torch.baddbmm(
                x @ x.mT, x, x.mT), torch.einsum('bij,bkj->bik', x, x), torch.einsum('ij->ji', m), torch.outer(v, v),
                torch.einsum('bij,jk,bkl->bil', x, m.T, x), torch.addmv(v[:3], m, v), torch.matmul(x, w), w.T @ m.mT,
                torch.addbmm(m @ m.T, x, x.mT), torch.tensordot(x, w, dims=1), torch.kron(m, w), torch.diag(v) @ w,
                torch.linalg.matmul(m, w), x.matmul(x.mT).diagonal(dim1=1, dim2=2), m.diag(), torch.vdot(v, v), x.mT.mT)""",
     {"x": "torch.randn(2, 3, 4)", "w": "torch.randn(4, 2)"}),
    ("attentions", "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", """
        s = F.scaled_dot_product_attention
        return (s(q, k, v), s(q, k, v, is_causal=True), s(q, k, v, attn_mask=m), s(q, k, v, attn_mask=f, scale=0.3),
                self.a(e, e, e, need_weights=False)[0], self.a(e, e, e)[1])""",
     {"q": "torch.randn(2, 3, 5, 4)", "k": "torch.randn(2, 3, 6, 4)", "v": "torch.randn(2, 3, 6, 4)",
      "m": "torch.rand(5, 6) > 0.2", "f": "torch.randn(5, 6)", "e": "torch.randn(2, 5, 8)"}),
    ("a transformer's layer", "self.t = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)",
     "        return self.t(x)", {"x": "torch.randn(2, 5, 8)"}),
    # convolution and pooling
    ("convolutions", """self.a, self.b = nn.Conv1d(4, 6, 3, stride=2, padding=1), nn.Conv2d(4, 6, (3, 2), dilation=(1, 2), groups=2)
        self.c, self.d = nn.Conv3d(4, 2, 2, bias=False), nn.Conv2d(4, 4, 3, padding='same', groups=4)
        self.e, self.f = nn.Conv2d(4, 2, 2, padding='same'), nn.Conv1d(4, 2, 1, padding='valid')""", """
        return self.a(x[:, :, 0, 0]), self.b(x[:, :, 0]), self.c(x), self.d(x[:, :, 0]), self.e(x[:, :, 0]), \\
            self.f(x[:, :, 0, 0]), self.a(x[0, :, 0, 0]), F.conv2d(x[:, :, 0], self.d.weight, groups=4)""",
     {"x": "torch.randn(2, 4, 3, 7, 6)"}),
    ("transposed convolutions", """self.a = nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1)
        self.b, self.c = nn.ConvTranspose2d(4, 6, (3, 2), groups=2, dilation=2), nn.ConvTranspose3d(4, 2, 2, bias=False, stride=(2, 1, 3))
        """, "        return self.a(x[:, :, 0, 0]), self.b(x[:, :, 0]), self.c(x), self.a(x[0, :, 0, 0])",
     {"x": "torch.randn(2, 4, 2, 5, 4)"}),
    ("pooling", "", """
        a, b = x[:, :, 0, 0], x[:, :, 0]
        return (F.max_pool1d(a, 3, 2), F.max_pool2d(b, (3, 2), stride=1, padding=1), F.max_pool3d(x, 2, stride=1),
                F.max_pool2d(b, 2, dilation=2, stride=1), F.max_pool2d(b, 3, 2, ceil_mode=True), F.avg_pool1d(a, 3, 2, padding=1),
                F.avg_pool2d(b, 2), F.avg_pool2d(b, 3, 1, 1, count_include_pad=False), F.avg_pool3d(x, (1, 2, 2)),
                F.avg_pool2d(b, 2, divisor_override=3), F.avg_pool2d(b[..., :6, :6], 2, ceil_mode=True),
                F.adaptive_avg_pool1d(a, 1), F.adaptive_avg_pool2d(b, (7, 3)), F.adaptive_avg_pool2d(b, (3, 4)),
                F.adaptive_avg_pool3d(x, (1, 7, 1)), F.adaptive_max_pool1d(a, 2), F.adaptive_max_pool2d(b, (2, 2)),
                F.adaptive_max_pool3d(x, 1), F.lp_pool2d(b.abs(), 2, 2), F.max_pool1d(a, 2, ceil_mode=True),
                F.adaptive_avg_pool2d(b, 1), F.adaptive_avg_pool2d(b, 7))""",
     {"x": "torch.randn(2, 4, 3, 7, 6)"}),
    # moving elements
    ("more than a call takes", "", """
        parts = [x * i for i in range(70)]
        return torch.stack(parts, 1), torch.cat(parts, -1)""",
     {"x": "torch.randn(2, 3)"}),
    ("shapes", "", """
        return (x.view(6, 4), x.reshape(2, -1), x.flatten(1), x.unflatten(2, (2, 2)), x[None].squeeze(0), x[:, :1].squeeze(),
                x.unsqueeze(1), x.permute(2, 0, 1), x.transpose(0, 2), x[0].t(), x.mT, x.movedim(0, 2), x[:1].expand(5, 3, 4),
                x[:1].expand_as(x), torch.cat((x, x * 2), 1), torch.stack((x, -x), 1), x.split(2, 2)[1], x.split((1, 2), 1)[1],
                x.chunk(2, 2)[0], x.unbind(1)[2], x[:, 1], x[..., -1], x[:, 1:, ::2], x.narrow(1, 1, 2), x.flip((0, 2)),
                x.roll(1, 1), x.roll((1, -1), (0, 2)), x.roll(5), x.repeat(1, 2, 3), x.repeat(2, 1, 1, 1), x.tile(2),
                x.repeat_interleave(2, 1), x.tril(), x.triu(1), x.tril(-1), x[0].diag(), torch.diag_embed(x), x.contiguous().clone(),
                x.view_as(x).detach(), torch.hstack((x, x)), torch.vstack((x, x)), torch.dstack((x, x)), x.swapaxes(0, 1),
                x.swapdims(1, 2), torch.fliplr(x), x.flipud(), torch.broadcast_to(x[:1], (2, 3, 4)), x.ravel(), x.adjoint(),
                torch.meshgrid(x[0, 0], x[0, :, 0], indexing='ij')[1], torch.tensor_split(x, 3, 2)[0], x.diagonal(0, 1, 2),
                F.pixel_shuffle(x.reshape(1, 4, 2, 3), 2), F.channel_shuffle(x.reshape(1, 4, 2, 3), 2), x.select(1, -2), torch.numel(x) * x, x.unfold(2, 2, 2),
                x.unfold(1, 2, 1))""",
     {"x": "torch.randn(2, 3, 4)"}),
    ("padding", "", """
        return (F.pad(x, (1, 2)), F.pad(x, (0, 1, 2, 0), value=1.5), F.pad(x, (-1, 0, 0, -1)), F.pad(x, (2, 1), mode='reflect'),
                F.pad(x, (2, 1), mode='replicate'), F.pad(x, (1, 2), mode='circular'), nn.ZeroPad2d(1)(x), nn.ReflectionPad2d(1)(x),
                nn.ReplicationPad2d((0, 1, 2, 0))(x), F.interpolate(x[None], scale_factor=2, mode='nearest'),
                F.interpolate(x, scale_factor=3), nn.ConstantPad1d(1, 0.5)(x))""", {"x": "torch.randn(2, 3, 4)"}),
    ("writes into slices", "", """
        y = torch.zeros_like(x)
        y[:, 1:] = x[:, :2]
        y[0] += 1
        z = x.clone()
        z[:, 0, 1] = 5.0
        z.mul_(2).add_(x)
        w = x.new_empty(2, 3)
        w.copy_(x[..., 0])
        z[:, 2] = w[:, :1]
        return y, z, w, torch.slice_scatter(x, x[:, :1] * 2, 1, 1, 2)""", {"x": "torch.randn(2, 3, 4)"}),
    ("by index", "self.e = nn.Embedding(10, 4, padding_idx=0)", """
        return (self.e(i), F.embedding(i, w), x.index_select(1, j), x[:, j], x[j], x.gather(1, g), F.one_hot(i, 10), x[:, -j - 1],
                torch.take_along_dim(x, g, 1), F.one_hot(i, 10).float() * 2)""",
     {"i": "torch.randint(0, 10, (2, 3))", "w": "torch.randn(10, 3)", "x": "torch.randn(3, 3)", "j": "torch.randint(0, 3, (4,))",
      "g": "torch.randint(0, 3, (3, 2))"}),
    ("made of nothing", "self.register_buffer('mask', torch.tril(torch.ones(4, 4)))", """
        n = x.shape[-1]
        return (x + torch.arange(n), x * torch.zeros(n), x + torch.ones_like(x), torch.full((2, n), 1.5) * x, x.new_ones(2, n) + x,
                x.new_zeros(n) + x, torch.full_like(x, 2.0) * x, x + torch.arange(1, 9, 2), x + torch.linspace(0, 3, n),
                torch.ones(n, dtype=torch.bool) & (x > 0), x + torch.tensor([1.0, 2.0, 3.0, 4.0]), x * torch.tensor(2.5),
                x.new_full((n,), 3.0) + x, x.masked_fill(self.mask[:2] == 0, -1.0), torch.ones(n, n, dtype=x.dtype).triu().matmul(x.T),
                torch.scalar_tensor(3.0) * x)""", {"x": "torch.randn(2, 4)"}),
    # the form
    ("nested inputs", "self.k = k", """
        return {'sum': pair[0] + pair[1] * factor, 'rest': [pair[0] * self.k if flag else pair[1]]}""",
     {"pair": "(torch.randn(2, 3), torch.randn(2, 3))", "factor": "1.5", "flag": "True"}),
    ("numbers that decide", "", """
        return x * s if s > 1 else x * math.sqrt(s)""".replace("math.", "__import__('math')."), {"x": "torch.randn(3)", "s": "0.25"}),
    ("numbers", "", "        return (x * s + n).clamp(max=s), x ** s.real, torch.full((n,), s)", {"x": "torch.rand(3)", "s": "2.5", "n": "4"}),
    ("state between calls", "self.register_buffer('total', torch.zeros(3))\n        self.bn = nn.BatchNorm1d(3)", """
        self.total += x.sum(0)
        return self.bn(x) * self.total""", {"x": "torch.randn(4, 3)"}),
    ("outputs that are no tensors", "", "        return 3, x * 2, None, x.shape[0], x - 1", {"x": "torch.randn(3)"}),
    ("tied weights", "self.a = nn.Linear(4, 4)\n        self.b = nn.Linear(4, 4)\n        self.b.weight = self.a.weight",
     "        return self.b(self.a(x).relu_())", {"x": "torch.randn(4, 4)"}),
    ("a plain attribute", "self.h0 = torch.randn(3)", "        return x + self.h0", {"x": "torch.randn(4, 3)"}),
    ("a constant input", "", "        return x * gate + shift", {"x": "torch.randn(4, 3)", "gate": "torch.ones(3)", "shift": "torch.zeros(3)"}),
    ("names that are words", "", "        return inf + for_ * pi.sum()", {"inf": "torch.randn(3)", "for_": "torch.randn(3)", "pi": "torch.rand(3)"}),
    ("recurrent layers", """self.l, self.g = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True), nn.GRU(3, 4, 2)
        self.r, self.u, self.b = nn.RNN(3, 4), nn.RNN(3, 4, nonlinearity='relu', bias=False), nn.GRU(3, 4, bidirectional=True, bias=False)
        self.one = nn.LSTM(3, 4, 2)
        """, """
        return (self.l(x)[0], self.l(x)[1][0], self.l(x)[1][1], self.g(x, h)[0], self.g(x)[1], self.r(x), self.u(x)[1], self.b(x),
                self.g(x[:, 0])[0], self.one(x)[1][0][-1], self.one(x[0])[1][1])""", {"x": "torch.randn(5, 2, 3)", "h": "torch.randn(2, 2, 4)"}),
    ("recurrent steps", "self.c = nn.LSTMCell(3, 4)\n        self.g = nn.GRUCell(3, 4)\n        self.r = nn.RNNCell(3, 4)", """
        h = c = x.new_zeros(2, 4)
        for t in range(3):
            h, c = self.c(x[t], (h, c))
        return h, c, self.g(x[0], h), self.r(x[0], h)""", {"x": "torch.randn(3, 2, 3)"}),
]


def text(row):
    name, made, forward, given = row[:4]
    takes = ", k" if "self.k" in made else ""
    return """import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self%s):
        super().__init__()
        %s

    def forward(self, %s):
%s


def get_inputs():
    return [%s]


def get_init_inputs():
    return [%s]
""" % (takes, made or "pass", ", ".join(given), forward.strip("\n"), ", ".join(given.values()), "3" if takes else "")

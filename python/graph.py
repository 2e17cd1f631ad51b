"""A module as an expression: torch.export gives the graph, aten*.py say what each operator is in the expression language.

Nothing is computed here and no tensor has memory: the graph is made with fake tensors.
"""
import contextlib
import gc
import re
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from kwright import aten, aten_layers, aten_moves       # noqa: F401 - the latter two fill the table
from kwright.problem import Problem, name_of, said


# What PyTorch's names say of its own workings.
SHORTER = re.compile(r"^native_|^fused_|_(legit|functional|no_training|with_indices|with_update|no_update|default)(?=_|$)")


class Fakes:
    """Tensors of the same shapes, without memory; one for each tensor, however often it occurs."""

    def __init__(self):
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.made = {}

    def of(self, t):
        if not isinstance(t, torch.Tensor):
            return t
        if id(t) not in self.made:
            with self.mode:
                f = torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device="cpu")
            if isinstance(t, torch.nn.Parameter):
                f = torch.nn.Parameter(f, requires_grad=False)
            self.made[id(t)] = (f, t)       # t is kept, so that its id stays its own
        return self.made[id(t)][0]

    def module(self, model):
        """Puts fake tensors in place of all tensors of a module, plain attributes too."""
        for m in model.modules():
            for store in (m._parameters, m._buffers):
                for name, t in store.items():
                    store[name] = self.of(t)
            for name, v in list(m.__dict__.items()):
                if name in ("_parameters", "_buffers", "_modules"):
                    continue
                if isinstance(v, torch.Tensor):     # a buffer may be assigned to by forward, an attribute not
                    del m.__dict__[name]
                    m.register_buffer(name, self.of(v), persistent=False)
                elif any(isinstance(t, torch.Tensor) for t in tree_flatten(v)[0]):
                    m.__dict__[name] = tree_map(self.of, v)
            if isinstance(m, torch.nn.RNNBase):
                m._flat_weights = [getattr(m, n, None) for n in m._flat_weights_names]


def numbers_as_tensors(args, kwargs):
    """Fake tensors without axes in place of numbers, which a graph would hold as constants."""
    leaves, spec = tree_flatten((args, kwargs))
    mode = next((t.fake_mode for t in leaves if isinstance(t, FakeTensor)), None) or FakeTensorMode()
    with mode:
        return tree_unflatten([torch.empty((), dtype=torch.float32) if isinstance(v, float) else v for v in leaves], spec)


def recurrent_shapes(x, states, params, has_biases, layers, dropout, train, both, batch_first):
    """What an LSTM, GRU or RNN gives, as far as a graph needs to know it."""
    first = states[0] if isinstance(states, (list, tuple)) else states
    out = x.new_empty(*x.shape[:-1], first.shape[-1] * (2 if both else 1))
    rest = [s.new_empty(s.shape) for s in states] if isinstance(states, (list, tuple)) else [states.new_empty(states.shape)]
    return (out, *rest)


@contextlib.contextmanager
def short_recurrences():
    """PyTorch takes recurrences apart, step by step, to know their shapes: minutes for a long one, and wrong for an LSTM's last
    states (2.11). The operators stay whole in the graph, so their shapes are all that is needed."""
    tables = [t for t in getattr(torch._decomp, "global_decomposition_table", {}).values()]
    kept = []
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        op = getattr(torch.ops.aten, name).input
        for table, key in [(op.py_kernels, k) for k in list(op.py_kernels)] + [(t, op) for t in tables if op in t]:
            kept.append((op, table, key, table[key]))
            table[key] = recurrent_shapes
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, table, key, kernel in kept:
            table[key] = kernel
            op._dispatch_cache.clear()


class Still(torch.nn.Module):
    def forward(self, x):
        return x


def import_exporter():
    """What torch.export imports when it is first called is more than PyTorch itself, and all of it stays: looking for garbage in that would be a
    quarter of the time."""
    if "torch.export._trace" in sys.modules or not gc.isenabled():
        return
    gc.disable()
    try:
        torch.export.export(Still(), (torch.empty(1),), strict=False).run_decompositions(torch.export.default_decompositions())
    finally:
        gc.freeze()
        gc.enable()


def stays(target):
    """An operator that taking a graph apart would leave as it is: known, of values or PyTorch's own word for a view, not of those that write
    (batch_norm does, and does not say so), and the same each time (dropout has another name afterwards). To find that there is nothing else
    takes PyTorch three times as long as exporting the graph, since it goes through all operators that it has."""
    if not isinstance(target, torch._ops.OpOverload) or not aten.is_known(target):
        return False
    schema = target._schema
    return not (schema.is_mutable or "batch_norm" in schema.name or torch.Tag.nondeterministic_seeded in target.tags or
                any(a.alias_info for a in schema.arguments) and torch.Tag.core not in target.tags)


def export(model, args, kwargs):
    """The graph of a module whose tensors are fake, with known operators whole and the others taken apart."""
    torch.backends.mha.set_fastpath_enabled(False)
    import_exporter()
    with torch.no_grad(), short_recurrences():
        program = torch.export.export(model, tuple(args), dict(kwargs), strict=False)
        if all(stays(node.target) for node in program.graph.nodes if node.op == "call_function"):
            return program
        table = torch.export.default_decompositions()
        for op in list(table.keys()):
            if aten.is_known(op):
                table.pop(op)
        for node in program.graph.nodes:        # what the table does not have yet, but would be taken apart
            if node.op == "call_function" and aten.is_known(node.target) and hasattr(table, "pop"):
                table.pop(node.target, None)
        return program.run_decompositions(table)


class Writer:
    """Writes the statements of an exported program."""

    def __init__(self, program, input_names, taken):
        self.program, self.text, self.lines, self.unknown = program, {}, [], {}
        self.used = []                  # paths of parameters and buffers that the outputs need
        self.constants = {}             # what forward itself made: name -> tensor
        self.taken = set(taken)
        self.notes = []
        self.input_names = list(input_names)
        self.weight_names = {}          # path -> name

    def write(self, output_names):
        graph = self.program.graph
        wanted = user_outputs(self.program)
        needed = self.needed([w for w in wanted if isinstance(w, torch.fx.Node)])
        self.places(graph, needed)
        for node in graph.nodes:
            if node.op == "call_function" and node in needed:
                self.statement(node)
            elif node.op == "get_attr" and node in needed:
                self.unknown.setdefault("%s (an attribute of the graph)" % node.target, []).append(node)
        names = iter(output_names)
        for result in wanted:
            if isinstance(result, torch.fx.Node) and isinstance(result.meta.get("val"), torch.Tensor):
                value = self.text.get(result)
                self.lines.append("%s = %s" % (next(names), value[0] if isinstance(value, list) else value))
            elif result is not None:
                self.notes.append("an output is %s and no tensor" % ("the number %r" % result if isinstance(result, (
                    int, float)) else "a number"))
        self.join_last()
        return None if self.unknown else "\n".join(self.lines) + "\n"

    def join_last(self):
        """`t = f(x)` and `y = t` at the end are `y = f(x)`."""
        if len(self.lines) < 2:
            return
        name, value = self.lines[-1].split(" = ", 1)
        if self.lines[-2].startswith(value + " = ") and value not in self.text_of_inputs:
            self.lines[-2:] = [name + self.lines[-2][len(value):]]

    def refers_to(self, name):
        return any(re.search(r"\b%s\b" % re.escape(name), line.split(" = ", 1)[-1]) for line in self.lines)

    @staticmethod
    def needed(roots):
        seen, todo = set(), list(roots)
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            todo.extend(node.all_input_nodes)
        return seen

    def places(self, graph, needed):
        specs = {s.arg.name: s for s in self.program.graph_signature.input_specs if hasattr(s.arg, "name")}
        inputs = iter(self.input_names)
        for node in graph.nodes:
            if node.op != "placeholder":
                continue
            spec = specs[node.name]
            kind = spec.kind.name
            if kind == "USER_INPUT":
                self.text[node] = next(inputs)
            elif node not in needed:
                continue
            elif kind == "CONSTANT_TENSOR" and not self.attribute(spec.target):
                self.constant(node, spec.target)
            else:
                self.used.append(spec.target)
                self.text[node] = self.weight_names.get(spec.target, name_of(spec.target))
        self.text_of_inputs = set(t for t in self.text.values() if isinstance(t, str))
        self.taken |= set(t for t in self.text.values() if isinstance(t, str))

    def attribute(self, path):
        """Whether a constant is an attribute of the module, and not made by forward."""
        return not path.split(".")[-1].startswith(("lifted_tensor", "_tensor_constant"))

    def constant(self, node, target):
        value = self.program.constants.get(target)
        value = getattr(value, "constant", None) if type(value).__name__ == "FakeTensor" else value
        if value is None or value.numel() > 64:
            self.unknown.setdefault("a constant tensor that forward makes", []).append(node)
            return
        flat = [aten.literal(v) for v in value.flatten().tolist()]
        if value.dim() == 0:
            self.text[node] = aten.cast(value.dtype, flat[0]) if value.dtype == torch.bool else flat[0]
            return
        row = "stack((%s,))" % ", ".join("full((), %s)" % v for v in flat)
        self.text[node] = "reshape(%s, %s)" % (row, aten.tuple_text(value.shape))

    def statement(self, node):
        try:
            value = aten.write(self, node)
        except aten.Unknown as e:
            self.unknown.setdefault(str(e), []).append(node)
            value = "?"
        if value is None:
            return
        if value == "?":                # what follows from it is not counted again
            self.text[node] = value
            return
        if isinstance(value, str) and not value.isidentifier():
            whole = node.args[0] if node.name.startswith("getitem") else node
            name = self.fresh(SHORTER.sub("", whole.name.lstrip("_")))
            self.lines.append("%s = %s" % (name, value))
            value = name
        self.text[node] = value

    def fresh(self, name):
        name = name_of(name)
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def unknown_list(self):
        return [{"op": what, "count": len(nodes), "line": source_line(nodes[0])} for what, nodes in sorted(self.unknown.items())]


def user_outputs(program):
    """Nodes (or numbers) that the module returns, without what it changes."""
    results = [n for n in program.graph.nodes if n.op == "output"][0].args[0]
    return [r for r, s in zip(results, program.graph_signature.output_specs) if s.kind.name == "USER_OUTPUT"]


def source_line(node):
    """The line of the problem's file that a node comes from."""
    for line in reversed((node.meta.get("stack_trace") or "").splitlines()):
        line = line.strip()
        if line.startswith("File ") and ", line " in line and "site-packages" not in line:
            return int(line.split(", line ")[1].split(",")[0])
    return None


def flat_inputs(names, args, kwargs):
    """(name, value) of each leaf, in the order in which export takes them."""
    out = []
    for name, value in list(zip(names, args)) + list(kwargs.items()):
        leaves = tree_flatten(value)[0]
        for i, leaf in enumerate(leaves):
            out.append((name_of(name if len(leaves) == 1 and not isinstance(value, (list, tuple, dict)) else
                                "%s_%d" % (name, i)), leaf))
    return out


def plain_outputs(model, fakes, args, kwargs):
    """Shapes of the outputs where there is no graph."""
    with torch.no_grad(), fakes.mode:
        return [t for t in tree_flatten(model(*args, **kwargs))[0]]


def reason(error):
    return "%s: %s" % (type(error).__name__, said(error)) if not isinstance(error, Problem) else str(error)

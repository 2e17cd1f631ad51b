"""Describes a problem in KernelBench's form, without making its tensors.

    answer({"path": "problem.py", "mode": "train"}, [])

gives inputs, parameters, outputs (names, dtypes, shapes, and what the first two are filled with), state that a call changes,
the expression or null, unknown operators with their lines, notes, and the text of a task; or {"error": "..."}, a sentence
about the file. src/python/describe.h has all names.
"""
import logging
import os
import warnings

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from kwright import graph, task_text
from kwright.problem import DTYPES, VALUES_MOST, Loaded, Problem, ValuesNeeded, elements, guarded, name_of

SIGNS_MOST = 1 << 24    # elements of inputs, for the question which of them may be below zero


def tensor_json(name, t, making, **more):
    if t.dtype not in DTYPES:
        raise Problem("'%s' is of %s, which no kernel here takes" % (name, str(t.dtype).replace("torch.", "")))
    out = {"name": name, "kind": "tensor", "dtype": DTYPES[t.dtype], "shape": list(t.shape)}
    if not t.is_contiguous() and all(s >= 0 for s in t.stride()):
        out["strides"] = list(t.stride())
    out.update(making.describe(t))
    out.update(more)
    return out


def input_json(name, value, making):
    if isinstance(value, torch.Tensor):
        return tensor_json(name, value, making)
    if isinstance(value, (bool, int, str)) or value is None:
        return {"name": name, "kind": "fixed", "value": value}
    if isinstance(value, float):
        return {"name": name, "kind": "number", "dtype": "f32", "value": value}
    raise Problem("get_inputs() gives a %s for '%s', which no kernel takes" % (type(value).__name__, name))


def unique(names):
    """Dots become underscores, so two paths may meet in one name."""
    seen, out = set(), {}
    for path in names:
        name = name_of(path)
        while name in seen:
            name += "_"
        seen.add(name)
        out[path] = name
    return out


def attributes(model):
    """Tensors that are plain attributes, by path: neither parameters nor buffers."""
    out = {}
    for prefix, m in model.named_modules():
        for name, v in m.__dict__.items():
            if isinstance(v, torch.Tensor):
                out[prefix + "." + name if prefix else name] = v
    return out


def tied(model):
    """path -> the first path of the same tensor, for weights that have several."""
    first, out = {}, {}
    for found in (model.named_parameters(remove_duplicate=False), model.named_buffers(remove_duplicate=False)):
        for path, t in found:
            if first.setdefault(id(t), path) != path:
                out[path] = first[id(t)]
    return out


def weights_json(model, making, taken):
    """One object for each parameter, buffer and constant attribute, by path."""
    tensors = [(p, t, "parameter") for p, t in model.named_parameters()]
    tensors += [(p, t, "buffer") for p, t in model.named_buffers()]
    tensors += [(p, t, "attribute") for p, t in attributes(model).items()]
    names = unique([p for p, _, _ in tensors])
    for path, name in names.items():
        while names[path] in taken:
            names[path] += "_"
    return {p: tensor_json(names[p], t, making, path=p, role=role) for p, t, role in tensors}


def positive_ranges(weights):
    """What is a variance is positive, whatever it begins with."""
    for path, w in weights.items():
        if path.endswith("running_var"):
            w.update(dist="uniform", range=[0.5, 1.5])


def outputs_json(leaves, taken):
    tensors = [t for t in leaves if isinstance(t, torch.Tensor)]
    out = []
    for i, t in enumerate(tensors):
        name = "y" if len(tensors) == 1 else "y%d" % i
        while name in taken:
            name = "out_" + name
        if t.dtype not in DTYPES:
            raise Problem("an output is of %s, which no kernel here gives" % str(t.dtype).replace("torch.", ""))
        out.append({"name": name, "dtype": DTYPES[t.dtype], "shape": [int(s) for s in t.shape]})
    return out


def written(found, args, kwargs, flat, weights, taken):
    """(program, writer) with the statements in writer; raises what export does."""
    program = graph.export(found.model, args, kwargs)
    writer = graph.Writer(program, [name for name, _ in flat], taken)
    writer.same = tied(found.model)
    writer.weight_names = {p: weights[writer.same.get(p, p)]["name"] for p in list(weights) + list(writer.same)}
    leaves = [r.meta.get("val") if hasattr(r, "meta") else r for r in graph.user_outputs(program)]
    writer.outputs = outputs_json(leaves, taken)
    writer.expr = writer.write([o["name"] for o in writer.outputs])
    return program, writer


def best_written(found, args, kwargs, flat, weights, taken, notes):
    """Numbers among the inputs stay inputs where the module lets them, and are constants where a size or a path depends on them."""
    if any(isinstance(v, float) for _, v in flat):
        try:
            program, writer = written(found, *graph.numbers_as_tensors(args, kwargs), flat, weights, taken)
            if writer.expr is not None:
                return program, writer
        except Exception:
            pass
        notes.append("numbers among the inputs are fixed in the expression")
    return written(found, args, kwargs, flat, weights, taken)


def run_once(found, why, half):
    """The outputs of a run on values of its own; half: with half of them zero."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1 + half)
        real = Loaded(found.path, found.mode, VALUES_MOST)
        args, kwargs = tree_map(lambda v: halved(v) if half and isinstance(v, torch.Tensor) else v, (real.args, real.kwargs))
        held = list(real.model.state_dict().values()) + tensors_of((args, kwargs))
        count = sum(t.numel() for t in held)
        if any(t.is_meta for t in held) or count > VALUES_MOST:
            raise Problem("%s, and its %d elements are too many to look at what they give" % (why, count))
        with torch.no_grad():
            return tensors_of(guarded("forward()", found.path, real.model, *args, **kwargs))


def by_values(found, why):
    """What forward() gives where shapes alone do not say it, by running it twice. The second time half of all values are zero, where it takes
    such: sizes that depend on values are others then, and no task has such outputs."""
    first = run_once(found, why, False)
    try:
        second = run_once(found, why, True)
    except Problem:
        return first
    shapes = [[(t.dtype, tuple(t.shape)) for t in leaves] for leaves in (first, second)]
    if shapes[0] != shapes[1]:
        told = [", ".join(str(list(s)) for _, s in x) for x in shapes]
        raise Problem("forward() gives sizes that depend on values: %s and %s" % tuple(told))
    return first


def tensors_of(value):
    return [t for t in tree_flatten(value)[0] if isinstance(t, torch.Tensor)]


def halved(t):
    if not t.is_floating_point() and t.dtype != torch.bool:
        return t        # indices and the like
    return t * (torch.rand(t.shape) < 0.5).to(t.dtype)


def import_graph(found, out, weights, fakes, args, kwargs, flat):
    """Fills outputs, expr, unknown and state; without a graph the outputs come from running it on fake tensors."""
    taken = [name for name, _ in flat] + [w["name"] for w in weights.values()]
    try:
        program, writer = best_written(found, args, kwargs, flat, weights, taken, out["notes"])
    except Problem:
        raise
    except BaseException as e:          # whatever export cannot do, the description still stands
        out["notes"].append("no graph: torch.export raises %s" % graph.reason(e))
        try:
            leaves = guarded("forward()", found.path, graph.plain_outputs, found.model, fakes, args, kwargs)
        except ValuesNeeded as why:
            leaves = by_values(found, why)
            out["notes"].append("what it gives was found by running it: it goes ways, or asks for sizes, that depend on values")
        out["outputs"] = outputs_json(leaves, taken)
        return
    specs = program.graph_signature.output_specs
    out["outputs"], out["expr"], out["unknown"] = writer.outputs, writer.expr, writer.unknown_list()
    out["state"] = sorted(s.target for s in specs if s.kind.name == "BUFFER_MUTATION")
    out["changes"] = sorted(s.target for s in specs if s.kind.name == "USER_INPUT_MUTATION")
    out["notes"] += writer.notes
    used = {writer.same.get(p, p) for p in writer.used}
    for path, w in weights.items():
        w["used"] = path in used and (writer.refers_to(w["name"]) or out["expr"] is None)


def keep_signs(found, inputs):
    """An input of zeros is varied to both sides (made.varied). Where that alone makes a result NaN, as a sum of squares below zero does, it
    is not below zero."""
    zeros = [i for i in inputs if i.get("constant") == 0 and i.get("dist") == "normal"]
    if not zeros or elements((found.args, found.kwargs)) > SIGNS_MOST:
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        try:
            real = Loaded(found.path, found.mode, VALUES_MOST)
            flat = graph.flat_inputs(real.names, real.args, real.kwargs)
            _, spec = tree_flatten((tuple(real.args), real.kwargs))

            def nan_with(name):
                leaves = [torch.randn(v.shape).to(v.dtype) * 0.1 if n == name else v.clone() if isinstance(v, torch.Tensor) else v
                          for n, v in flat]
                args, kwargs = tree_unflatten(leaves, spec)
                with torch.no_grad():
                    return any(bool(t.isnan().any()) for t in tensors_of(real.model(*args, **kwargs)) if t.is_floating_point())
            if nan_with(None):
                return
            for i in zeros:
                if nan_with(i["name"]):
                    i.update(dist="uniform", range=[0, 0.1])
        except Exception:       # whatever it says of that, it says where it is looked at as a whole
            return


def describe(path, mode="train", with_graph=True):
    """The object for a file; Problem says what is wrong with it."""
    found = Loaded(path, mode)
    flat = graph.flat_inputs(found.names, found.args, found.kwargs)
    out = {"name": os.path.splitext(os.path.basename(path))[0], "mode": mode, "torch": torch.__version__}
    out["inputs"] = [input_json(name, value, found.making) for name, value in flat]
    keep_signs(found, out["inputs"])
    weights = weights_json(found.model, found.making, {name for name, _ in flat})
    if not weights and not any(t["kind"] == "tensor" for t in out["inputs"]):
        raise Problem("there is no tensor among its inputs and weights, so that no answer could depend on anything")
    positive_ranges(weights)
    out.update(parameters=list(weights.values()), outputs=[], state=[], changes=[], expr=None, unknown=[],
               notes=found.notes)
    fakes = graph.Fakes()
    args, kwargs = tree_map(fakes.of, (tuple(found.args), found.kwargs))
    fakes.module(found.model)
    if with_graph and hasattr(torch, "export"):
        import_graph(found, out, weights, fakes, args, kwargs, flat)
    else:
        leaves = guarded("forward()", path, graph.plain_outputs, found.model, fakes, args, kwargs)
        out["outputs"] = outputs_json(leaves, [name for name, _ in flat])
    if not out["outputs"]:
        raise Problem("forward() gives no tensor")
    return out


def answer(request, fds):
    for fd in fds:
        os.close(fd)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    path = request["path"]
    try:
        out = describe(path, request.get("mode", "train"), request.get("graph", True))
        out["yaml"] = task_text.task_text(out, request.get("shown", path))
        return out
    except Problem as e:
        return {"error": str(e)}

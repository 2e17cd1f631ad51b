"""The task that a description makes: YAML whose reference is the expression, or else the problem itself."""
import json
import os

NAME_MAX = 64
HEAD = "# From %s: what its get_inputs and its constructor show. Sizes are fixed, as they are there.\n"


def number_text(v):
    return json.dumps(v)


def tensor_line(t):
    """`x: { dtype: f32, shape: [2, 3], dist: uniform, range: [0, 1] }`"""
    parts = ["dtype: %s" % t["dtype"], "shape: [%s]" % ", ".join(str(s) for s in t["shape"])]
    if "dist" in t:
        parts.append("dist: %s" % t["dist"])
    if "range" in t and t["dist"] in ("uniform", "normal", "integers", "bernoulli"):
        parts.append("range: [%s, %s]" % tuple(number_text(v) for v in t["range"]))
    if "strides" in t:
        parts.append("strides: [%s]" % ", ".join(str(s) for s in t["strides"]))
    return "  %s: { %s }\n" % (t["name"], ", ".join(parts))


def used(d):
    """The parameters that outputs depend on; all of them where that is not known."""
    return [p for p in d["parameters"] if p.get("used", True)]


def task_text(d, path):
    tensors = [t for t in d["inputs"] if t["kind"] == "tensor"] + used(d)
    numbers = [t for t in d["inputs"] if t["kind"] == "number"]
    out = [HEAD % os.path.basename(path)]
    out += ["# %s\n" % note for note in d["notes"]]
    if d["unknown"]:
        out.append("# no expression: %s\n" % "; ".join("%s (%d)" % (u["op"], u["count"]) for u in d["unknown"]))
    out.append("name: %s\ninputs:\n" % task_name(d["name"]))
    out += [tensor_line(t) for t in tensors]
    if numbers:
        out.append("params:\n")
        out += ["  %s: { dtype: %s, value: %s }\n" % (n["name"], n["dtype"], number_text(n["value"])) for n in numbers]
    out.append("outputs:\n")
    out += [tensor_line(t) for t in d["outputs"]]
    out.append("reference:\n")
    if d["expr"]:
        out.append("  expr: |\n" + "".join("    %s\n" % line for line in d["expr"].splitlines()))
    else:
        out.append("  file: %s\n" % json.dumps(path))
        if d["mode"] != "train":
            out.append("  mode: %s\n" % d["mode"])
    out.append("perf:\n  - {}\n")
    return "".join(out)


def task_name(name):
    kept = "".join(c if c.isalnum() and c.isascii() or c in "_-." else "_" for c in name)
    return kept[:NAME_MAX] or "problem"

#!/usr/bin/env python3
"""How many problems of a suite in KernelBench's form are described, and become expressions.

    bench/import_suite.py --path KernelBench/KernelBench [--levels 1,2,3] [--verify] [--log log.jsonl] [--out results.md] [--seconds 150]

--path holds level1, level2, ... with a problem a file. --verify compares each expression with PyTorch in f64, on the same numbers,
after making the constants at the top of the file smaller as far as the model still works (make unit builds what it needs).
Each problem is described in a process of its own, which may run for --seconds. What --log holds already is not done again.
"""
import argparse
import collections
import glob
import json
import os
import platform
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "import"))

import compare                                      # noqa: E402

compare.package()

import torch                                        # noqa: E402
from kwright import describe                        # noqa: E402
from kwright.problem import Problem                 # noqa: E402
from smaller import elements, smaller               # noqa: E402


def verify(path, evaluator, folder, mode):
    """The smallest form of the file that still works, through both."""
    with open(path, encoding="utf-8") as f:
        source = f.read()
    last = "no smaller form works"
    for times, few in [(12, True), (12, False)] + [(n, True) for n in (6, 5, 4, 3, 2, 1, 0)]:
        small = os.path.join(folder, os.path.basename(path))
        with open(small, "w") as f:
            f.write(smaller(source, times, few))
        try:
            d = describe.describe(small, mode)
        except Problem as e:
            last = str(e)
            continue
        if d["expr"] is None or min([s for t in d["outputs"] for s in t["shape"]] or [1]) == 0:
            last = "no expression"
            continue
        if elements(d) > 60e6:
            return "too large to compare: %d elements" % elements(d)
        r = compare.compare(small, evaluator, mode, rel=1e-7, description=d)
        if r.unsteady:
            last = r.why
            continue
        return "same" if r.good else "differs: %s" % r.why
    return "not compared: %s" % last


def one(path, options, folder, say):
    """What a child finds, as an object; said once more before it is compared, which may take too long."""
    began = time.time()
    out = {}
    try:
        d = describe.answer({"path": path}, [])
        out = {k: d.get(k) for k in ("error", "unknown", "notes")}
        out["shapes"] = bool(d.get("outputs"))
        out["expr"] = bool(d.get("expr"))
        out["seconds"] = round(time.time() - began, 1)
        out["MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        say(dict(out, verify="not compared: no time"))
        if options.verify and not d.get("error"):
            mode = "train" if d.get("expr") else "eval"
            evaluator = os.path.join(TOP, "build", "tests", "unit", "test_expr_given")
            out["verify"], out["mode"] = verify(path, evaluator, folder, mode), mode
    except Exception as e:
        traceback.print_exc()
        out.setdefault("error", None)
        out["verify" if "shapes" in out else "error"] = "%s: %s" % (type(e).__name__, str(e).splitlines()[0] if str(e) else "")
    return out


def in_child(path, options, folder):
    result = os.path.join(folder, "result.json")
    if os.path.exists(result):
        os.unlink(result)
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        if not options.loud:
            os.dup2(null, 2)
        signal.alarm(options.seconds)

        def say(found):
            with open(result + ".part", "w") as f:
                json.dump(found, f)
            os.rename(result + ".part", result)
        say(one(path, options, folder, say))
        os._exit(0)
    os.waitpid(child, 0)
    if not os.path.exists(result):
        return {"error": "not within %d s" % options.seconds}
    with open(result) as f:
        return json.load(f)


def order(path):
    number = os.path.basename(path).split("_")[0]
    return int(number) if number.isdigit() else 0


def table(found, options):
    lines = ["# Problems as expressions", "",
             "`bench/import_suite.py --path KernelBench%s`: PyTorch %s, Python %s, %s." % (
                 " --verify" if options.verify else "", torch.__version__, platform.python_version(), platform.machine()), "",
             "| level | files | shapes and dtypes | expressions | as PyTorch | not compared | differ | median s | most MiB |",
             "|---|---|---|---|---|---|---|---|---|"]
    unknown, reasons = collections.Counter(), []
    for level, rows in found.items():
        v = [r.get("verify") or "" for _, r in rows]
        seconds = sorted(r["seconds"] for _, r in rows if "seconds" in r) or [0]
        same = sum(x == "same" for x in v)
        differ = sum(x.startswith("differs") for x in v)
        lines.append("| %s | %d | %d | %d | %s | %s | %s | %.1f | %d |" % (
            level, len(rows), sum(bool(r.get("shapes")) for _, r in rows), sum(bool(r.get("expr")) for _, r in rows),
            same if options.verify else "", len(rows) - same - differ if options.verify else "", differ if options.verify else "",
            seconds[len(seconds) // 2], max(r.get("MiB", 0) for _, r in rows)))
        for path, r in rows:
            for u in r.get("unknown") or []:
                unknown[u["op"]] += 1
            what = r.get("error") or (None if r.get("expr") else "; ".join(
                [u["op"] for u in r.get("unknown") or []] + (r.get("notes") or [])))
            if what:
                reasons.append("- %s/%s: %s" % (level, os.path.basename(path), what[:300]))
            if options.verify and r.get("verify") not in ("same", None):
                reasons.append("- %s/%s: %s" % (level, os.path.basename(path), r["verify"][:300]))
    lines += ["", "Unknown operators, by problems that have them:", ""]
    lines += ["- %d x %s" % (n, op) for op, n in unknown.most_common()] or ["- none"]
    lines += ["", "Problems without an expression, or not compared, and why:", ""] + (reasons or ["- none"])
    return "\n".join(lines) + "\n"


def said(options, level, name, result, known):
    print(level, name, json.dumps(result), file=sys.stderr, flush=True)
    if options.log and not known:
        with open(options.log, "a") as f:
            f.write(json.dumps([level, name, result]) + "\n")


WARM = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x.softmax(0)
def get_inputs():
    return [torch.rand(3)]
"""


def warm(folder):
    """PyTorch loads much of itself at the first export; children then have it."""
    path = os.path.join(folder, "warm.py")
    with open(path, "w") as f:
        f.write(WARM)
    describe.answer({"path": path}, [])


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--path", required=True)
    p.add_argument("--levels", default="1,2,3")
    p.add_argument("--only", default="", help="files whose name holds this")
    p.add_argument("--verify", action="store_true")
    p.add_argument("--log", help="a line of JSON for each problem")
    p.add_argument("--out")
    p.add_argument("--seconds", type=int, default=150)
    p.add_argument("--loud", action="store_true", help="what children print")
    options = p.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found, known = {}, {}
    if options.log and os.path.exists(options.log):
        with open(options.log) as f:
            known = {tuple(row[:2]): row[2] for row in map(json.loads, f)}
    with tempfile.TemporaryDirectory() as folder:
        warm(folder)
        for level in options.levels.split(","):
            paths = sorted(glob.glob(os.path.join(options.path, "level" + level, "*.py")), key=order)
            if not paths:
                sys.exit("%s has no level%s with problems" % (options.path, level))
            found[level] = []
            for path in paths:
                name = os.path.basename(path)
                if options.only in name:
                    found[level].append((path, known.get((level, name)) or in_child(path, options, folder)))
                    said(options, level, name, found[level][-1][1], (level, name) in known)
    text = table(found, options)
    if options.out:
        with open(options.out, "w") as f:
            f.write(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

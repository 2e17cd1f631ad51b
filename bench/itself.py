#!/usr/bin/env python3
"""Judges each problem of a suite in KernelBench's form against itself: a copy of its own Model is the candidate, which must be right.

    bench/itself.py --path KernelBench/KernelBench [--work DIR] [--levels 1,2,3] [--only WORD,...] [--elements N] [--limit 120]
                    [--seconds N] [--out FILE.md]

--work keeps the candidates, the store and the log: the same command goes on where it was stopped. --elements makes the constants at
the top of a file smaller until its tensors have at most so many elements, not counting those that no constant makes smaller, as far as the
model still works; without it the sizes are the problem's own. A batch of 2 comes last: a batch norm over two values is decided by rounding.
KWRIGHT=path names a program that was built elsewhere, KWRIGHT_PYTHON a Python with torch, which runs this too.
"""
import argparse
import collections
import concurrent.futures
import json
import multiprocessing
import os
import platform
import signal
import subprocess
import sys
import time
import warnings

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "import"))
KWRIGHT = os.path.abspath(os.environ.get("KWRIGHT") or os.path.join(TOP, "build", "kwright"))
COPY = "\n\nclass ModelNew(Model):\n    pass\n"


def described(path, mode="train"):
    from kwright import describe
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return describe.describe(path, mode, with_graph=False)


def forms():
    """How often constants are halved, and whether a batch becomes 2: the least that is enough is taken."""
    times = (0, 1, 2, 3, 4, 5, 6, 8, 12)
    return [(n, False) for n in times] + [(n, True) for n in times]


def shrink(path, out, most):
    """The file as it is where that is small enough, else the largest smaller form that works. Returns its elements, or a sentence."""
    from kwright.problem import Problem
    from smaller import elements, smaller
    with open(path, encoding="utf-8") as f:
        source = f.read()

    def tried(times, few):
        text = source if (times, few) == (0, False) else smaller(source, times, few)
        with open(out, "w", encoding="utf-8") as f:
            f.write(text)
        try:
            d = described(out)
        except Problem as e:
            return None, text, str(e)
        empty = min([s for t in d["outputs"] for s in t["shape"]] or [1]) == 0
        return None if empty else elements(d), text, "an output is empty"

    found, best, least = {}, tried(0, False), 0
    if best[0] is not None and best[0] > most:
        for form in reversed(forms()[1:]):      # what stays in the smallest form is the model's own
            found[form] = tried(*form)
            if found[form][0] is not None:
                least = found[form][0]
                break
        for form in forms()[1:]:
            n, text, said = found.get(form) or tried(*form)
            if n is None:
                continue
            if n < best[0]:
                best = n, text, said
            if n - least <= most:
                break
    with open(out, "w", encoding="utf-8") as f:
        f.write(best[1])
    return best[0] if best[0] is not None else best[2]


def prepare_one(job):
    path, problem, candidate, most = job
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    if most:
        said = shrink(path, problem, most)
    else:
        said = None
        with open(path, encoding="utf-8") as f, open(problem, "w", encoding="utf-8") as out:
            out.write(f.read())
    with open(problem, encoding="utf-8") as f, open(candidate, "w", encoding="utf-8") as out:
        out.write(f.read() + COPY)
    return problem, said


def number(path):
    head = os.path.basename(path).split("_")[0]
    return int(head) if head.isdigit() else 0


def selected(o):
    """The problems' files, as kwright bench lists them."""
    select = o.only or ",".join("level" + n for n in o.levels.split(","))
    command = [KWRIGHT, "bench", "kernelbench", "--path", o.path, "--list", "--select", select, "--json"]
    listed = subprocess.run(command, capture_output=True, text=True)
    if listed.returncode:
        sys.exit(listed.stderr.strip())
    return [(p["group"], p["file"]) for p in json.loads(listed.stdout)]


def prepare(o):
    """Problems and candidates as a suite and a folder of files; what is there already stays."""
    jobs = []
    os.makedirs(os.path.join(o.work, "candidates"), exist_ok=True)
    for group, path in selected(o):
        folder = os.path.join(o.work, "KernelBench", group)
        os.makedirs(folder, exist_ok=True)
        problem = os.path.join(folder, os.path.basename(path))
        candidate = os.path.join(o.work, "candidates", "level_%s_problem_%d_sample_0_kernel.py" % (group[len("level"):], number(path)))
        if not os.path.exists(candidate):
            jobs.append((path, problem, candidate, o.elements))
    if not jobs:
        return
    if o.elements:
        import compare
        compare.package()
        import torch
        torch.set_num_threads(1)
        from kwright import describe    # noqa: F401 - before the copies are made
    began = time.time()
    with concurrent.futures.ProcessPoolExecutor(o.jobs, multiprocessing.get_context("fork"), max_tasks_per_child=None) as pool:
        for problem, said in pool.map(prepare_one, jobs):
            if isinstance(said, str):
                print("%s: %s" % (os.path.basename(problem), said), file=sys.stderr)
    print("prepared %d problems in %.0f s" % (len(jobs), time.time() - began), file=sys.stderr, flush=True)


def judge(o):
    select = o.only or ",".join("level" + n for n in o.levels.split(","))
    store = os.path.join(o.work, "store")
    command = [KWRIGHT, "bench", "kernelbench", "--path", o.work, "--candidates", os.path.join(o.work, "candidates"), "--select", select,
               "--baselines", "none", "--limit", "%ds" % o.limit, "--store", store, "--brief"]
    command += ["--retry"] if o.retry else []
    began = time.time()
    with open(os.path.join(o.work, "log"), "ab") as log:    # as it comes: a run that is cut off leaves this
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        try:
            run.wait(o.seconds or None)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGINT)
            try:
                run.wait(20)
            except subprocess.TimeoutExpired:
                run.kill()
    seconds = time.time() - began
    report = subprocess.run([KWRIGHT, "report", "--store", store, "--json"], capture_output=True, text=True)
    if report.returncode > 1:
        sys.exit("kwright bench ended with exit code %s, and there is nothing to report: %s" % (run.returncode, report.stderr.strip()))
    return json.loads(report.stdout), seconds


def state(item):
    if item.get("right"):
        return "ok"
    if item["state"] == "judged":
        return "%s (%s)" % (item.get("verdict"), item.get("subclass") or "")
    return item["state"]


def table(o, result, seconds):
    rows = collections.OrderedDict()
    for item in result["items"]:
        rows.setdefault(item["problem"].split("/")[0], []).append(item)
    text = ["# Problems against themselves", "",
            "`bench/itself.py%s`: %s, %s; %s. %d problems in %.0f s." % (
                " --elements %d" % o.elements if o.elements else "", platform.machine(), device(o, result),
                "sizes made smaller until what they change has at most %d elements in a problem, as far as it still works" % o.elements
                if o.elements else "the problems' own sizes", len(result["items"]), seconds), "",
            "| level | problems | ok | too large here | other | median s | most s |", "|---|---|---|---|---|---|---|"]
    for level, items in rows.items():
        walls = sorted(i.get("wall_ns", 0) / 1e9 for i in items) or [0]
        ok = sum(state(i) == "ok" for i in items)
        large = sum(too_large(i) for i in items)
        text.append("| %s | %d | %d | %d | %d | %.1f | %.1f |" % (level, len(items), ok, large, len(items) - ok - large,
                                                               walls[len(walls) // 2], walls[-1]))
    text += ["", "What is not ok, and why:", ""]
    text += ["- %s %s: %s: %s" % (i["problem"], i["name"], state(i), (i.get("text") or "").replace("\n", " ")[:400])
             for items in rows.values() for i in items if state(i) != "ok"] or ["- none"]
    return "\n".join(text) + "\n"


def too_large(item):
    text = item.get("text") or ""
    return state(item) != "ok" and any(w in text for w in ("does not fit", "needs more memory", "too large", "no memory"))


def device(o, result):
    for item in result["items"]:
        if item.get("right") and item.get("run"):
            command = [KWRIGHT, "report", str(item["run"]), "--store", os.path.join(o.work, "store"), "--json"]
            try:
                return json.loads(subprocess.run(command, capture_output=True, text=True).stdout)["best"]["device"]
            except (ValueError, KeyError, TypeError):
                pass
    return "device not known"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--path", required=True)
    p.add_argument("--work", default="/tmp/kwright-itself")
    p.add_argument("--levels", default="1,2,3")
    p.add_argument("--only", default="", help="a selection of kwright bench: level1/1-20,level3/9")
    p.add_argument("--elements", type=int, default=0)
    p.add_argument("--limit", type=int, default=120, help="seconds of one problem")
    p.add_argument("--seconds", type=int, default=0, help="of the whole: then it is interrupted, and what is done is told")
    p.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that make sizes smaller")
    p.add_argument("--retry", action="store_true", help="once more what was not done in its time")
    p.add_argument("--out")
    o = p.parse_args()
    o.work = os.path.abspath(o.work)
    prepare(o)
    result, seconds = judge(o)
    with open(os.path.join(o.work, "result.json"), "w") as f:
        json.dump(result, f)
    text = table(o, result, seconds)
    if o.out:
        with open(o.out, "w") as f:
            f.write(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

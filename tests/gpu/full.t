#!/usr/bin/env python3
# On a GPU: what happens when another program has its memory. Nothing left for a context: one sentence, no verdict. Less than a
# case needs: that case does not apply, and the sentence has both numbers. Afterwards everything is as before.
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile

top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
kwright = os.environ.get("KWRIGHT", os.path.join(top, "build/kwright"))
task = os.path.join(top, "tests/cheats/tasks/affine.yaml")
count = 0


def ok(good, name, *notes):
    global count
    count += 1
    print("%sok %d - %s" % ("" if good else "not ", count, name), flush=True)
    for note in notes if not good else ():
        for line in str(note).splitlines()[:20]:
            print("# " + line)


def skip(why):
    print("1..0 # SKIP " + why)
    sys.exit(0)


class Gpu:
    """The driver itself: what PyTorch or another program would do."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.context = ctypes.c_void_p()
        self.held = []
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *args):
        result = getattr(self.cuda, name)(*args)
        if result:
            raise OSError("%s: %d" % (name, result))

    def free(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def take_all_but(self, left):
        """In ever smaller pieces: the last gigabytes are seldom in one."""
        piece = 1 << 34
        while piece >= 1 << 21:
            at = ctypes.c_uint64()
            if self.free() - left < piece or self.cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(piece)):
                piece >>= 1
            else:
                self.held.append(at)

    def give_back(self):
        for at in self.held:
            self.call("cuMemFree_v2", at)
        self.held = []


def evaluate(tmp, file, *more):
    run = subprocess.run([kwright, "eval", task, file, "--json", "--quiet", "--store", tmp + "/store"] + list(more),
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    try:
        return run.returncode, json.loads(run.stdout), run.stdout + run.stderr
    except ValueError:
        return run.returncode, {}, run.stdout + run.stderr


def main(tmp):
    file = tmp + "/affine.cu"
    with open(file, "w") as f:
        f.write("//@ kernel f grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)\n"
                "extern \"C\" __global__ void f(const float *x, float *y, int64_t n)\n"
                "{ int64_t i = blockIdx.x * 256ll + threadIdx.x; if (i < n) y[i] = 2.0f * x[i] + 1.0f; }\n")
    code, first, text = evaluate(tmp, file)
    ok(code == 0 and first.get("verdict") == "ok", "with memory it is right", text)
    gpu = Gpu()

    gpu.take_all_but(0)
    code, got, text = evaluate(tmp, file)
    message = got.get("error", {}).get("text", "")
    ok(code == 3 and "verdict" not in got, "a full GPU: no verdict, a fault of the machine", code, text)
    ok("memory" in message.lower() and "\n" not in message, "and one sentence that names it: " + message, text)
    gpu.give_back()

    # Room for two processes and small cases, but not for two slots of 2 x 16 MiB beside them.
    with open(tmp + "/big.yaml", "w") as f:
        f.write("name: big\ndims: { n: { min: 0, max: 4294967296 } }\ninputs: { x: { dtype: f32, shape: [n] } }\n"
                "outputs: { y: { dtype: f32, shape: [n] } }\nreference: { expr: y = 2.0 * x + 1.0 }\n"
                "perf: [ { n: 1073741824 } ]\ncheck: [ { n: 1000 } ]\n")
    global task
    small, task = task, tmp + "/big.yaml"
    gpu.take_all_but(6 << 30)
    code, got, text = evaluate(tmp, file)
    why = " ".join(c.get("why") or "" for c in got.get("cases", []))
    ok(code in (0, 1) and "does not fit this machine: it needs 16 GiB of memory" in why,
       "6 GiB are left, and a case of 16 GiB does not apply: " + why, code, text)
    ok(any(c.get("case") == "n=1000" and not c.get("why") for c in got.get("cases", [])), "the small one is judged", text)
    gpu.give_back()

    task = small
    code, got, text = evaluate(tmp, file)
    ok(code == 0 and got.get("verdict") == "ok", "given back, all is as before", text)
    print("1..%d" % count)


doctor = subprocess.run([kwright, "doctor", "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
facts = [f for f in json.loads(doctor.stdout)["facts"] if f["part"] == "device" and f["name"] == "nvidia"]
if not facts or facts[0]["health"] != "ok":
    skip(facts[0]["text"] if facts else "this version has no such device")
folder = tempfile.mkdtemp()
os.environ.update(XDG_CACHE_HOME=folder + "/cache", XDG_DATA_HOME=folder + "/data")
try:
    main(folder)
finally:
    shutil.rmtree(folder, ignore_errors=True)

"""How python/baseline.py plays what is bound by its launches: TAP. Argument: the top of the tree.

Neither PyTorch nor a GPU is here: in their place stands what remembers how it was called, with a clock of its own."""
import contextlib
import ctypes
import importlib.util
import sys
import types

TOP = sys.argv[1]
number = 0
did = []              # what was asked of the device, in order
clock = {"host": 0, "device": 0}
fails = {}            # at which step
alive = set()         # graphs


def ok(right, name, more=""):
    global number
    number += 1
    print(f"{'ok' if right else 'not ok'} {number} - {name}")
    if not right:
        print("# " + str(more).replace("\n", "\n# "))


class Event:
    def __init__(self, enable_timing):
        self.at = None

    def record(self):
        self.at = max(clock["host"], clock["device"])

    def elapsed_time(self, other):
        return (other.at - self.at) / 1e6


class CUDAGraph:
    def capture_begin(self, pool, capture_error_mode):
        did.append("begin")
        alive.add(self)

    def capture_end(self):
        did.append("end")
        if "end" in fails:
            raise RuntimeError(fails["end"])

    def raw_cuda_graph_exec(self):
        return 4711

    def replay(self):
        did.append("replay")

    def reset(self):
        did.append("reset")
        alive.discard(self)


cuda = types.SimpleNamespace(
    Event=Event, CUDAGraph=CUDAGraph, Stream=lambda: "side", graph_pool_handle=lambda: (0, 1), stream=lambda s: contextlib.nullcontext(),
    synchronize=lambda: clock.update(host=max(clock["host"], clock["device"])), empty_cache=lambda: did.append("empty"), current_device=lambda: 0,
    current_stream=lambda: types.SimpleNamespace(cuda_stream=0))
torch = types.ModuleType("torch")
torch.cuda = cuda
torch.zeros = lambda *args, **kwargs: None
torch.nn = types.SimpleNamespace(Module=type("Module", (), {}))
torch.backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()), cudnn=types.SimpleNamespace())
torch._C = types.SimpleNamespace(_cuda_endAllocateToPool=lambda device, pool: did.append("closed"))
sys.modules["torch"] = torch
spec = importlib.util.spec_from_file_location("kwright_baseline", TOP + "/python/baseline.py")
baseline = importlib.util.module_from_spec(spec)
spec.loader.exec_module(baseline)
baseline.ctypes = types.SimpleNamespace(
    CDLL=lambda name: types.SimpleNamespace(cuGraphUpload=lambda graph, stream: did.append(f"upload {graph.value}")), c_void_p=ctypes.c_void_p)
baseline.time = types.SimpleNamespace(perf_counter_ns=lambda: clock["host"])


def made(host_ns, device_ns, graphs=True):
    """A baseline whose calls take so long to launch, and so long on the device."""
    did.clear()
    fails.clear()
    alive.clear()
    one = baseline.Baseline({"form": "line", "folder": None, "tf32": False, "layout": None, "compile": None, "graphs": graphs}, "cuda")

    def call(x, more):
        did.append("call")
        if "captured" in fails and "begin" in did:
            raise ValueError(fails["captured"])
        clock["host"] += host_ns
        clock["device"] = max(clock["device"], clock["host"]) + device_ns
        return x + more

    one.settle(call, {})
    return one


call = ((3,), {"more": 4})
one = made(20000, 100000)
ok(one.choose(call) == "" and not one.graphs and "begin" not in did, "what the device is busy with is called as it is", did)
ok(did.count("call") == 1 + 3 * 8, "after a few calls", did)
one = made(30000000, 2000000000)
ok(one.choose(call) == "" and did.count("call") == 1, "one, where that takes seconds", did)
one = made(90000, 100)
words = one.choose(call)
ok(words.startswith("as a CUDA graph:") and one.graphs, "what it waits for is a graph", words)
ok(did[-3:] == ["replay", "reset", "empty"] and did.count("begin") == did.count("end") == 2, "which was tried, and is dropped", did)
ok(len(alive) == 1, "but for one that keeps the memory", alive)
did.clear()
one.capture([((1,), {"more": 2}), ((3,), {"more": 4}), ((5,), {"more": 6})])
ok(did == ["begin", "call", "call", "call", "end", "upload 4711"], "a batch is one graph, brought to the device before the clock runs", did)
did.clear()
ok(one.replay() == [3, 7, 11] and did == ["replay"], "its answers are those of all calls, without a call", did)
did.clear()
one.capture([call])
ok(did[0] == "reset" and one.replay() == [7] and len(alive) == 2, "the next one takes its place", did)
one.leave()
ok(not one.graphs, "none is left behind a session")
ok(one.choose(call).startswith("as a CUDA graph:") and one.graphs, "the next session has its own")

one = made(90000, 100, graphs=False)
words = one.choose(call)
ok(words.startswith("bound by its launches") and not one.graphs and "begin" not in did, "beside a module both are called", words)
one = made(90000, 100)
fails["end"] = "operation not permitted when stream is capturing\nmore"
words = one.choose(call)
ok(words.startswith("bound by its launches") and "(RuntimeError: operation not permitted when stream is capturing)" in words and
   not one.graphs and "closed" in did, "where none can be made it is called, and that is said", words)
one = made(90000, 100)
fails["captured"] = ""
words = one.choose(call)
ok("(ValueError: )" in words and not one.graphs and did.count("begin") == did.count("end"), "nor where the call itself fails in it", words)
print(f"1..{number}")

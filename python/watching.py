"""What sees each operation of PyTorch as it happens, and costs no import of its own."""
from torch.utils._python_dispatch import TorchDispatchMode


class Watching(TorchDispatchMode):
    """The base of such modes. PyTorch hides their code from its compiler, for which it would import that at the first operation: as long
    again as torch itself takes. Where a mode is on the compiler leaves everything as it is, so there is nothing to hide."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False

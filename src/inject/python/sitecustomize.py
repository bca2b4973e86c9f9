"""Names layers of PyTorch with NVTX ranges: `headroom profile --layers torch -- python3 train.py`.

Python imports this file when it starts. It runs the sitecustomize that it hides, then waits for torch. A module's
forward pass becomes a range with the module's name, and torch marks its operators with sequence numbers, by which
headroom finds the layer of a backward kernel.
"""
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading

FOLDER = os.path.dirname(os.path.abspath(__file__))


def run_hidden_sitecustomize():
    others = [p for p in sys.path if os.path.abspath(p or ".") != FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module  # as if this file were not here
    spec.loader.exec_module(module)


class Names:
    """The name of a module below the one that calls it: `layers.0`; of the outermost one its class."""

    def __init__(self):
        self.known = {}
        self.local = threading.local()

    def stack(self):
        if not hasattr(self.local, "modules"):
            self.local.modules = []
        return self.local.modules

    def name(self, module):
        stack = self.stack()
        for parent in reversed(stack):
            key = id(parent)
            if key not in self.known:
                self.known[key] = {id(m): n for n, m in parent.named_modules() if n}
            if id(module) in self.known[key]:
                return self.known[key][id(module)]
        return type(module).__name__


def name_layers(torch):
    push, pop = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
    hooks = torch.nn.modules.module
    names = Names()

    def before(module, inputs):
        push(names.name(module))
        names.stack().append(module)

    def after(module, inputs, output):
        stack = names.stack()
        if stack and stack[-1] is module:
            stack.pop()
            pop()

    hooks.register_module_forward_pre_hook(before)
    hooks.register_module_forward_hook(after, always_call=True)
    torch.autograd.profiler.emit_nvtx().__enter__()


class TorchFinder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            try:
                name_layers(module)
            except Exception as error:  # the program goes on without names
                print(f"headroom: layers of torch have no names: {error}", file=sys.stderr)

        spec.loader.exec_module = exec_module
        return spec


if os.environ.get("HEADROOM_LAYERS") == "torch":
    sys.meta_path.insert(0, TorchFinder())
run_hidden_sitecustomize()

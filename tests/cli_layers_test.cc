// headroom profile --layers torch, with a torch that only tells what is asked of it.
#include "support/program.h"

namespace headroom::testing {
namespace {

constexpr const char* kTorch = R"(
from types import SimpleNamespace as Space
said, before, after = [], [], []
cuda = Space(nvtx=Space(range_push=lambda name: said.append(name), range_pop=lambda: said.append("pop")))
class Module:
    def __init__(self, **children):
        self.children = children
    def named_modules(self, path=""):
        yield path, self
        for name, child in self.children.items():
            yield from child.named_modules(path + "." + name if path else name)
    def __call__(self):
        for hook in before: hook(self, ())
        self.forward()
        for hook in after: hook(self, (), None)
    def forward(self):
        for child in self.children.values(): child()
class List(Module):
    def __call__(self):
        for child in self.children.values(): child()
nn = Space(Module=Module, List=List, modules=Space(module=Space(
    register_module_forward_pre_hook=before.append,
    register_module_forward_hook=lambda hook, always_call: after.append(hook))))
class Marks:
    def __enter__(self): said.append("marks operators")
autograd = Space(profiler=Space(emit_nvtx=Marks))
)";

constexpr const char* kProgram = R"(
import sys, torch
class Net(torch.nn.Module): pass
layer = torch.nn.Module
Net(conv=layer(), blocks=torch.nn.List(**{"0": layer(proj=layer())}))()
print(torch.said, getattr(sys, "customized", "no"))
)";

class CliLayers : public ProgramTest {
 protected:
  void SetUp() override {
    const std::filesystem::path python = std::filesystem::path(HEADROOM_PROGRAM).parent_path() / "python";
    if (!std::filesystem::exists(python)) GTEST_SKIP() << "this build has no library to inject";
    if (run_shell("python3 -c pass").code != 0) GTEST_SKIP() << "no python3 here";
    std::filesystem::create_directories(file("mine/torch"));
    put("mine/torch/__init__.py", kTorch);
    put("program.py", kProgram);
  }
  std::string said(const Words& options) const {
    const Outcome outcome = run(with(with({"profile"}, options), {"--", "python3", "program.py"}),
                                {{"PYTHONPATH", file("mine").string()}});
    EXPECT_NE(outcome.err.find("no CUDA was used"), std::string::npos) << outcome.err;
    return outcome.out;
  }
};

TEST_F(CliLayers, ModulesAreRanges) {
  EXPECT_EQ(said({"--layers", "torch"}),
            "['marks operators', 'Net', 'conv', 'pop', 'blocks.0', 'proj', 'pop', 'pop', 'pop'] no\n");
  EXPECT_EQ(said({}), "[] no\n") << "nothing unless it is asked for";
}

TEST_F(CliLayers, TheUsersOwnSitecustomizeRuns) {
  put("mine/sitecustomize.py", "import sys\nsys.customized = 'yes'\n");
  EXPECT_TRUE(said({"--layers", "torch"}).ends_with("'pop'] yes\n"));
}

TEST_F(CliLayers, ATorchThatIsDifferentDoesNotStopTheProgram) {
  put("mine/torch/__init__.py", "said = []\nclass nn: Module = object; List = dict\n");
  put("program.py", "import torch\nprint('ran', torch.said)\n");
  EXPECT_EQ(said({"--layers", "torch"}), "ran []\n");
}

}  // namespace
}  // namespace headroom::testing

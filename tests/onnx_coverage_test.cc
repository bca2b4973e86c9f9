// The table of operators in docs/onnx.md, made again from the code: every graph of one node is planned for a
// CPU and a GPU, differentiated and written.
#include <gtest/gtest.h>

#include <unistd.h>

#include <map>
#include <set>

#include "base/text.h"
#include "device/device.h"
#include "machine/machine.h"
#include "models/onnx/convert.h"
#include "models/onnx/imported.h"
#include "support/onnx_cases.h"
#include "train/build.h"
#include "train/save_onnx.h"

namespace headroom::testing {
namespace {

constexpr const char* kBegin = "<!-- made by tests/onnx_coverage_test.cc -->\n";
constexpr const char* kEnd = "<!-- end -->\n";

std::string coverage_page(const std::string& name) {
  return read_file(std::filesystem::path(HEADROOM_SOURCE_DIR) / name);
}

// How many of an operator's graphs can do something.
struct Share {
  int able = 0, of = 0;
  void add(bool can) { able += can, ++of; }
  std::string text() const { return of == 0 ? "" : able == of ? "yes" : able == 0 ? "no" : "some"; }
};
struct Coverage {
  Share cpu, cuda, trains, written;
};

template <class Try>
bool succeeds(Try&& attempt) {
  try {
    attempt();
    return true;
  } catch (const Error&) {
    return false;
  }
}

void require_plan(const Net& net, const Capabilities& on) {
  const std::int64_t batch = std::max<std::int64_t>(1, fixed_batch(net));
  require_complete(make_forward(net, batch, DType::f32), net);
  build(net, {.mode = Mode::infer, .batch = batch, .target = on});
}

// Has the output a gradient with respect to the input?
bool is_differentiable(const Net& net) {
  bool found = false;
  succeeds([&] {
    const std::int64_t batch = std::max<std::int64_t>(1, fixed_batch(net));
    require_complete(make_forward(net, batch, DType::f32), net);
    const Program program = make_program(
        net,
        {.mode = Mode::gradients, .batch = batch, .target = cpu_capabilities(), .image_gradients = true});
    for (const ValueId id : program.graph.outputs)
      found |= program.graph.value(id).name.ends_with(".gradient");
  });
  return found;
}

bool is_float_tensor(const Json& tensor) { return tensor["type"] == "float32"; }

// Shapes, conditions and counts that a node needs at once are stored; numbers come from outside.
Json with_floats_outside(Json c) {
  Json inputs = Json::array();
  for (const Json& input : c["inputs"]) (is_float_tensor(input) ? inputs : c["stored"]).push_back(input);
  c["inputs"] = inputs;
  return c;
}

void add_case(const Json& c, const std::string& path, Coverage& coverage) {
  const auto read = [&](const Json& form) {
    write_file(path, model_of(form, false).SerializeAsString());
    return read_onnx(path);
  };
  static const Capabilities gpu = capabilities_of(find_machine("h200"));
  const Json form = succeeds([&] { require_plan(read(c), cpu_capabilities()); }) ? c : with_floats_outside(c);
  Net net("", {});
  const bool reads = succeeds([&] { net = read(form); });
  coverage.cpu.add(reads && succeeds([&] { require_plan(net, cpu_capabilities()); }));
  coverage.cuda.add(reads && succeeds([&] { require_plan(net, gpu); }));
  coverage.written.add(reads &&
                       succeeds([&] { require_onnx(net, std::max<std::int64_t>(1, fixed_batch(net))); }));
  const bool floats =
      !form["inputs"].empty() && is_float_tensor(form["inputs"][0]) && is_float_tensor(form["outputs"][0]);
  if (floats) coverage.trains.add(reads && is_differentiable(net));
}

std::string coverage_table() {
  std::map<std::string, Coverage> found;
  const std::string path = ::testing::TempDir() + fmt::format("coverage_{}.onnx", ::getpid());
  for (const Json& c : onnx_cases())
    if (!c.contains("domain")) add_case(c, path, found[c["op"]]);
  std::filesystem::remove(path);
  std::string text = "| operator | on CPUs | on GPUs | trains | written |\n|---|---|---|---|---|\n";
  std::vector<std::string> untried, gaps;
  for (const std::string& op : split(coverage_page("tests/golden/onnx_opset24.txt"), '\n')) {
    if (op.empty()) continue;
    const auto it = found.find(op);
    if (it != found.end())
      text += fmt::format("| {} | {} | {} | {} | {} |\n", op, it->second.cpu.text(), it->second.cuda.text(),
                          it->second.trains.text(), it->second.written.text());
    else
      (onnx::find_conversion("", op) != nullptr ? untried : gaps).push_back(op);
  }
  text += fmt::format("\nRead, without such a graph: {}.\n", fmt::join(untried, ", "));
  return text + fmt::format("\nCosts only, as gaps: {}.\n", fmt::join(gaps, ", "));
}

TEST(OnnxCoverage, TheTableOfTheDocumentsIsWhatTheCodeDoes) {
  const std::string text = coverage_page("docs/onnx.md");
  const std::size_t begin = text.find(kBegin), end = text.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t first = begin + std::string_view(kBegin).size();
  EXPECT_EQ(text.substr(first, end - first), coverage_table());
}

}  // namespace
}  // namespace headroom::testing

// Networks exported by PyTorch with golden/export_models.py: no operator is unknown here, and the results
// agree with PyTorch's. The files are too large to store; HEADROOM_ONNX_EXPORTS names their folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "data/npy.h"
#include "data/tensor_values.h"
#include "models/onnx/file.h"
#include "models/onnx/imported.h"
#include "train/inference.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

std::vector<NamedTensor> arrays_of(const fs::path& folder, std::string_view kind,
                                   const std::vector<PortType>& ports) {
  std::vector<NamedTensor> arrays;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const fs::path file = folder / fmt::format("{}_{}.npy", kind, i);
    if (!fs::exists(file)) break;
    arrays.push_back(read_npy(file));
    arrays.back().name = ports[i].name;
  }
  return arrays;
}

// The largest error, relative to the largest element: the right bound for a sum of many terms.
double error_of(const NamedTensor& got, const NamedTensor& want) {
  const std::vector<double> a = values_of(got), b = values_of(want);
  if (a.size() != b.size()) return INFINITY;
  double most = 0, worst = 0;
  for (double v : b) most = std::max(most, std::abs(v));
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::isfinite(a[i]) ? std::abs(a[i] - b[i]) : INFINITY);
  return worst / std::max(most, 1e-30);
}

void check(const fs::path& path) {
  SCOPED_TRACE(path.filename().string());
  Graph graph;
  const ImportedGraph imported(onnx::File::read(path), {});
  const std::int64_t batch = std::max<std::int64_t>(1, imported.fixed_batch());
  const Lowered lowered = imported.lower(graph, batch, {});
  for (const UnknownNode& node : lowered.unknown)
    ADD_FAILURE() << node.op << " '" << node.node << "': " << node.reason;
  const fs::path data = fs::path(path).replace_extension(".data");
  if (!lowered.unknown.empty() || !fs::is_directory(data)) return;
  const auto device = open_device("cpu");
  Engine engine(read_onnx(path.string()), *device, {});
  Inference inference(engine);
  const std::vector<NamedTensor> outputs = inference.run(arrays_of(data, "input", inference.inputs()));
  const std::vector<NamedTensor> wanted = arrays_of(data, "output", inference.outputs());
  EXPECT_FALSE(wanted.empty());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(outputs[i].type.shape, wanted[i].type.shape);
    EXPECT_LE(error_of(outputs[i], wanted[i]), 1e-4) << wanted[i].name;
  }
}

TEST(OnnxExports, HaveNoGapsAndAnswerAsPytorchDoes) {
  const char* folder = std::getenv("HEADROOM_ONNX_EXPORTS");
  if (folder == nullptr)
    GTEST_SKIP()
        << "HEADROOM_ONNX_EXPORTS names no folder of exports; tests/golden/export_models.py makes one";
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty()) << "no .onnx file in " << folder;
  for (const fs::path& file : files) check(file);
}

}  // namespace
}  // namespace headroom::testing

// The convolution course's published weights on its published images, prepared by its recipe. The printed
// accuracy checks the resizing rule, the reader of the parameter file and the network's arithmetic together.
#include <gtest/gtest.h>

#include "base/json.h"
#include "data/mxnet_params.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

fs::path shared_data() {
  const char* named = std::getenv("HEADROOM_DATA");
  return named != nullptr ? named : fs::path(HEADROOM_SOURCE_DIR) / "../shared/data";
}

constexpr const char* kNet = R"({"input": [1, 48, 48], "layers": [
  {"type": "conv2d", "name": "new0", "maps": 6, "kernel": 5, "bias": false, "activation": "tanh"},
  {"type": "max_pool", "kernel": 2},
  {"type": "conv2d", "name": "new1", "maps": 16, "kernel": 5, "bias": false},
  {"type": "linear", "name": "fullyconnected0", "units": 140, "activation": "tanh"},
  {"type": "linear", "name": "fullyconnected1", "units": 10}]})";

struct CourseWeights : ProgramTest {};

TEST_F(CourseWeights, ReachThePublishedAccuracy) {
  const fs::path weights = shared_data() / "ece408/ece408-2019sp.params";
  if (!fs::exists(weights) || !fs::is_directory(shared_data() / "fashion-mnist"))
    GTEST_SKIP() << "no " << weights << " or no fashion-mnist beside it";
  TensorFile file = read_mxnet_params(weights);
  for (NamedTensor& tensor : file.tensors)
    tensor.name[tensor.name.rfind('_')] = '.';  // new0_weight, new0.weight
  write_safetensors(temporary_.path() / "work/w.safetensors", file);
  put("net.json", kNet);
  auto accuracy = [&](const std::string& images, const std::string& rule) {
    const Json result =
        succeed_json({"eval", "net.json", "--weights", "w.safetensors", "--data", "fashion-mnist",
                      "--data-dir", shared_data().string(), "--test-size", images, "--image-size", "48",
                      "--resize", rule, "--pixels", "raw", "--batch", "100"});
    return result.at("accuracy").at("test").get<double>();
  };
  EXPECT_NEAR(accuracy("100", "zero"), 0.84, 1e-9);
  EXPECT_NEAR(accuracy("100", "edge"), 0.85, 1e-9);  // one image distinguishes the rules
  EXPECT_NEAR(accuracy("1000", "zero"), 0.852, 1e-9);
}

}  // namespace
}  // namespace headroom::testing

#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/tensor_values.h"
#include "train/engine.h"

namespace headroom {

// A model with its expected outputs, laid out like ONNX's own test suites: a folder with model.onnx and
// test_data_set_0/input_0.pb, output_0.pb, …; or x.onnx beside x_output_0.pb, where element i of an input of
// n elements is i/n.
struct ModelCase {
  std::string name;  // path relative to the searched folder
  std::filesystem::path model;
  std::vector<std::filesystem::path> inputs, outputs;  // in order
  bool counted = false;                                // inputs are i/n
};

enum class CaseEnd { passed, failed, skipped };
struct CaseResult {
  std::string name;
  CaseEnd end = CaseEnd::passed;
  std::string reason;  // the difference, or why it was not run
  double worst = 0;    // largest error of an element
};

// Finds cases below a folder, sorted by name. Every data set is a case, and so is a model without any. If the
// folder is a case itself, the names include its name.
std::vector<ModelCase> find_cases(const std::filesystem::path& folder);

// Skipped if there is no stored output or the network has operators that cannot run; failed if an output
// differs or the run stops with an error.
CaseResult run_case(const ModelCase& the_case, Device& device, const EngineOptions& options,
                    const Tolerance& tolerance);

}  // namespace headroom

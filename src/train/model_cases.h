#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/tensor_values.h"
#include "train/engine.h"

namespace headroom {

// A model with what it must answer, as ONNX's own test suites are laid out: a folder with model.onnx and
// test_data_set_0/input_0.pb, output_0.pb, …; or x.onnx beside x_output_0.pb, where element i of an input of
// n is i/n.
struct ModelCase {
  std::string name;  // its path below the folder that was searched
  std::filesystem::path model;
  std::vector<std::filesystem::path> inputs, outputs;  // in order
  bool counted = false;                                // inputs are i/n
};

enum class CaseEnd { passed, failed, skipped };
struct CaseResult {
  std::string name;
  CaseEnd end = CaseEnd::passed;
  std::string reason;  // what differs, or why it was not run
  double worst = 0;    // largest error of an element
};

// Below a folder, sorted by name; every set of data is a case, and so is a model without any. The folder's
// name is part of the names where it is a case itself.
std::vector<ModelCase> find_cases(const std::filesystem::path& folder);

// Skipped where nothing was stored to compare with or where the network has operators that cannot be run;
// failed where an output differs or the run broke off.
CaseResult run_case(const ModelCase& the_case, Device& device, const EngineOptions& options,
                    const Tolerance& tolerance);

}  // namespace headroom

#pragma once

// Which floats of a file training changes. A file stores parameters, masks, tables and constants of formulas
// in the same way, so the place where a tensor meets the data decides, and if that is not enough its
// elements.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/shape.h"

namespace headroom::onnx {

class File;
class NodeProto;

struct Verdict {
  TensorType type;
  bool learned = false;
  std::string reason;      // why it is not learned
  bool generated = false;  // the file does not store it but fills it with one number, as test files do
};

// By name, for every float tensor stored in the file: initializers, and results of Constant nodes.
struct Verdicts : std::map<std::string, Verdict> {};
Verdicts judge_tensors(const File& file, const std::vector<const NodeProto*>& order);

}  // namespace headroom::onnx

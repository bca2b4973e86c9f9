#include "models/onnx/names.h"

#include <fmt/format.h>

#include "models/onnx/onnx.pb.h"

namespace headroom::onnx {

std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

std::string full_name(const NodeProto& node) {
  const bool own = node.domain().empty() || node.domain() == "ai.onnx";
  return printable(own ? node.op_type() : fmt::format("{}:{}", node.domain(), node.op_type()));
}

std::string unique_name(std::unordered_map<std::string, int>& names, const std::string& first,
                        const std::string& base) {
  if (names.emplace(first, 1).second) return first;
  std::string unique;
  do {
    unique = fmt::format("{}#{}", base, ++names[first]);
  } while (!names.emplace(unique, 1).second);
  return unique;
}

}  // namespace headroom::onnx

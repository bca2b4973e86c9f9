#pragma once

// Names of layers and tensors, as they are shown and stored.

#include <string>
#include <unordered_map>

namespace headroom::onnx {

class NodeProto;

// Names come from a file and are printed on terminals and in tables.
std::string printable(std::string text);
std::string full_name(const NodeProto& node);  // its operator; "domain:operator" if it is not ONNX's own

// `first`, or `base` with a number. Each name remembers its last number: loops repeat names thousands of
// times.
std::string unique_name(std::unordered_map<std::string, int>& names, const std::string& first,
                        const std::string& base);

}  // namespace headroom::onnx

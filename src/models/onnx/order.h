#pragma once

#include <string>
#include <vector>

namespace headroom::onnx {

class GraphProto;
class NodeProto;

// The nodes that outputs depend on, each after those it reads, for any order in the file. Rejects names
// defined twice or never, and cycles. `outer`: the graph is a branch of a node and may read outer names.
std::vector<const NodeProto*> live_order(const GraphProto& graph, const std::string& file,
                                         bool outer = false);

// Names a node reads, including those of its inner branches.
std::vector<std::string> names_read(const NodeProto& node);

std::string label_of(const NodeProto& node);  // its name, else "Conv of 'output'"

}  // namespace headroom::onnx

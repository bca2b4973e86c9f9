#pragma once

#include <string>
#include <vector>

namespace headroom::onnx {

class GraphProto;
class NodeProto;

// The nodes that outputs depend on, each after those it reads, whatever order the file has them in. Rejects
// names defined twice or never, and circles. `outer`: the graph is a branch of a node and may read names from
// outside.
std::vector<const NodeProto*> live_order(const GraphProto& graph, const std::string& file,
                                         bool outer = false);

// Names a node reads, those of the branches inside it included.
std::vector<std::string> names_read(const NodeProto& node);

std::string label_of(const NodeProto& node);  // its name, else "Conv of 'output'"

}  // namespace headroom::onnx

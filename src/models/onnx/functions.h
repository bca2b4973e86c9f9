#pragma once

namespace headroom::onnx {

class File;
class ModelProto;

// Replaces every call of a function that the file defines by the nodes of its body. Names inside a body get
// the name of the call in front. Rejects functions that call themselves.
void inline_functions(const File& file, ModelProto& model);

}  // namespace headroom::onnx

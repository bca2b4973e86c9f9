#pragma once

namespace headroom::onnx {

class File;
class ModelProto;

// PyTorch transposes the weights of linear layers while it exports. If another layer uses the same weights,
// as an embedding does, the file then holds them twice, and training would take the two apart. Replaces each
// matrix that is the transpose of another one by a Transpose node that reads the other.
void restore_transposes(const File& file, ModelProto& model);

}  // namespace headroom::onnx

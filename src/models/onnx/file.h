#pragma once

// An ONNX file as it stands: its messages, and its tensors as elements. Nothing is lowered here.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "graph/given.h"

namespace headroom::onnx {

class ModelProto;
class GraphProto;
class TensorProto;

// Ours for the element type of a file: int8 and int16 are widened to int32, uint32 and uint64 to int64.
// Nothing where there is no such type here (strings, complex numbers, 8-bit floats).
std::optional<DType> dtype_of(int data_type);
std::string name_of_type(int data_type);

class File : public std::enable_shared_from_this<File> {
 public:
  static std::shared_ptr<const File> read(const std::filesystem::path& path);
  // `origin` names the file in messages; external data lies beside it.
  static std::shared_ptr<const File> parse(std::string_view bytes, const std::filesystem::path& origin);
  ~File();

  const ModelProto& model() const { return *model_; }
  const GraphProto& graph() const;
  std::string name() const { return path_.string(); }
  // Version of an operator set the file says it uses; 0: it does not name this domain.
  std::int64_t opset(std::string_view domain) const;

  // Elements of a tensor. They stay where the file was read to, unless their type must be widened.
  // Unsupported is thrown for types there are not here; damage is rejected.
  Given tensor(const TensorProto& tensor) const;

 private:
  explicit File(std::filesystem::path path);
  void check() const;
  MappedFile beside(const std::string& location) const;
  Given external(const TensorProto& tensor, const Shape& shape) const;

  std::filesystem::path path_;
  std::unique_ptr<ModelProto> model_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, MappedFile> beside_;
};

}  // namespace headroom::onnx

#pragma once

// An ONNX file as stored: its messages, and its tensors as elements. Nothing is lowered here.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "graph/constant_data.h"

namespace headroom::onnx {

// The producer that files written here name.
inline constexpr const char* kProducer = "headroom";

class ModelProto;
class GraphProto;
class TensorProto;

// Our type for a file's element type: int8 and int16 are widened to int32, uint32 and uint64 to int64. Empty
// if we have no such type (strings, complex numbers, 8-bit floats).
std::optional<DType> dtype_of(int data_type);
std::string name_of_type(int data_type);

class File : public std::enable_shared_from_this<File> {
 public:
  static std::shared_ptr<const File> read(const std::filesystem::path& path);
  // `origin` names the file in messages; external data is beside it.
  static std::shared_ptr<const File> parse(std::string_view bytes, const std::filesystem::path& origin);
  ~File();

  const ModelProto& model() const { return *model_; }
  const GraphProto& graph() const;
  std::string name() const { return path_.string(); }
  // The opset version the file declares; 0 if it does not name this domain.
  std::int64_t opset(std::string_view domain) const;

  // Elements of a tensor. They stay in the file's memory unless their type must be widened. Throws
  // Unsupported for types we lack; rejects damaged tensors.
  ConstantData tensor(const TensorProto& tensor) const;

 private:
  explicit File(std::filesystem::path path);
  void check() const;
  MappedFile beside(const std::string& location) const;
  ConstantData external(const TensorProto& tensor, const Shape& shape) const;

  std::filesystem::path path_;
  std::unique_ptr<ModelProto> model_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, MappedFile> beside_;
};

}  // namespace headroom::onnx

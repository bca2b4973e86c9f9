#include "models/onnx/file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>

#include "base/error.h"
#include "base/units.h"
#include "models/onnx/functions.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/tied.h"

namespace headroom::onnx {
namespace {

// The newest opset the conversions support; later versions may have another meaning.
constexpr std::int64_t kNewestOpset = 28;

const Hint kDamaged{"is it complete, and an ONNX file? copy or export it again"};

bool is_own_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

}  // namespace

File::File(std::filesystem::path path) : path_(std::move(path)), model_(std::make_unique<ModelProto>()) {}
File::~File() = default;

const GraphProto& File::graph() const { return model_->graph(); }

std::shared_ptr<const File> File::read(const std::filesystem::path& path) {
  const MappedFile bytes = map_file(path);
  return parse({reinterpret_cast<const char*>(bytes.data.get()), bytes.size}, path);
}

std::shared_ptr<const File> File::parse(std::string_view bytes, const std::filesystem::path& origin) {
  const std::shared_ptr<File> file(new File(origin));
  // The max length of a message; larger models keep their weights in separate files.
  constexpr std::size_t kMax = std::numeric_limits<int>::max();
  if (bytes.size() > kMax)
    reject(Hint{"export it with external data"}, "{} is {}; an ONNX file has at most 2 GiB", file->name(),
           human_bytes(double(bytes.size())));
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  if (!file->model_->ParsePartialFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
    reject(kDamaged, "{} cannot be read as ONNX", file->name());
  file->check();
  inline_functions(*file, *file->model_);
  restore_transposes(*file, *file->model_);
  return file;
}

void File::check() const {
  if (!model_->has_graph()) reject(kDamaged, "{} does not hold a graph", name());
  if (model_->ir_version() < 1) reject(kDamaged, "{} does not name a version of the format", name());
  const std::int64_t version = opset("");
  if (version == 0 && model_->ir_version() >= 3)
    reject(kDamaged, "{} does not say which version of ONNX's operators it uses", name());
  if (version < 0 || version > kNewestOpset)
    reject(Hint{fmt::format("export it again for operator set {} or lower", kNewestOpset)},
           "{} uses version {} of ONNX's operators; {} is the newest known here", name(), version,
           kNewestOpset);
  if (graph().node_size() == 0) reject(kDamaged, "{} holds a graph without nodes", name());
  if (graph().sparse_initializer_size() > 0)
    reject(Hint{"export it with dense weights"}, "{} holds sparse weights, which are not read", name());
}

std::int64_t File::opset(std::string_view domain) const {
  for (const OperatorSetIdProto& set : model_->opset_import())
    if (set.domain() == domain || (is_own_domain(set.domain()) && is_own_domain(domain)))
      return set.version();
  // Before version 3 of the format a file had no field for this.
  return is_own_domain(domain) && model_->ir_version() < 3 ? 1 : 0;
}

}  // namespace headroom::onnx

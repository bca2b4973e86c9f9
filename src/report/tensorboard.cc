#include "report/tensorboard.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "data/checksum.h"
#include "data/tensor_values.h"

namespace headroom {
namespace {

// Field numbers of TensorBoard's messages: event.proto, summary.proto, histogram.proto, tensor.proto.
namespace event_field {
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace value_field {
constexpr int kTag = 1, kSimple = 2, kHistogram = 5, kTensor = 8, kMetadata = 9;
}
namespace histogram_field {
constexpr int kMin = 1, kMax = 2, kCount = 3, kSum = 4, kSumSquares = 5, kLimits = 6, kCounts = 7;
}
constexpr int kSummaryValue = 1;                           // of Summary
constexpr int kSessionStatus = 1, kSessionStarts = 1;      // of SessionLog
constexpr int kTensorType = 1, kStrings = 8;               // of TensorProto
constexpr int kTypeString = 7;                             // of DataType
constexpr int kPlugin = 1, kDataClass = 4, kIsTensor = 2;  // of SummaryMetadata
constexpr int kPluginName = 1;                             // of its PluginData

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void append_bytes(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

// Length, its sum, the bytes, their sum.
void append_record(std::string& out, std::string_view bytes) {
  const std::size_t begin = out.size();
  append_bytes(out, bytes.size(), 8);
  append_bytes(out, masked_crc32c(std::string_view(out).substr(begin)), 4);
  out += bytes;
  append_bytes(out, masked_crc32c(bytes), 4);
}

// TensorBoard reads the files of a folder in the order of their names, so the time comes first.
std::string name_of_events() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return fmt::format("events.out.tfevents.{:017.6f}.{}.{}", wall_seconds(), host.data(), ::getpid());
}

const Hint kOtherFolder{"name a folder that you can write to"};

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder))
    reject(kOtherFolder, "cannot make the folder {} for TensorBoard: {}", folder.string(),
           error ? error.message() : "a file of that name exists");
}

}  // namespace

void require_event_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::path existing = std::filesystem::absolute(folder);
  while (!std::filesystem::exists(existing, ignored) && existing.has_relative_path())
    existing = existing.parent_path();
  if (!std::filesystem::is_directory(existing, ignored))
    reject(kOtherFolder, "cannot make the folder {} for TensorBoard: {} is not a folder", folder.string(),
           existing.string());
  require_writable(existing / "events.out.tfevents");
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  constexpr std::uint32_t kMask = 0xA282EAD8;
  const std::uint32_t sum = crc32c(bytes);
  return ((sum >> 15) | (sum << 17)) + kMask;
}

Histogram histogram_of(const NamedTensor& tensor, int buckets) {
  Histogram h{.min = INFINITY, .max = -INFINITY};
  const std::int64_t count = tensor.type.shape.numel();
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = value_at(tensor, i);
    if (!std::isfinite(value)) continue;
    h.min = std::min(h.min, value), h.max = std::max(h.max, value);
    h.sum += value, h.sum_squares += value * value;
  }
  if (h.min > h.max) return {};
  const double width = h.max / buckets - h.min / buckets;  // their difference may overflow
  for (int i = 1; i < buckets; ++i) {
    const double limit = h.min + width * i, below = h.limits.empty() ? h.min : h.limits.back();
    if (limit > below && limit < h.max) h.limits.push_back(limit);  // a narrow range has fewer
  }
  h.limits.push_back(h.max);
  h.counts.assign(h.limits.size(), 0);
  const auto last = h.limits.end() - 1;
  for (std::int64_t i = 0; i < count; ++i)
    if (const double value = value_at(tensor, i); std::isfinite(value))
      ++h.counts[static_cast<std::size_t>(std::upper_bound(h.limits.begin(), last, value) -
                                          h.limits.begin())];
  return h;
}

EventFile::EventFile(const std::filesystem::path& folder, std::int64_t start) {
  make_folder(folder);
  path_ = folder / name_of_events();
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) reject(kOtherFolder, "cannot write {}: {}", path_.string(), std::strerror(errno));
  event(0, event_field::kFileVersion, "brain.Event:2");
  ProtoWriter session;
  session.varint(kSessionStatus, kSessionStarts);
  event(start, event_field::kSessionLog, session.take());
}

EventFile::~EventFile() {
  try {
    flush();
  } catch (const Error&) {  // whoever wants to know calls flush()
  }
  if (file_ >= 0) ::close(file_);
}

void EventFile::event(std::int64_t step, int field, std::string_view what) {
  ProtoWriter event;
  event.real(event_field::kWallTime, wall_seconds());
  event.varint(event_field::kStep, static_cast<std::uint64_t>(step));
  event.bytes(field, what);
  append_record(waiting_, event.take());
}

void EventFile::summary(std::int64_t step, const ProtoWriter& value) {
  ProtoWriter summary;
  summary.message(kSummaryValue, value);
  event(step, event_field::kSummary, summary.take());
}

void EventFile::scalar(const std::string& tag, std::int64_t step, double number) {
  ProtoWriter value;
  value.bytes(value_field::kTag, tag);
  value.real32(value_field::kSimple, static_cast<float>(number));
  summary(step, value);
}

void EventFile::histogram(const std::string& tag, std::int64_t step, const Histogram& h) {
  double count = 0;
  for (const double c : h.counts) count += c;
  ProtoWriter histogram, value;
  histogram.real(histogram_field::kMin, h.min);
  histogram.real(histogram_field::kMax, h.max);
  histogram.real(histogram_field::kCount, count);
  histogram.real(histogram_field::kSum, h.sum);
  histogram.real(histogram_field::kSumSquares, h.sum_squares);
  histogram.packed(histogram_field::kLimits, h.limits);
  histogram.packed(histogram_field::kCounts, h.counts);
  value.bytes(value_field::kTag, tag);
  value.message(value_field::kHistogram, histogram);
  summary(step, value);
}

void EventFile::text(const std::string& tag, std::int64_t step, std::string_view markdown) {
  ProtoWriter plugin, metadata, tensor, value;
  plugin.bytes(kPluginName, "text");
  metadata.message(kPlugin, plugin);
  metadata.varint(kDataClass, kIsTensor);
  tensor.varint(kTensorType, kTypeString);
  tensor.bytes(kStrings, markdown);
  value.bytes(value_field::kTag, tag);
  value.message(value_field::kTensor, tensor);
  value.message(value_field::kMetadata, metadata);
  summary(step, value);
}

void EventFile::flush() {
  while (!waiting_.empty()) {
    const ssize_t n = ::write(file_, waiting_.data(), waiting_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      waiting_.clear();
      fail("cannot write {}: {}", path_.string(), std::strerror(error));
    }
    waiting_.erase(0, static_cast<std::size_t>(n));
  }
}

}  // namespace headroom

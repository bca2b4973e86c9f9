#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/safetensors.h"
#include "report/proto_wire.h"

namespace headroom {

// Counts of values in buckets of equal width.
struct Histogram {
  double min = 0, max = 0, sum = 0, sum_squares = 0;
  std::vector<double> limits = {};  // upper ends, in ascending order; a bucket holds the values below its own
  std::vector<double> counts = {};  // one for each limit; the last bucket also holds the values equal to max
};

// Of the finite values; without any, there are no buckets. Equal values share one bucket.
Histogram histogram_of(const NamedTensor& tensor, int buckets = 30);

// Rejects a folder that could not be made or written to. Leaves nothing behind.
void require_event_folder(const std::filesystem::path& folder);

// One file of events in TensorBoard's format: checked records around messages that tensorboard.cc names. Only
// whole records are written, so the file can be read at any time, even if the process was killed.
class EventFile {
 public:
  // Makes the folder if it is missing. From step `start` on, TensorBoard replaces the events of older files
  // in the folder by those of this one.
  EventFile(const std::filesystem::path& folder, std::int64_t start);
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile();

  // These collect events in memory; flush() writes them.
  void scalar(const std::string& tag, std::int64_t step, double value);
  void histogram(const std::string& tag, std::int64_t step, const Histogram& values);
  void text(const std::string& tag, std::int64_t step, std::string_view markdown);
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  void event(std::int64_t step, int field, std::string_view what);
  void summary(std::int64_t step, const ProtoWriter& value);

  std::filesystem::path path_;
  int file_ = -1;
  std::string waiting_;  // whole records
};

// The sum of a record: CRC-32C, masked so that a record may hold records itself.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace headroom

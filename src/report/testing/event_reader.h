#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "report/tensorboard.h"
#include "report/testing/wire_reader.h"

namespace headroom::testing {

// The records of an event file, each with its sums checked. A record that the file cuts short ends them, as
// for TensorBoard.
inline std::vector<std::string_view> records_of(std::string_view file) {
  auto number = [](std::string_view bytes) {
    std::uint64_t value = 0;
    for (int i = 0; const char c : bytes) value |= std::uint64_t{static_cast<unsigned char>(c)} << (8 * i++);
    return value;
  };
  std::vector<std::string_view> records;
  while (file.size() >= 12) {
    const std::uint64_t length = number(file.substr(0, 8));
    if (number(file.substr(8, 4)) != masked_crc32c(file.substr(0, 8)))
      throw std::runtime_error("wrong sum of a length");
    if (file.size() < 16 + length) break;
    records.push_back(file.substr(12, length));
    if (number(file.substr(12 + length, 4)) != masked_crc32c(records.back()))
      throw std::runtime_error("wrong sum of a record");
    file.remove_prefix(16 + length);
  }
  return records;
}

// The contents of an event file. Every field must be one that TensorBoard's messages have.
struct ReadEvents {
  template <class T>
  using Points = std::map<std::string, std::vector<std::pair<std::int64_t, T>>>;  // by tag: step and value
  std::string version;
  std::vector<std::int64_t> starts;
  Points<double> scalars;
  Points<Histogram> histograms;
  Points<std::string> texts;

  explicit ReadEvents(const std::filesystem::path& path) {
    const std::string file = read_file(path);
    for (const std::string_view record : records_of(file)) add(record);
  }

 private:
  void add(std::string_view record) {
    const WireMessage event(record, {{1, 1}, {2, 0}, {3, 2}, {5, 2}, {7, 2}});
    const auto step = static_cast<std::int64_t>(event.at(2).value);
    if (event.at(1).real() < 1e9) throw std::runtime_error("the time of an event is too early");
    if (const WireField* text = event.find(3)) version = text->bytes;
    if (const WireField* session = event.find(7))
      if (WireMessage(session->bytes, {{1, 0}}).at(1).value == 1) starts.push_back(step);
    if (const WireField* summary = event.find(5))
      add_value(step, WireMessage(summary->bytes, {{1, 2}}).at(1).bytes);
  }

  void add_value(std::int64_t step, std::string_view bytes) {
    const WireMessage value(bytes, {{1, 2}, {2, 5}, {5, 2}, {8, 2}, {9, 2}});
    const std::string tag(value.at(1).bytes);
    if (const WireField* number = value.find(2)) scalars[tag].emplace_back(step, number->real32());
    if (const WireField* found = value.find(5)) histograms[tag].emplace_back(step, histogram(found->bytes));
    if (const WireField* found = value.find(8)) {
      const WireMessage tensor(found->bytes, {{1, 0}, {8, 2}});
      const WireMessage metadata(value.at(9).bytes, {{1, 2}, {4, 0}});
      if (tensor.at(1).value != 7 || WireMessage(metadata.at(1).bytes, {{1, 2}}).at(1).bytes != "text")
        throw std::runtime_error("a tensor that is not a text");
      texts[tag].emplace_back(step, tensor.at(8).bytes);
    }
  }

  static Histogram histogram(std::string_view bytes) {
    const WireMessage h(bytes, {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 2}, {7, 2}});
    Histogram read{.min = h.at(1).real(),
                   .max = h.at(2).real(),
                   .sum = h.at(4).real(),
                   .sum_squares = h.at(5).real(),
                   .limits = doubles(h.at(6).bytes),
                   .counts = doubles(h.at(7).bytes)};
    double count = 0;
    for (const double c : read.counts) count += c;
    if (count != h.at(3).real()) throw std::runtime_error("the counts of a histogram do not add up");
    return read;
  }

  static std::vector<double> doubles(std::string_view bytes) {
    std::vector<double> values(bytes.size() / sizeof(double));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(values.data()));
    return values;
  }
};

// The event files of a folder, in the order in which TensorBoard reads them.
inline std::vector<std::filesystem::path> event_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace headroom::testing

#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace headroom {

// Results of finished runs in a file, one JSON object per line: {"key": …, "result": …}. The key holds
// everything the result depends on. Each new row writes the whole file anew, under another name first: a
// crash leaves the old file or the new one.
class FinishedRows {
 public:
  FinishedRows() = default;  // in memory alone
  // Reads the file if there is one. A damaged last line is dropped: another program may have been cut off
  // while it copied the file. Damage elsewhere is rejected with its line number.
  explicit FinishedRows(std::filesystem::path file);

  bool dropped_last() const { return dropped_last_; }
  const Json* find(const std::string& key) const;  // null: not finished yet
  void add(const std::string& key, const Json& result);
  std::size_t size() const { return rows_.size(); }

 private:
  std::filesystem::path file_;
  std::map<std::string, Json> rows_;
  std::string text_;
  bool dropped_last_ = false;
};

}  // namespace headroom

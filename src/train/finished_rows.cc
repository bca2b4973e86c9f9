#include "train/finished_rows.h"

#include <optional>

#include "base/file.h"
#include "base/text.h"

namespace headroom {
namespace {

constexpr std::string_view kBegin = "{\"key\":";  // of a line, before it was cut off

struct FinishedRow {
  std::string key;
  Json result;
};

// Null if the line is not a row.
std::optional<FinishedRow> parse_row(const std::string& line) {
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("key") || !json["key"].is_string() || !json.contains("result") ||
      !json["result"].is_object())
    return {};
  return FinishedRow{json["key"], json["result"]};
}

}  // namespace

FinishedRows::FinishedRows(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code ignored;
  if (!std::filesystem::exists(file_, ignored)) return;
  const std::string text = read_file(file_);
  std::vector<std::string> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto row = parse_row(lines[i]);
    if (row) {
      rows_[row->key] = std::move(row->result);
      text_ += lines[i] + "\n";
    } else if (i + 1 == lines.size() && (i > 0 || lines[i].starts_with(kBegin))) {
      dropped_last_ = true;
    } else {
      reject(Hint{"name another file, or delete this one"}, "{}:{}: this is not a finished row",
             file_.string(), i + 1);
    }
  }
}

const Json* FinishedRows::find(const std::string& key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : &found->second;
}

void FinishedRows::add(const std::string& key, const Json& result) {
  rows_[key] = result;
  if (file_.empty()) return;
  const Json row = {{"key", key}, {"result", result}};
  text_ += row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  write_file(file_, text_);
}

}  // namespace headroom

#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/download.h"

namespace headroom {

struct FetchFile {
  std::string name, md5;
  std::int64_t bytes = std::int64_t{1} << 30;  // a source that sends more is refused at once
};

// The source of a data set and how to verify it.
struct FetchPlan {
  std::string dataset;
  std::string mirror;  // address of the folder that holds the files
  std::filesystem::path folder;
  std::vector<FetchFile> files;
  // The only file is an archive (.tar.gz) from which these files are taken, matched by file name; it is
  // removed afterwards.
  std::vector<std::string> members;
};

struct FetchObserver {
  virtual ~FetchObserver() = default;
  virtual void on_present(const std::string& /*file*/) {}  // already here and intact
  virtual void on_start(const std::string& /*url*/, std::int64_t /*resumed_at*/) {}
  virtual void on_bytes(std::int64_t /*done*/, std::int64_t /*of*/) {}
  virtual void on_done(const std::string& /*file*/) {}
};

// "mnist", "fashion-mnist", "cifar10" into the data folder `dir`; empty `mirror`: the public one.
FetchPlan fetch_plan(std::string_view dataset, const std::filesystem::path& dir, const std::string& mirror);
std::vector<std::string> fetchable_datasets();

// Downloads the missing files. A file gets its name only after its checksum matched; until then it is
// NAME.part, from which the next attempt continues. A wrong checksum removes it.
void fetch(const FetchPlan& plan, FetchObserver& observer);

}  // namespace headroom

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
};

// Where a data set is published and how to know it is whole.
struct FetchPlan {
  std::string dataset;
  std::string mirror;  // address of the folder that holds the files
  std::filesystem::path folder;
  std::vector<FetchFile> files;
  // The one file is an archive (.tar.gz) to take these files out of, by the last part of their names; it is
  // removed afterwards.
  std::vector<std::string> members;
};

struct FetchObserver {
  virtual ~FetchObserver() = default;
  virtual void on_present(const std::string& /*file*/) {}  // it is here already, and whole
  virtual void on_start(const std::string& /*url*/, std::int64_t /*resumed_at*/) {}
  virtual void on_bytes(std::int64_t /*done*/, std::int64_t /*of*/) {}
  virtual void on_done(const std::string& /*file*/) {}
};

// "mnist", "fashion-mnist", "cifar10" into the data folder `dir`; `mirror` empty: the public one.
FetchPlan fetch_plan(std::string_view dataset, const std::filesystem::path& dir, const std::string& mirror);
std::vector<std::string> fetchable_datasets();

// Downloads what is not here yet. A file takes its name only after its checksum was right; until then it is
// NAME.part, which the next attempt goes on from. A wrong checksum removes it.
void fetch(const FetchPlan& plan, FetchObserver& observer);

}  // namespace headroom

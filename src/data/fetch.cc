#include "data/fetch.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/gzip.h"
#include "data/known_datasets.h"
#include "data/md5.h"
#include "data/tar.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxUnpacked = std::int64_t{4} << 30;

struct Published {
  const char *dataset, *mirror;
  std::vector<FetchFile> files;
  std::vector<std::string> members;
};

const std::vector<Published>& published() {
  static const std::vector<Published> kPublished = {
      {"mnist",
       "https://ossci-datasets.s3.amazonaws.com/mnist/",
       {{"train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873", 9912422},
        {"train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432", 28881},
        {"t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3", 1648877},
        {"t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c", 4542}},
       {}},
      {"fashion-mnist",
       "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
       {{"train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d", 26421880},
        {"train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe", 29515},
        {"t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79", 4422102},
        {"t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310", 5148}},
       {}},
      {"cifar10",
       "https://www.cs.toronto.edu/~kriz/",
       {{"cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530", 170052171}},
       {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin",
        "test_batch.bin"}},
  };
  return kPublished;
}

// The remaining manual steps, if the program failed.
std::string by_hand(const FetchPlan& plan) {
  std::vector<std::string> names;
  for (const FetchFile& file : plan.files) names.push_back(file.name);
  return fmt::format("put {} from {} into {} by hand{}", fmt::join(names, ", "), plan.mirror,
                     plan.folder.string(), plan.members.empty() ? "" : " and unpack it there");
}

bool is_here(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

void require_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    reject(Hint{"name another folder with `data-dir`"}, "cannot make {}: {}", folder.string(),
           error.message());
}

void fetch_file(const FetchPlan& plan, const FetchFile& file, FetchObserver& observer) {
  const fs::path target = plan.folder / file.name, part = target.string() + ".part";
  if (is_here(target) && md5_of_file(target) == file.md5) return observer.on_present(target.string());
  const std::string url = plan.mirror + file.name;
  std::error_code ignored;
  observer.on_start(url, is_here(part) ? static_cast<std::int64_t>(fs::file_size(part, ignored)) : 0);
  try {
    download(url, part, file.bytes, [&](std::int64_t done, std::int64_t of) { observer.on_bytes(done, of); });
  } catch (const Error& error) {
    if (is_here(part) && fs::file_size(part, ignored) == 0) fs::remove(part, ignored);
    if (!error.hint().empty()) throw;
    throw Error(error.blame(), error.what(),
                Hint{fmt::format("{}name another source with `mirror`, or {}",
                                 is_here(part) ? "run it again to go on from there, " : "", by_hand(plan))});
  }
  if (const std::string sum = md5_of_file(part); sum != file.md5) {
    fs::remove(part, ignored);
    throw Error(
        Blame::run,
        fmt::format("{} has the checksum {}, not the published {}; it was removed", url, sum, file.md5),
        Hint{"try again; if it stays wrong, that source is damaged: name another with `mirror`"});
  }
  std::error_code failed;
  fs::rename(part, target, failed);
  if (failed) fail("cannot rename {} to {}: {}", part.string(), target.string(), failed.message());
  observer.on_done(target.string());
}

void unpack(const FetchPlan& plan, FetchObserver& observer) {
  const fs::path archive = plan.folder / plan.files[0].name;
  const std::string bytes = gunzip(read_file(archive), archive.string(), kMaxUnpacked);
  const std::vector<TarEntry> entries = read_tar(bytes, archive.string());
  for (const std::string& member : plan.members) {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const TarEntry& entry) {
      return fs::path(entry.name).filename() == member;  // never a path outside the archive
    });
    if (found == entries.end()) fail("{} does not hold {}", archive.string(), member);
    write_file(plan.folder / member, found->bytes);
    observer.on_done((plan.folder / member).string());
  }
  std::error_code ignored;  // the wanted files are here, even if this one stays
  fs::remove(archive, ignored);
}

}  // namespace

std::vector<std::string> fetchable_datasets() {
  std::vector<std::string> names;
  for (const Published& set : published()) names.emplace_back(set.dataset);
  return names;
}

FetchPlan fetch_plan(std::string_view dataset, const fs::path& dir, const std::string& mirror) {
  const auto found = std::find_if(published().begin(), published().end(),
                                  [&](const Published& set) { return set.dataset == dataset; });
  if (found == published().end())
    reject(nearest(dataset, fetchable_datasets()), "there is no data set '{}' to fetch", dataset);
  FetchPlan plan{found->dataset, mirror.empty() ? found->mirror : mirror, {}, found->files, found->members};
  if (!plan.mirror.ends_with("/")) plan.mirror += "/";
  for (const DatasetInfo& info : known_datasets())
    if (info.name == dataset) plan.folder = data_folder(dir) / info.folder;
  return plan;
}

void fetch(const FetchPlan& plan, FetchObserver& observer) {
  if (!can_download())
    throw Error(Blame::run,
                fmt::format("{} cannot be fetched: libcurl is not here, or this program was built without it",
                            plan.dataset),
                Hint{fmt::format("install libcurl4-openssl-dev (Debian and Ubuntu) and build again, or {}",
                                 by_hand(plan))});
  const bool unpacked =
      !plan.members.empty() && std::all_of(plan.members.begin(), plan.members.end(),
                                           [&](auto& m) { return is_here(plan.folder / m); });
  if (unpacked) {
    for (const std::string& member : plan.members) observer.on_present((plan.folder / member).string());
    return;
  }
  require_folder(plan.folder);
  try {
    for (const FetchFile& file : plan.files) fetch_file(plan, file, observer);
    if (!plan.members.empty()) unpack(plan, observer);
  } catch (...) {
    std::error_code ignored;
    fs::remove(plan.folder, ignored);  // succeeds only if the folder is empty
    throw;
  }
}

}  // namespace headroom

#include "train/checkpoint.h"

#include <zlib.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "data/safetensors.h"
#include "train/unsharded.h"

namespace headroom {
namespace {

constexpr const char* kFormat = "headroom-checkpoint-1";
constexpr const char* kChecksum = "checksum";
constexpr std::string_view kStart = "step-", kEnding = ".safetensors";

// Covers names, types, bytes and all metadata except itself.
std::string checksum_of(const TensorFile& file) {
  uLong sum = crc32(0, nullptr, 0);
  auto add = [&](const void* data, std::size_t size) {
    sum = crc32_z(sum, static_cast<const Bytef*>(data), size);
  };
  auto add_text = [&](const std::string& text) { add(text.c_str(), text.size() + 1); };
  for (const auto& [name, value] : file.metadata)
    if (name != kChecksum) add_text(name), add_text(value);
  std::vector<const NamedTensor*> sorted;  // the order in a file may differ
  for (const NamedTensor& tensor : file.tensors) sorted.push_back(&tensor);
  std::ranges::sort(sorted, {}, [](const NamedTensor* tensor) { return tensor->name; });
  for (const NamedTensor* tensor : sorted) {
    add_text(tensor->name);
    add_text(fmt::format("{} {}", name_of(tensor->type.dtype), tensor->type.shape.str()));
    add(tensor->bytes.data(), tensor->bytes.size());
  }
  return fmt::format("{:08x}", sum);
}

std::vector<std::string> tensor_names(const Storage& storage) {
  std::vector<std::string> names = storage.names(Role::parameter);
  for (std::string& name : storage.names(Role::state)) names.push_back(std::move(name));
  return names;
}

// Lets resume() tell damage from other reasons to reject a file.
struct Damaged : Error {
  using Error::Error;
};

[[noreturn]] void damaged(const std::filesystem::path& path, std::string_view why) {
  throw Damaged(Blame::request, fmt::format("checkpoint {} is damaged: {}", path.string(), why),
                Hint{"resume from another one, or use `resume` auto: it takes the newest intact one"});
}

TensorFile read_checkpoint_file(const std::filesystem::path& path) {
  TensorFile file;
  try {
    file = read_safetensors(path);
  } catch (const Error& error) {
    if (!std::filesystem::exists(path)) throw;
    damaged(path, error.what());
  }
  // Checks the sum first: the wrong byte may be in the format's own name.
  const auto sum = file.metadata.find(kChecksum);
  const auto format = file.metadata.find("format");
  const bool ours = format != file.metadata.end() && format->second == kFormat;
  if (sum == file.metadata.end() ? ours : sum->second != checksum_of(file))
    damaged(path, "its checksum does not match its contents");
  if (!ours)
    reject(Hint{"use `weights` for a file of weights"}, "{} is not a headroom checkpoint", path.string());
  return file;
}

// What distinguishes two runs; empty if nothing does.
std::string differences_of(const RunIdentity& saved, const RunIdentity& now) {
  std::string differences;
  for (const auto& [what, value] : now) {
    const auto it = saved.find(what);
    const std::string before = it == saved.end() ? "nothing" : it->second;
    if (before == value) continue;
    const bool short_enough = before.size() + value.size() < 120;
    differences += fmt::format("{}its {} {}", differences.empty() ? "" : "; ", what,
                               short_enough ? fmt::format("is {}, not {}", before, value) : "differs");
  }
  return differences;
}

void require_same_run(const std::filesystem::path& path, const RunIdentity& saved, const RunIdentity& now) {
  if (const std::string differences = differences_of(saved, now); !differences.empty())
    reject(Hint{"give the options the run was started with, or another `checkpoint-dir`"},
           "checkpoint {} belongs to another run: {}", path.string(), differences);
}

void require_same_tensors(const std::filesystem::path& path, const TensorFile& file, const Engine& engine) {
  const std::vector<std::string> names = tensor_names(engine.storage());
  for (const NamedTensor& tensor : file.tensors) {
    if (!engine.storage().has(tensor.name))
      reject("checkpoint {} has a tensor '{}', which this run lacks", path.string(), tensor.name);
    if (unsharded_type(engine, tensor.name) != tensor.type)
      reject("checkpoint {}: tensor '{}' is {}, but this run needs {}", path.string(), tensor.name,
             tensor.type.shape.str(), unsharded_type(engine, tensor.name).shape.str());
  }
  if (file.tensors.size() != names.size())
    reject("checkpoint {} has {} tensors, but this run needs {}", path.string(), file.tensors.size(),
           names.size());
}

// From the header alone; nothing if it cannot be read.
std::optional<RunIdentity> identity_in(const std::filesystem::path& path) {
  try {
    return Json::parse(read_safetensors_metadata(path).at("identity")).get<RunIdentity>();
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::int64_t step_in(const std::filesystem::path& path) {
  return std::atoll(path.filename().string().substr(kStart.size()).c_str());
}

// With several ranks, all resume from the file the first rank found.
std::string told_by_first(const Engine& engine, std::string path) {
  if (engine.groups() == nullptr) return path;
  Communicator& world = engine.groups()->world();
  std::int64_t length = std::ssize(path);
  world.broadcast(&length, sizeof length);
  path.resize(static_cast<std::size_t>(length));
  world.broadcast(path.data(), path.size());
  return path;
}

}  // namespace

RunIdentity identity_of(const Engine& engine, const Dataset& data, const TrainOptions& o) {
  // Settings that most runs lack stay out of their checkpoints.
  const double smoothing = engine.options().label_smoothing;
  const std::string smoothed = smoothing > 0 ? fmt::format(" label-smoothing={}", smoothing) : "";
  const std::string parts = o.accumulate > 1 ? fmt::format(" in {} parts", o.accumulate) : "";
  return {{"model", to_json_text(engine.net())},
          {"data", data.name},
          {"number of training images", std::to_string(data.train.count())},
          {"batch", std::to_string(o.batch) + parts},
          {"seed", std::to_string(o.seed)},
          {"precision", std::string(name_of(engine.options().precision))},
          {"optimizer", to_text(engine.options().update) + smoothed},
          {"learning rate", fmt::format("{}", o.lr)},
          {"schedule", to_text(o.schedule, o.warmup, o.epochs)},
          {"shuffling", o.shuffle ? "on" : "off"},
          {"augmentation", fmt::format("crop={} flip={}", o.augment.crop, o.augment.flip)},
          {"pixels", fmt::format("({} x - {}) / {}", o.preprocess.scale, fmt::join(o.preprocess.mean, " "),
                                 fmt::join(o.preprocess.deviation, " "))}};
}

void write_checkpoint(const std::filesystem::path& path, const Engine& engine, const RunState& state,
                      const RunIdentity& identity) {
  TensorFile file;
  file.metadata = {
      {"format", kFormat}, {"identity", Json(identity).dump()}, {"state", to_json(state).dump()}};
  for (const std::string& name : tensor_names(engine.storage()))
    file.tensors.push_back({name, unsharded_type(engine, name), read_unsharded(engine, name)});
  if (!engine.is_first()) return;
  file.metadata[kChecksum] = checksum_of(file);
  write_safetensors(path, file);
}

RunState read_checkpoint(const std::filesystem::path& path, Engine& engine, const RunIdentity& identity) {
  const TensorFile file = read_checkpoint_file(path);
  RunState state;
  RunIdentity saved;
  try {
    saved = Json::parse(file.metadata.at("identity")).get<RunIdentity>();
    state = run_state_from(Json::parse(file.metadata.at("state")));
  } catch (const std::exception& error) {
    damaged(path, error.what());
  }
  require_same_run(path, saved, identity);
  require_same_tensors(path, file, engine);
  for (const NamedTensor& tensor : file.tensors)  // change nothing until everything fits
    write_unsharded(engine, tensor.name, tensor.bytes);
  return state;
}

CheckpointFolder::CheckpointFolder(std::filesystem::path folder, std::int64_t keep)
    : folder_(std::move(folder)), keep_(keep) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error || !std::filesystem::is_directory(folder_))
    reject("cannot make the checkpoint folder {}: {}", folder_.string(),
           error ? error.message() : "a file of that name exists");
}

std::vector<std::filesystem::path> CheckpointFolder::files(std::string_view ending) const {
  std::vector<std::filesystem::path> list;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kStart) && name.ends_with(ending)) list.push_back(entry.path());
  }
  std::ranges::sort(list, std::greater<>());
  return list;
}

std::filesystem::path CheckpointFolder::write(const Engine& engine, const RunState& state,
                                              const RunIdentity& identity) {
  const auto path = folder_ / fmt::format("{}{:012}{}", kStart, state.steps, kEnding);
  write_checkpoint(path, engine, state, identity);
  if (!engine.is_first()) return path;
  damaged_.erase(path);
  auto all = files(kEnding);
  std::erase_if(all, [&](const auto& file) { return damaged_.contains(file); });
  std::error_code ignored;  // one file too many must not stop a run
  for (std::size_t i = static_cast<std::size_t>(keep_); i < all.size(); ++i)
    std::filesystem::remove(all[i], ignored);
  return path;
}

void CheckpointFolder::require_own(const RunIdentity& identity, const RunState& start) {
  for (const auto& path : files(kEnding)) {
    if (damaged_.contains(path)) continue;
    const auto saved = identity_in(path);
    const std::string differences = saved ? differences_of(*saved, identity) : "";
    if (!differences.empty())
      reject(Hint{"name another `checkpoint-dir` for this run"},
             "the checkpoint folder {} belongs to another run: in {}, {}", folder_.string(),
             path.filename().string(), differences);
    if (step_in(path) > start.steps)
      reject(Hint{"add `resume` auto to continue that run, or name another `checkpoint-dir`"},
             "the checkpoint folder {} already holds a run up to step {}, but this run starts {}",
             folder_.string(), step_in(path),
             start.steps == 0 ? "from the beginning" : fmt::format("after step {}", start.steps));
    if (!saved) damaged_.insert(path);
  }
}

std::optional<RunState> CheckpointFolder::resume(Engine& engine, const RunIdentity& identity,
                                                 const std::function<void(const std::string&)>& warn) {
  if (!engine.is_first()) {
    const std::string chosen = told_by_first(engine, {});
    if (chosen.empty()) return std::nullopt;
    return read_checkpoint(chosen, engine, identity);
  }
  std::error_code ignored;
  for (const auto& part : files(".part")) std::filesystem::remove(part, ignored);  // left by a killed run
  for (const auto& path : files(kEnding)) try {
      const RunState state = read_checkpoint(path, engine, identity);
      told_by_first(engine, path.string());
      return state;
    } catch (const Damaged& error) {
      damaged_.insert(path);
      warn(error.what());
    }
  told_by_first(engine, {});
  return std::nullopt;
}

}  // namespace headroom

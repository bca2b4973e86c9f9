#include "cli/program_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "inject/records.h"
#include "profile/nvml_source.h"
#include "profile/proc_sources.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInjectionVariables[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"};

// Beside the program in a build, below its prefix when installed.
fs::path injection_library() {
  constexpr const char* kName = "libheadroom_inject.so";
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {folder / kName, folder.parent_path() / "lib" / "headroom" / kName})
    if (fs::exists(path, error)) return path;
  reject(Hint{"build headroom where the CUDA toolkit with CUPTI is"},
         "programs cannot be profiled: {} is neither beside headroom nor in ../lib/headroom", kName);
}

void reject_other_injections() {
  for (const char* name : kInjectionVariables)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      reject(Hint{fmt::format("unset {}, or profile with that library alone", name)},
             "{} is set to {}: another library would be loaded into the program", name, value);
}

// Python runs the file there when it starts.
void name_layers(const std::string& layers, const fs::path& library) {
  if (layers.empty()) return;
  const char* const before = std::getenv("PYTHONPATH");
  std::string folders = (library.parent_path() / "python").string();
  if (before != nullptr && *before != '\0') folders += fmt::format(":{}", before);
  ::setenv("PYTHONPATH", folders.c_str(), 1);
  ::setenv("HEADROOM_LAYERS", layers.c_str(), 1);
}

}  // namespace

ProcessFolder::ProcessFolder(const std::string& out, const char* name) {
  if (!out.empty()) {
    path_ = fs::absolute(out) / name;
    fs::remove_all(path_);
    fs::create_directories(path_);
    return;
  }
  path_ = temporary_.emplace().path();
}

InjectedProgram::InjectedProgram(std::vector<std::string> command, const std::string& layers)
    : command_(std::move(command)) {
  reject_other_injections();
  const fs::path library = injection_library();
  name_layers(layers, library);
  for (const char* name : kInjectionVariables) ::setenv(name, library.c_str(), 1);
}

EndedProgram InjectedProgram::run(const ProcessFolder& folder, std::int64_t sample_ms, Output output) const {
  ::setenv(inject::kFolderVariable, folder.path().c_str(), 1);
  const HeldSignals signals;
  EndedProgram ended;
  ended.begin_epoch_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  const int nowhere = output == Output::dropped ? ::open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
  const ChildStreams streams{.out = output == Output::to_error ? STDERR_FILENO : nowhere};
  ChildProcess child(command_, signals, false, streams);
  if (nowhere >= 0) ::close(nowhere);
  std::optional<MachineSampler> sampler;
  if (sample_ms > 0) {
    std::vector<std::unique_ptr<SampleSource>> sources;
    sources.push_back(machine_source());
    sources.push_back(nvml_source());
    sources.push_back(process_source(child.pid()));
    sampler.emplace(std::move(sources), double(sample_ms) / 1e3);
  }
  child.wait(signals, {});
  if (sampler) ended.samples = sampler->stop();
  ended.process = child.collect();
  return ended;
}

}  // namespace headroom::cli

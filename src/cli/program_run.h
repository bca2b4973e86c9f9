#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/child_process.h"
#include "cli/scratch_folder.h"
#include "profile/sampler.h"

namespace headroom::cli {

// Where the processes put their files: in the folder of the profile, else a temporary one.
class ProcessFolder {
 public:
  // `name` within the folder of the profile; what an earlier profile left there is removed.
  ProcessFolder(const std::string& out, const char* name);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::optional<ScratchFolder> temporary_;
  std::filesystem::path path_;
};

struct EndedProgram {
  EndedProcess process;
  std::optional<Samples> samples;
  std::int64_t begin_epoch_ns = 0;
};

// A program with our library in it. Environment variables tell the library what to do.
class InjectedProgram {
 public:
  // Rejects a build without the library, and an environment that names another one. `layers`: "torch", or
  // empty.
  InjectedProgram(std::vector<std::string> command, const std::string& layers);

  enum class Output { ours, to_error, dropped };  // where its standard output goes
  // `sample_ms`: between two samples of the machine; 0: none.
  EndedProgram run(const ProcessFolder& folder, std::int64_t sample_ms, Output output) const;

 private:
  std::vector<std::string> command_;
};

}  // namespace headroom::cli

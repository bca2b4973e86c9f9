#include "cli/machine_code.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/demangle.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/scratch_folder.h"
#include "report/machine_code.h"

namespace headroom::cli {
namespace {

constexpr const char* kTool = "cuobjdump";
constexpr int kBlockThreads = 256;  // of the block whose occupancy is shown

// On the PATH, or where the CUDA toolkit puts it.
std::filesystem::path find_tool() {
  const char* path = std::getenv("PATH");
  std::vector<std::string> folders = split(path != nullptr ? path : "", ':');
  folders.emplace_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders)
    if (const auto file = std::filesystem::path(folder) / kTool; ::access(file.c_str(), X_OK) == 0)
      return std::filesystem::absolute(file);  // it is called from another folder
  throw Error(Blame::run, fmt::format("the machine code cannot be read: there is no {}", kTool),
              Hint{"install the CUDA toolkit's binary utilities, or add their folder to PATH"});
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

// What a command prints.
std::string output_of(const std::vector<std::string>& words) {
  std::string command, text;
  for (const std::string& word : words) command += quoted(word) + " ";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen((command + "2>/dev/null").c_str(), "r"),
                                                   &::pclose);
  if (pipe == nullptr) fail("{} cannot be started", words[0]);
  char part[65536];
  for (std::size_t count = 0; (count = std::fread(part, 1, sizeof part, pipe.get())) > 0;)
    text.append(part, count);
  return text;
}

// What the tool prints about the parts of the program that hold these functions. Asked for functions by name
// it goes through all code for each of them, which takes minutes.
std::string machine_code_of(const std::string& tool, const std::string& program,
                            const std::vector<std::string>& names) {
  const ScratchFolder folder;
  output_of(
      {"sh", "-c", "cd \"$1\" && exec \"$2\" -xelf all \"$3\"", "sh", folder.path().string(), tool, program});
  std::string text;
  for (const auto& part : std::filesystem::directory_iterator(folder.path())) {
    const std::string code = read_file(part.path());
    const auto is_inside = [&](const std::string& name) { return code.find(name) != code.npos; };
    if (std::ranges::any_of(names, is_inside)) text += output_of({tool, "-sass", part.path().string()});
  }
  return text;
}

std::vector<KernelCode> kernels_named(std::vector<KernelCode> kernels, const std::string& part) {
  std::vector<std::string> names;
  for (const KernelCode& kernel : kernels) names.push_back(demangled(kernel.name.c_str()));
  std::vector<KernelCode> chosen;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (names[i].find(part) != std::string::npos) chosen.push_back(std::move(kernels[i]));
  if (chosen.empty() && !names.empty()) {
    std::vector<std::string> short_names;
    for (const std::string& name : names) short_names.push_back(name.substr(0, name.find_first_of("<(")));
    reject(nearest(part, short_names), "no kernel of this program has '{}' in its name", part);
  }
  return chosen;
}

}  // namespace

void describe_code(const Common& common, const std::string& part) {
  const std::string tool = find_tool(), program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<KernelCode> kernels =
      kernels_named(parse_resource_usage(output_of({tool, "-res-usage", program})), part);
  if (kernels.empty())
    throw Error(Blame::run, "this program holds no machine code of GPUs", Hint{"build it with CUDA"});
  std::vector<std::string> names;
  for (const KernelCode& kernel : kernels)
    if (std::ranges::find(names, kernel.name) == names.end()) names.push_back(kernel.name);
  add_instructions(kernels, machine_code_of(tool, program, names));
  const Sheet sheet = machine_code_sheet(kernels, kBlockThreads);
  if (common.json) return print_json({{"machine_code", sheet.objects()}, {"block_threads", kBlockThreads}});
  const TableView view = common.tables.view();
  print(
      sheet.text(view) + "\n" +
      paragraph(fmt::format(
                    "Occupancy is that of blocks of {} threads without dynamic shared memory; `--card` "
                    "shows that of a launch. Shares count instructions in the code, not how often they run.",
                    kBlockThreads),
                view));
}

}  // namespace headroom::cli

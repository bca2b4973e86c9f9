// The verb doctor: what this machine offers, what is missing, how to get it.
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/file.h"
#include "base/json.h"
#include "base/sheet.h"
#include "base/text.h"
#include "base/units.h"
#include "base/version.h"
#include "cli/doctor_cpu.h"
#include "cli/live_server.h"
#include "cli/options.h"
#include "cli/shared_libraries.h"
#include "cli/verbs.h"
#include "comm/world.h"
#include "data/download.h"
#include "data/image.h"
#include "data/known_datasets.h"
#include "device/cpu/levels.h"
#include "machine/machine.h"
#include "ops/cpu/blas.h"

#ifndef HEADROOM_CUDA_ARCHITECTURES  // set by cmake/cuda.cmake
#define HEADROOM_CUDA_ARCHITECTURES ""
#endif

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

// One line of the table. A missing part does not stop the program; the line says what needs it.
struct Check {
  std::string name;
  std::string state;  // "ok", "missing", or "poor" if it works worse than it could
  std::string details;
  std::string try_this;
};

class Doctor {
 public:
  explicit Doctor(std::string data_dir) : data_dir_(std::move(data_dir)), survey_(survey_gpus()) {
    processor();
    gpus();
    libraries();
    ranks();
    formats();
    data_sets();
    files();
  }

  const std::vector<Check>& checks() const { return checks_; }

  Json json() const {
    Json gpu_list = Json::array(), list = Json::array();
    for (const Capabilities& gpu : survey_.gpus)
      gpu_list.push_back({{"name", gpu.name},
                          {"memory_bytes", gpu.memory_bytes},
                          {"compute_capability", gpu.compute_capability},
                          {"multiprocessors", gpu.multiprocessors}});
    for (const Check& check : checks_) {
      list.push_back({{"name", check.name}, {"state", check.state}, {"details", check.details}});
      if (!check.try_this.empty()) list.back()["try"] = check.try_this;
    }
    return {{"version", version()},
            {"commit", commit()},
            {"cpu", cpu_json()},
            {"gpus", gpu_list},
            {"cuda",
             {{"built_in", !survey_.runtime.empty()},
              {"architectures", HEADROOM_CUDA_ARCHITECTURES},
              {"runtime", survey_.runtime},
              {"driver", survey_.driver}}},
            {"checks", list}};
  }

 private:
  void add(std::string name, bool fine, std::string details, std::string try_this = {},
           std::string otherwise = "missing") {
    checks_.push_back({std::move(name), fine ? "ok" : std::move(otherwise), std::move(details),
                       fine ? std::string() : std::move(try_this)});
  }

  void processor() {
    const Capabilities cpu = cpu_capabilities();
    add("processor", true,
        fmt::format("{}, {} thread{}, vectors of {} bits, {} of memory", cpu.name, cpu.threads,
                    cpu.threads == 1 ? "" : "s", 8 * cpu.vector_bytes,
                    human_bytes(static_cast<double>(cpu.memory_bytes))));
    add("instructions", true, instructions_text());
    add("CPU kernels", best_level_used(), cpu_levels_text(),
        fmt::format("kernels of level {} are faster here: unset HEADROOM_LEVEL, or build on this machine",
                    processor_level()),
        "poor");
    add("matrix products", true, products_text());
    add("matrix units", true, matrix_units_text());
    const std::string blas = blas_version();
    std::string capitals = blas;
    std::ranges::transform(capitals, capitals.begin(), [](unsigned char c) { return std::toupper(c); });
    add("OpenBLAS (cpu:blas)", capitals.find("OPENMP") != std::string::npos, blas,
        "install libopenblas-openmp-dev and build again: the threads of this one compete with ours", "poor");
  }

  void gpus() {
    const bool built = !survey_.runtime.empty();
    add("CUDA in this program", built,
        built ? fmt::format("toolkit {}, for compute capability {}", survey_.runtime,
                            HEADROOM_CUDA_ARCHITECTURES)
              : "built for CPUs only",
        "install the CUDA toolkit (nvcc) and build again");
    add("GPU driver", !survey_.driver.empty(),
        survey_.driver.empty() ? survey_.why_not : fmt::format("for CUDA {}", survey_.driver),
        survey_.try_this);
    if (survey_.gpus.empty()) return add("GPU", false, survey_.why_not, survey_.try_this);
    for (std::size_t i = 0; i < survey_.gpus.size(); ++i) {
      const Capabilities& gpu = survey_.gpus[i];
      add(fmt::format("GPU cuda:{}", i), built_for(gpu),
          fmt::format("{}, {} of memory, compute capability {}.{}, {} multiprocessors", gpu.name,
                      human_bytes(static_cast<double>(gpu.memory_bytes)), gpu.compute_capability / 10,
                      gpu.compute_capability % 10, gpu.multiprocessors),
          fmt::format("this program has no code for it: build with -DCMAKE_CUDA_ARCHITECTURES={}",
                      gpu.compute_capability));
    }
  }

  // Code for one capability runs on it and, translated by the driver, on later ones.
  static bool built_for(const Capabilities& gpu) {
    const std::vector<std::string> known = split(HEADROOM_CUDA_ARCHITECTURES, ' ');
    return std::ranges::any_of(known, [&](const std::string& text) {
      const int architecture = std::atoi(text.c_str());
      return architecture == 0 || architecture <= gpu.compute_capability;  // 0: "native", from CMake
    });
  }

  void libraries() {
    struct Wanted {
      const char* name;
      std::vector<std::string> files;
      const char* use;
      const char* from;
    };
    const std::vector<Wanted> all = {
        {"cuBLASLt",
         {"libcublasLt.so.13", "libcublasLt.so.12"},
         "matrix products",
         "it comes with the CUDA toolkit"},
        {"cuDNN",
         {"libcudnn.so.9"},
         "convolutions",
         "install NVIDIA's package libcudnn9-dev-cuda-13 and build again"},
        {"NCCL", {"libnccl.so.2"}, "several GPUs", "install NVIDIA's package libnccl2"},
        {"CUPTI",
         {"libcupti.so.13", "libcupti.so.12"},
         "times of kernels",
         "it comes with the CUDA toolkit: "
         "put its folder extras/CUPTI/lib64 into LD_LIBRARY_PATH"},
        {"NVML", {"libnvidia-ml.so.1"}, "clocks and power", "it comes with the driver"}};
    for (const Wanted& wanted : all) {
      std::string path;
      for (const std::string& file : wanted.files)
        if (path.empty()) path = find_shared_library(file);
      // Loading is slow, and proves something only if there is a GPU to use it.
      const std::string why = path.empty() || survey_.gpus.empty() ? "" : why_not_loaded(path);
      add(fmt::format("{} ({})", wanted.name, wanted.use), !path.empty() && why.empty(),
          path.empty()  ? fmt::format("no {}", wanted.files[0])
          : why.empty() ? path
                        : why,
          wanted.from);
    }
  }

  void ranks() {
    const MpiSurvey mpi = survey_mpi();
    const std::string mpirun = find_program("mpirun");
    const bool fine = mpi.why_not.empty() && !mpirun.empty();
    add("MPI (ranks)", fine,
        !mpi.why_not.empty() ? mpi.why_not
        : mpirun.empty()     ? mpi.version + ", but no mpirun"
                             : fmt::format("{}, {}{}", mpi.version, mpirun,
                                       launched_as_one_of_several() ? ", started by it" : ""),
        mpi.why_not.empty() ? "install openmpi-bin" : mpi.try_this);
  }

  static std::string find_program(const std::string& name) {
    const char* path = std::getenv("PATH");
    for (const std::string& folder : split(path == nullptr ? "" : path, ':'))
      if (const std::string file = folder + "/" + name; ::access(file.c_str(), X_OK) == 0) return file;
    return {};
  }

  void formats() {
    auto built = [&](const char* name, bool there, const char* package) {
      add(name, there, there ? "built in" : "built without",
          fmt::format("install {} and build again", package));
    };
    built("PNG pictures", has_png(), "libpng-dev");
    built("JPEG pictures", has_jpeg(), "libjpeg-dev");
    built("downloads", can_download(), "libcurl4-openssl-dev");
    built("live page", has_live_server(), "libcpp-httplib-dev");
  }

  void data_sets() {
    for (const DatasetInfo& info : known_datasets()) {
      const std::string name = "data set " + info.name;
      if (info.files == "embedded") {
        add(name, true, "drawn by the program itself");
      } else if (!info.folder.empty()) {
        const DatasetFiles files = find_dataset_files(info, data_dir_);
        const bool there = files.missing.empty();
        add(name, there, there ? files.folder.string() : files.missing,
            fmt::format("headroom data fetch {}, or set HEADROOM_DATA", info.name));
      }
    }
  }

  void files() {
    const fs::path cache = cache_dir();
    fs::path there = fs::absolute(cache);
    std::error_code error;
    while (!fs::exists(there, error) && there != there.parent_path()) there = there.parent_path();
    const bool writable = fs::is_directory(there, error) && ::access(there.c_str(), W_OK | X_OK) == 0;
    add("cache folder", writable,
        writable ? cache.string()
                 : fmt::format("{}: nothing can be written to {}", cache.string(), there.string()),
        "set HEADROOM_CACHE to a folder you can write to");
    for (const std::string name : {"here", "here-gpu"}) {
      if (name == "here-gpu" && survey_.gpus.empty()) continue;
      const bool measured = fs::exists(machine_file(name), error);
      add(fmt::format("machine '{}'", name), measured,
          measured ? machine_file(name).string() : "not measured yet", "headroom roofline");
    }
  }

  std::string data_dir_;
  GpuSurvey survey_;
  std::vector<Check> checks_;
};

void print_checks(const std::vector<Check>& checks, const TableView& view) {
  Sheet sheet("checks", {{.key = "name", .title = "what"},
                         {.key = "state", .title = "state", .left = true},
                         {.key = "details", .title = "details", .left = true, .wrap = true}});
  std::string advice;
  std::vector<std::string> given;  // one remedy may solve several
  for (const Check& check : checks) {
    sheet.row({check.name, check.state, check.details});
    if (check.try_this.empty() || std::ranges::find(given, check.try_this) != given.end()) continue;
    given.push_back(check.try_this);
    advice += fmt::format("  {}: {}\n", check.name, check.try_this);
  }
  print(sheet.text(view));
  print(advice.empty() ? "\nNothing is missing.\n" : "\nTo get what is missing:\n" + advice);
}

}  // namespace

void add_doctor(Command app) {
  struct State {
    Common common;
    std::string data_dir;
  };
  auto state = std::make_shared<State>();
  Command verb = app.verb("doctor", "what this machine offers, what is missing, how to get it");
  add_json(verb, state->common);
  add_table_options(verb, state->common.tables);
  verb.option("--data-dir", state->data_dir, "folder that holds mnist/ and so on; else $HEADROOM_DATA");
  verb.example("headroom doctor");
  verb.runs([state] {
    const Doctor doctor(state->data_dir);
    if (state->common.json) return print_json(doctor.json());
    print_checks(doctor.checks(), state->common.tables.view(true));
  });
}

}  // namespace headroom::cli

#pragma once

// This machine with made-up ceilings, so that no test measures it.

#include <cstdlib>

#include "base/testing/bad_input.h"
#include "device/device.h"
#include "machine/machine.h"

namespace headroom::testing {

class KnownMachine {
 public:
  explicit KnownMachine(int threads) {
    ::setenv("HEADROOM_CACHE", folder_.path().c_str(), 1);
    const Capabilities cpu = cpu_capabilities(threads);
    Machine here{.name = "here", .kind = "cpu", .measured = true, .cores = cpu.threads};
    here.title = fmt::format("{}, {} thread{}", cpu.name, cpu.threads, cpu.threads == 1 ? "" : "s");
    here.peak_flops = here.one_core_peak_flops = {{"fp32", 2e11}, {"fp64", 1e11}};
    here.levels = {{"L1", 1e5, 4e11, 2e11}, {"memory", 1e10, 2e10, 1e10}};
    here.launch.host_s = 1e-6;
    save_machine(here);
  }
  ~KnownMachine() { ::unsetenv("HEADROOM_CACHE"); }

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace headroom::testing

// The scripts of examples/slurm, with a fake srun that has two nodes: this one, twice.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/ranks.h"

namespace headroom::testing {
namespace {

const std::filesystem::path kScripts = std::filesystem::path(HEADROOM_SOURCE_DIR) / "examples/slurm";

struct ExamplesSlurm : ProgramTest {
  Outcome run(const std::string& name, int ranks, const std::string& epochs) const {
    put("bin/srun", fmt::format("#!/bin/sh\n[ \"$1\" != --mpi=pmix ] || shift\n"
                                "exec {} --oversubscribe --bind-to none -n {} \"$@\" --threads 1\n",
                                mpirun_path(), ranks));
    std::filesystem::permissions(file("bin/srun"), std::filesystem::perms::owner_all);
    return finish(start_any({(kScripts / (name + ".sh")).string()},
                            {{"PATH", fmt::format("{}:{}", file("bin").string(), std::getenv("PATH"))},
                             {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                             {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                             {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
                             {"OMPI_MCA_mpi_yield_when_idle", "1"},
                             {"HEADROOM", HEADROOM_PROGRAM},
                             {"DEVICE", "cpu"},
                             {"SIZE", "4096"},
                             {"EPOCHS", epochs}}));
  }
};

TEST_F(ExamplesSlurm, TrainAndGoOnWhenSubmittedAgain) {
  if (const std::string why = why_no_ranks(); !why.empty()) GTEST_SKIP() << why;
  know_machine(1);
  for (const auto& [name, ranks] : {std::pair("one-gpu", 1), {"one-node", 2}, {"many-nodes", 2}}) {
    SCOPED_TRACE(name);
    const Outcome first = run(name, ranks, "1"), again = run(name, ranks, "2");
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(first.err.find("resuming"), std::string::npos);
    EXPECT_NE(again.err.find("resuming after step"), std::string::npos) << again.err;
    EXPECT_EQ(Json::parse(read_file(file(fmt::format("{}.json", name)))).contains("ranks"), ranks > 1);
  }
}

TEST_F(ExamplesSlurm, EveryScriptIsListed) {
  const std::string readme = read_file(kScripts / "README.md");
  for (const auto& entry : std::filesystem::directory_iterator(kScripts))
    if (const std::string name = entry.path().filename(); name != "README.md") {
      EXPECT_NE(readme.find("(" + name + ")"), std::string::npos) << name;
    }
}

}  // namespace
}  // namespace headroom::testing

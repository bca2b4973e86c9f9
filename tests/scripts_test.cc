// The scripts that share work among processes.
#include <map>
#include <sstream>

#include "support/program.h"

namespace headroom::testing {
namespace {

class TestGroups : public ProgramTest {
 protected:
  const std::string tests_ = std::filesystem::read_symlink("/proc/self/exe").string();

  Outcome groups_of(const std::string& filter) const {
    return finish(start_any({HEADROOM_SOURCE_DIR "/scripts/test-groups", filter, tests_}, {}));
  }

  // Tests by name, each with the share of its cases that the groups run.
  std::map<std::string, double> shares(const std::string& filter) const {
    std::map<std::string, double> all;
    std::istringstream lines(groups_of(filter).out);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t space = line.find(' '), slash = line.find('/');
      const double share = line.starts_with("-") ? 1 : 1.0 / std::stod(line.substr(slash + 1, space - slash));
      std::istringstream names(line.substr(space + 1));
      for (std::string name; std::getline(names, name, ':');) all[name] += share;
    }
    return all;
  }
};

// awk differs between systems: a program that one of them refuses would leave every test out.
TEST_F(TestGroups, EveryTestIsInOneGroupOrInAllPartsOfIt) {
  const std::string filter = "*Kernels*:TestGroups*";
  const auto all = shares(filter);
  std::istringstream lines(
      finish(start_any({tests_, "--gtest_list_tests", "--gtest_filter=" + filter}, {})).out);
  std::size_t listed = 0;
  for (std::string line, suite; std::getline(lines, line);) {
    if (!line.starts_with(' ')) {
      suite = line.substr(0, line.find(' '));
      continue;
    }
    const std::string name = suite + line.substr(2, line.find(' ', 2) - 2);
    ++listed;
    ASSERT_TRUE(all.contains(name)) << name;
    EXPECT_DOUBLE_EQ(all.at(name), 1) << name;
  }
  EXPECT_GT(listed, 100u);
  EXPECT_EQ(all.size(), listed);
}

TEST_F(TestGroups, AFilterWithoutTestsIsAnError) {
  const Outcome outcome = groups_of("*NoTestHasThisName*");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("has no test of the filter"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace headroom::testing

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "device/cpu/extension_names.h"

namespace headroom {
namespace {

// The kernel writes "sse4_2", "avx512_vnni" and "bmi1".
std::string letters_of(std::string name) {
  if (name == "bmi1") return "bmi";
  std::erase_if(name, [](char c) { return c == '.' || c == '_'; });
  return name;
}

std::set<std::string> flags_of_the_kernel() {
  std::ifstream info("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; flags.empty() && std::getline(info, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(letters_of(word));
  }
  return flags;
}

TEST(Extensions, OfTheProcessorAreThoseTheKernelNames) {
  const std::set<std::string> flags = flags_of_the_kernel();
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo names no extensions";
  const std::vector<std::string> here = extension_names(processor_extensions());
  for (const std::string name : kExtensions)
    EXPECT_EQ(std::ranges::count(here, name) == 1, flags.contains(letters_of(name))) << name;
}

TEST(Extensions, OfTheProgramAreThoseOfTheCompiler) {
  const std::vector<std::string> used = extension_names(program_extensions);
  const auto has = [&](const char* name) { return std::ranges::count(used, name) == 1; };
#if defined(__x86_64__)
#ifdef __AVX2__
  EXPECT_TRUE(has("avx2"));
#else
  EXPECT_FALSE(has("avx2"));
#endif
#ifdef __AVX512F__
  EXPECT_TRUE(has("avx512f"));
#else
  EXPECT_FALSE(has("avx512f"));
#endif
#endif
  EXPECT_FALSE(has("none"));
}

TEST(Extensions, ThisProgramRunsHere) {
  EXPECT_EQ(program_extensions & ~processor_extensions(), 0U)
      << "it would have been refused, or ended by a signal";
}

}  // namespace
}  // namespace headroom

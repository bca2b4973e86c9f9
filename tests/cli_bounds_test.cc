// Inputs without an end: the program says at once what is wrong, instead of filling the memory or waiting.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "data/gzip.h"
#include "support/program.h"
#include "support/small_data.h"

namespace headroom::testing {
namespace {

struct CliBounds : ProgramTest {
  // Refused within seconds; nobody should have to look for --batch.
  void expect_bounded(const Words& args, const Words& parts, const Environment& more = {}) const {
    const auto start = std::chrono::steady_clock::now();
    expect_refused(args, parts, more);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 20) << fmt::format("{}", fmt::join(args, " "));
    EXPECT_EQ(read_file(err_).find("--batch"), std::string::npos) << read_file(err_);
  }
  // A file that announces its size without having it.
  void make_sparse(const std::string& name, std::int64_t bytes) const {
    put(name, "");
    std::filesystem::resize_file(file(name), static_cast<std::uintmax_t>(bytes));
  }
};

constexpr std::int64_t kHuge = std::int64_t{8} << 40;

TEST_F(CliBounds, DevicesAreNoWeights) {
  for (const char* verb : {"eval", "train"})
    expect_bounded({verb, "mlp", "--weights", "/dev/zero"}, {"/dev/zero", "not a regular file"});
  expect_bounded({"eval", "ece408", "--weights", "/dev/zero.params"}, {"/dev/zero.params"});
  std::filesystem::create_symlink("/dev/zero", file("z.params"));
  expect_bounded({"eval", "ece408", "--weights", "z.params"}, {"z.params", "device"});
  expect_bounded({"train", "mlp", "--resume", "/dev/zero"}, {"/dev/zero", "not a regular file"});
}

TEST_F(CliBounds, DevicesAreNoText) {
  expect_bounded({"train", "gpt2:size=tiny", "--data", "text:/dev/zero"}, {"/dev/zero", "device"});
  expect_bounded({"train", "/dev/zero"}, {"/dev/zero", "device"});
}

TEST_F(CliBounds, SparseFilesOfTerabytesAreRefused) {
  make_sparse("huge", kHuge);
  expect_bounded({"train", "gpt2:size=tiny", "--data", "text:huge"}, {"huge", "memory"});
  expect_bounded({"eval", "mlp", "--weights", "huge"}, {"huge"});
}

TEST_F(CliBounds, AnEndlessPipeIsCutOff) {
  const Outcome outcome = run_shell("yes | \"$0\" train gpt2:size=tiny --data text:/dev/stdin");
  EXPECT_EQ(outcome.code, 2);
  for (const char* part : {"/dev/stdin", "limit for pipes"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

TEST_F(CliBounds, ATextMayComeThroughAPipe) {
  const Outcome outcome = run_shell(
      "seq 3000 | \"$0\" train gpt2:size=tiny,depth=1,width=16,heads=1,context=16 --data text:/dev/stdin "
      "--train-size 64 --test-size 8 --epochs 1");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(CliBounds, APipeAmongPicturesIsNamed) {
  put("pictures/a/1.png", "x");
  ASSERT_EQ(::mkfifo(file("pictures/a/2.png").c_str(), 0600), 0);
  expect_bounded({"train", "lenet5", "--data", "images:pictures"}, {"pictures/a/2.png", "regular file"});
}

TEST_F(CliBounds, SmallFilesThatInflateToGigabytesAreRefused) {
  auto files = idx_files(make_glyphs({.train = 64, .test = 32}));
  const std::string zeros(std::size_t{1} << 28, '\0');
  auto expect_bomb = [&](const std::string& bytes, const Words& parts) {
    for (const auto& [name, good] : files) put("mnist/" + name + ".gz", gzip(good));
    std::string bomb = gzip(bytes);
    const std::string more = gzip(zeros);
    for (int i = 0; i < 40; ++i) bomb += more;  // members follow each other: 10 GB in all
    put("mnist/train-images-idx3-ubyte.gz", bomb);
    expect_bounded({"train", "mlp", "--data", "mnist", "--data-dir", folder().string()}, parts);
  };
  expect_bomb(files.at("train-images-idx3-ubyte"), {"train-images-idx3-ubyte.gz", "inflates to more than"});
  expect_bomb(std::string(16, '\0'), {"train-images-idx3-ubyte.gz", "0x00000000"});
  expect_bomb(big_endian(0x803) + big_endian(99'999'999) + big_endian(16384) + big_endian(16384),
              {"train-images-idx3-ubyte.gz", "announces", "memory"});

  std::string cifar = gzip(zeros);
  for (int i = 0; i < 5; ++i) cifar += cifar;
  put("cifar.bin.gz", cifar);
  expect_bounded({"train", "lenet5", "--data", "cifar10:cifar.bin.gz"}, {"cifar.bin.gz", "inflates to more"});
}

TEST_F(CliBounds, NetworksOfAbsurdDepthAreRefused) {
  for (const Words& words : {Words{"train", "gpt2:depth=100000", "--data", "text:t"},
                             {"model", "show", "gpt2:depth=100000"},
                             {"predict", "gpt2:depth=16000000", "--machine", "h200"},
                             {"model", "show", "vit:depth=100000"}})
    expect_bounded(words, {"more than 20000 layers", "depth"});
}

}  // namespace
}  // namespace headroom::testing

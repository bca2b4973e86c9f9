#include "data/gzip.h"

#include <gtest/gtest.h>

#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

constexpr std::int64_t kPlenty = 1 << 26;

std::string sample(std::size_t n) {
  std::string text;
  for (std::size_t i = 0; text.size() < n; ++i) text += fmt::format("{} ", i * 2654435761u % 1000);
  text.resize(n);
  return text;
}

// "hello\n" as the gzip program writes it (gzip -n), so that the reader is not only tested on our own output.
const std::string kHello(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\x00\x20\x30\x3a\x36\x06\x00\x00"
    "\x00",
    26);

TEST(Gzip, ReadsWhatTheGzipProgramWrote) { EXPECT_EQ(gunzip(kHello, "hello.gz", kPlenty), "hello\n"); }

TEST(Gzip, RoundTripsAnySize) {
  for (std::size_t n : {0, 1, 17, 4096, 100'000, 3'000'000}) {
    const std::string text = sample(n);
    EXPECT_EQ(gunzip(gzip(text), "x", kPlenty), text);
  }
}

TEST(Gzip, JoinsMembers) {
  EXPECT_EQ(gunzip(kHello + gzip(sample(50'000)) + kHello, "x", kPlenty),
            "hello\n" + sample(50'000) + "hello\n");
}

TEST(Gzip, RejectsEveryTruncation) {
  const std::string whole = gzip(sample(3000));
  for (std::size_t n = 2; n < whole.size(); ++n)
    expect_rejected([&] { gunzip(whole.substr(0, n), "cut.gz", kPlenty); }, {"cut.gz", "truncated"});
}

TEST(Gzip, RejectsEveryFlippedByteOfTheData) {
  const std::string whole = gzip(sample(300));
  for (std::size_t i = 10; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    expect_rejected([&] { gunzip(bad, "bad.gz", kPlenty); }, {"bad.gz"});
  }
}

TEST(Gzip, SaysCorruptWhenTheChecksumDiffers) {
  std::string bad = kHello;
  bad[18] = static_cast<char>(bad[18] + 1);
  expect_rejected([&] { gunzip(bad, "bad.gz", kPlenty); }, {"bad.gz", "corrupt"});
}

TEST(Gzip, RejectsWhatIsNotGzipAndWhatFollows) {
  expect_rejected([] { gunzip("hello", "plain", kPlenty); }, {"plain", "not a gzip file"});
  expect_rejected([] { gunzip("", "empty", kPlenty); }, {"empty", "not a gzip file"});
  expect_rejected([] { gunzip(kHello + "tail", "x.gz", kPlenty); }, {"x.gz", "4 bytes after the end"});
}

TEST(Gzip, StopsAtTheLimit) {
  const std::string bomb = gzip(std::string(2'000'000, '\0'));
  expect_rejected([&] { gunzip(bomb, "bomb.gz", 1'000'000); }, {"bomb.gz", "more than"});
  EXPECT_EQ(gunzip(bomb, "bomb.gz", 2'000'000).size(), 2'000'000u);
}

}  // namespace
}  // namespace headroom::testing

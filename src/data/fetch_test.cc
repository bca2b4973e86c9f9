#include "data/fetch.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "data/gzip.h"
#include "data/md5.h"
#include "data/tar.h"
#include "data/testing/bad_input.h"
#include "data/testing/http_server.h"
#include "data/testing/tar_file.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

TEST(Md5, AgreesWithTheStandard) {
  EXPECT_EQ(md5(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(md5("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
  EXPECT_EQ(md5(std::string(55, 'a')), "ef1772b6dff9a122358552954ad0df65");
  EXPECT_EQ(md5(std::string(64, 'a')), "014842d480b571495a4a0363793f7367");
  const TemporaryFolder folder;
  EXPECT_EQ(md5_of_file(folder.put("f", std::string(3 << 20, 'x'))), md5(std::string(3 << 20, 'x')));
  expect_rejected([] { md5_of_file("/nowhere/at/all"); }, {"/nowhere/at/all"});
}

TEST(Tar, HandsOutItsFiles) {
  const std::string archive = tar_entry("d/", "", '5') + tar_entry("d/a", "some") +
                              tar_entry("d/b", std::string(600, 'b')) + tar_end();
  const auto entries = read_tar(archive, "t");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "d/a");
  EXPECT_EQ(entries[0].bytes, "some");
  EXPECT_EQ(entries[1].bytes, std::string(600, 'b'));
}

TEST(Tar, RejectsDamage) {
  const std::string whole = tar_entry("a", std::string(600, 'b')) + tar_end();
  for (const std::size_t length : {0, 100, 512, 700, 1536})
    expect_rejected([&] { read_tar(whole.substr(0, length), "t"); }, {"t is a truncated archive"});
  std::string changed = whole;
  changed[3] = 'x';
  expect_rejected([&] { read_tar(changed, "t"); }, {"t is not a tar archive", "byte 0"});
  expect_rejected([&] { read_tar(std::string(2000, 'x'), "t"); }, {"not a tar archive"});
}

struct Seen final : FetchObserver {
  Strings present, started, done;
  std::int64_t resumed_at = 0, last = 0;
  void on_present(const std::string& file) override { present.push_back(fs::path(file).filename()); }
  void on_start(const std::string& url, std::int64_t at) override { started.push_back(url), resumed_at = at; }
  void on_bytes(std::int64_t bytes, std::int64_t) override { last = bytes; }
  void on_done(const std::string& file) override { done.push_back(fs::path(file).filename()); }
};

class Fetch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_download()) GTEST_SKIP() << "built without libcurl";
    ::setenv("no_proxy", "127.0.0.1", 1);
  }
  FetchPlan plan() const {
    return {"mnist", server_.address(), folder(), {{"a.gz", md5(a_)}, {"b.gz", md5(b_)}}, {}};
  }
  fs::path folder() const { return temporary_.path() / "sets/mnist"; }
  bool is_there(const std::string& name) const { return fs::exists(folder() / name); }

  // Must fail with Blame::run; every part must appear in message or hint.
  void expect_failure(const FetchPlan& plan, const Strings& parts) const {
    Seen seen;
    try {
      fetch(plan, seen);
      ADD_FAILURE() << "was fetched";
    } catch (const Error& e) {
      EXPECT_EQ(e.blame(), Blame::run) << e.what();
      const std::string said = std::string(e.what()) + "\n" + e.hint();
      for (const std::string& part : parts) EXPECT_NE(said.find(part), std::string::npos) << said;
    }
  }

  const std::string a_ = std::string(300'000, 'a') + "end of a", b_ = "short";
  TemporaryFolder temporary_;
  HttpServer server_{{{"a.gz", a_}, {"b.gz", b_}}};
};

TEST_F(Fetch, BringsEveryFileOnce) {
  Seen first, again;
  fetch(plan(), first);
  EXPECT_EQ(read_file(folder() / "a.gz"), a_);
  EXPECT_EQ(read_file(folder() / "b.gz"), b_);
  EXPECT_EQ(first.done, (Strings{"a.gz", "b.gz"}));
  EXPECT_FALSE(is_there("a.gz.part"));
  fetch(plan(), again);
  EXPECT_EQ(again.present, (Strings{"a.gz", "b.gz"}));
  EXPECT_EQ(server_.requests(), (Strings{"a.gz", "b.gz"}));
}

TEST_F(Fetch, GoesOnAfterACut) {
  server_.cut_after = 100'000;
  expect_failure(plan(), {"a.gz could not be fetched", "run it again", "`mirror`", folder().string()});
  EXPECT_FALSE(is_there("a.gz"));
  ASSERT_TRUE(is_there("a.gz.part"));
  EXPECT_EQ(fs::file_size(folder() / "a.gz.part"), 100'000u);
  Seen seen;
  fetch(plan(), seen);
  EXPECT_EQ(server_.requests(), (Strings{"a.gz", "a.gz from 100000", "b.gz"}));
  EXPECT_EQ(read_file(folder() / "a.gz"), a_);
}

TEST_F(Fetch, BeginsAgainWhereTheServerDoesNoRanges) {
  temporary_.put("sets/mnist/a.gz.part", a_.substr(0, 5000));
  server_.no_ranges = true;
  Seen seen;
  fetch(plan(), seen);
  EXPECT_EQ(read_file(folder() / "a.gz"), a_);
}

TEST_F(Fetch, TakesAPartThatWasWhole) {
  temporary_.put("sets/mnist/a.gz.part", a_);
  Seen seen;
  fetch(plan(), seen);
  EXPECT_EQ(read_file(folder() / "a.gz"), a_);
}

TEST_F(Fetch, ReplacesADamagedFile) {
  temporary_.put("sets/mnist/b.gz", "wrong");
  Seen seen;
  fetch(plan(), seen);
  EXPECT_EQ(read_file(folder() / "b.gz"), b_);
}

TEST_F(Fetch, RemovesWhatHasAWrongChecksum) {
  FetchPlan wrong = plan();
  wrong.files[1].md5 = md5("something else");
  expect_failure(wrong, {"b.gz", md5(b_), md5("something else"), "removed", "`mirror`"});
  EXPECT_TRUE(is_there("a.gz"));
  EXPECT_FALSE(is_there("b.gz"));
  EXPECT_FALSE(is_there("b.gz.part"));
}

TEST_F(Fetch, SaysWhatTheServerAnswered) {
  FetchPlan missing = plan();
  missing.files = {{"c.gz", md5("")}};
  expect_failure(missing, {"c.gz was refused: the server answers 404", "by hand"});
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(Fetch, WithoutAServerSaysWhatToDoByHand) {
  FetchPlan nowhere = plan();
  nowhere.mirror = "http://127.0.0.1:1/";
  expect_failure(nowhere, {"http://127.0.0.1:1/a.gz could not be fetched", "by hand", folder().string()});
  EXPECT_FALSE(fs::exists(folder()));
  nowhere.mirror = "ftp://127.0.0.1/";
  Seen seen;
  expect_rejected([&] { fetch(nowhere, seen); }, {"not a download address"});
}

TEST_F(Fetch, UnpacksAnArchiveAndRemovesIt) {
  const std::string archive =
      gzip(tar_entry("inner/", "", '5') + tar_entry("inner/readme", "x") + tar_entry("inner/one.bin", "1") +
           tar_entry("../two.bin", "22") + tar_end());
  const HttpServer server({{"all.tar.gz", archive}});
  FetchPlan packed{
      "cifar10", server.address(), folder(), {{"all.tar.gz", md5(archive)}}, {"one.bin", "two.bin"}};
  Seen seen, again;
  fetch(packed, seen);
  EXPECT_EQ(read_file(folder() / "one.bin"), "1");
  EXPECT_EQ(read_file(folder() / "two.bin"), "22");
  EXPECT_FALSE(is_there("all.tar.gz"));
  EXPECT_FALSE(is_there("readme"));
  fetch(packed, again);
  EXPECT_EQ(again.present, (Strings{"one.bin", "two.bin"}));
  packed.members.push_back("three.bin");
  expect_failure(packed, {"does not hold three.bin"});
}

TEST(FetchPlan, IsKnownForThePublicSets) {
  EXPECT_EQ(fetchable_datasets(), (Strings{"mnist", "fashion-mnist", "cifar10"}));
  const FetchPlan plan = fetch_plan("cifar10", "some/where", "http://h/x");
  EXPECT_EQ(plan.mirror, "http://h/x/");
  EXPECT_EQ(plan.folder, fs::path("some/where/cifar-10"));
  EXPECT_EQ(plan.members.size(), 6u);
  EXPECT_TRUE(fetch_plan("mnist", "d", "").mirror.starts_with("https://"));
  expect_rejected([] { fetch_plan("glyphs", "", ""); }, {"'glyphs'"});
}

}  // namespace
}  // namespace headroom::testing

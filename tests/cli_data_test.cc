// Data from the command line: list, fetch, make, and the options that prepare images.
#include <gtest/gtest.h>

#include "base/json.h"
#include "data/download.h"
#include "data/gzip.h"
#include "data/image.h"
#include "data/mxnet_params.h"
#include "data/testing/http_server.h"
#include "data/testing/pictures.h"
#include "support/program.h"
#include "support/small_data.h"

namespace headroom::testing {
namespace {

const Environment kDirect = {{"no_proxy", "127.0.0.1"}};

std::string cifar_records(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i)
    bytes += static_cast<char>(i % 10) + std::string(3072, static_cast<char>(i % 10 * 25));
  return bytes;
}

struct CliDataVerb : ProgramTest {
  Words fetch(const std::string& name, const std::string& mirror) const {
    return {"data", "fetch", name, "--data-dir", folder().string(), "--mirror", mirror};
  }
};

TEST_F(CliDataVerb, ListTellsWhatIsHereAndWhatIsMissing) {
  const Dataset digits = make_glyphs({.train = 20, .test = 10});
  for (const auto& [name, bytes] : idx_files(digits)) put("mnist/" + name, bytes);
  const Json all = succeed_json({"data", "list", "--data-dir", folder().string()}).at("data_sets");
  std::map<std::string, Json> by_name;
  for (const Json& item : all) by_name[item.at("data")] = item;
  EXPECT_EQ(by_name.at("mnist").at("state"), "found");
  EXPECT_EQ(by_name.at("mnist").at("where"), file("mnist").string());
  EXPECT_EQ(by_name.at("mnist").at("classes"), 10);
  EXPECT_EQ(by_name.at("cifar10").at("state"), "missing");
  EXPECT_EQ(by_name.at("cifar10").at("image"), Json({3, 32, 32}));
  EXPECT_EQ(by_name.at("glyphs").at("state"), "embedded");
  EXPECT_EQ(by_name.at("images").at("state"), "named");
  const std::string text = succeed({"data", "list", "--wide"}).out;
  for (const char* word : {"60,000", "3x32x32", "there is no folder"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
}

TEST_F(CliDataVerb, MadeGlyphsAreReadBack) {
  for (const bool zipped : {false, true}) {
    const std::string dir = zipped ? "zipped" : "plain";
    Words words = {"data", "make", "glyphs", dir, "--train-size", "64", "--test-size", "32", "--seed", "3"};
    if (zipped) words.push_back("--gzip");
    EXPECT_EQ(succeed_json(words).at("train"), 64);
    EXPECT_TRUE(std::filesystem::exists(file(dir + "/t10k-labels-idx1-ubyte" + (zipped ? ".gz" : ""))));
    const Dataset read = load_dataset("idx:" + file(dir).string(), {});
    EXPECT_EQ(read.train.pixels, make_glyphs({.train = 64, .test = 32, .seed = 3}).train.pixels);
    EXPECT_EQ(read.classes, 10);
    succeed({"train", "mlp:hidden=8", "--data", "idx:" + dir, "--batch", "32"});
  }
  expect_refused({"data", "make", "glyphs", "plain", "--gzip", "--train-size", "2", "--test-size", "2"},
                 {"plain/train-images-idx3-ubyte", "already exists"});
}

TEST_F(CliDataVerb, MakeRefusesWhatItCannotMake) {
  expect_refused({"data", "make", "mnist", "d"}, {"'mnist' cannot be made", "headroom data make glyphs"});
  expect_refused({"data", "make", "glyphs", "d", "--train-size", "0"}, {"--train-size is 0"});
  expect_refused({"data", "make", "glyphs", "d", "--train-size", "2", "--image-size", "5"}, {"5"});
  expect_refused({"data", "make", "glyphs", "d", "--train-size", "99999999999"}, {"would take"});
  put("file", "");
  expect_refused({"data", "make", "glyphs", "file/d", "--train-size", "2", "--test-size", "2"},
                 {"cannot make"});
  expect_refused({"data", "make", "glyphs"}, {"folder"});
}

TEST_F(CliDataVerb, FetchFailsInOneSentence) {
  expect_refused(fetch("minst", "http://127.0.0.1:1/"), {"'minst'", "did you mean 'mnist'?"});
  expect_refused(fetch("glyphs", "http://127.0.0.1:1/"), {"'glyphs'"});
  if (!can_download())
    return expect_stopped(1, fetch("mnist", "http://127.0.0.1:1/"), {"libcurl4-openssl-dev"});
  expect_stopped(1, fetch("mnist", "http://127.0.0.1:1/"), {"could not be fetched", "by hand"}, kDirect);
  const std::map<std::string, std::string> files = {{"train-images-idx3-ubyte.gz", "not these"}};
  const HttpServer server(files);
  expect_stopped(1, fetch("mnist", server.address()),
                 {"checksum", "f68b3c2dcbeaaa9fbdd348bbdeb94873", "removed"}, kDirect);
  expect_stopped(1, fetch("cifar10", server.address()), {"404", "cifar-10-binary.tar.gz", "unpack"}, kDirect);
  expect_refused(fetch("mnist", "gopher://x"), {"not a download address"});
}

TEST_F(CliDataVerb, FetchBringsWhatTrainingReads) {
  const char* named = std::getenv("HEADROOM_DATA");
  const std::filesystem::path dir =
      (named != nullptr ? named : std::filesystem::path(HEADROOM_SOURCE_DIR) / "../shared/data") / "mnist";
  if (!std::filesystem::exists(dir / "t10k-images-idx3-ubyte.gz"))
    GTEST_SKIP() << "no published files in " << dir;
  if (!can_download()) GTEST_SKIP() << "built without libcurl";
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    files[entry.path().filename()] = read_file(entry.path());
  const HttpServer server(files);
  const Outcome outcome = succeed(fetch("mnist", server.address()), kDirect);
  EXPECT_NE(outcome.out.find(file("mnist").string()), std::string::npos) << outcome.out;
  EXPECT_EQ(load_dataset("mnist", {.dir = folder()}).train.count(), 60000);
}

struct CliImages : ProgramTest {
  Words train(const Words& more, const std::string& net = "net.json") const {
    Words words = {"train", net, "--batch", "8", "--epochs", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void put_net(std::int64_t channels, std::int64_t rows, std::int64_t columns, int classes) const {
    put("net.json", fmt::format(R"({{"input": [{}, {}, {}], "layers": [{{"type": "flatten"}},
        {{"type": "linear", "units": {}}}]}})",
                                channels, rows, columns, classes));
  }
};

TEST_F(CliImages, CifarRecordsTrainWithEverythingOn) {
  put("some.bin.gz", gzip(cifar_records(100)));
  put_net(3, 32, 32, 10);
  const Words options = {"--data", "cifar10:some.bin.gz", "--augment", "crop:2,flip", "--lr", "0.001"};
  Words two = options;
  two.insert(two.end(), {"--loader-threads", "2"});
  EXPECT_EQ(succeed_json(train(options)).at("loss"), succeed_json(train(two)).at("loss"));
  put_net(3, 16, 24, 10);
  succeed(train(
      {"--data", "cifar10:some.bin.gz", "--image-size", "16x24", "--resize", "zero", "--pixels", "scaled"}));
  expect_refused(train({"--data", "cifar10:some.bin.gz"}), {"3x32x32", "3x16x24", "--image-size"});
}

TEST_F(CliImages, DamagedCifarIsNamed) {
  put_net(3, 32, 32, 10);
  put("cut.bin", cifar_records(3).substr(0, 5000));
  expect_refused(train({"--data", "cifar10:cut.bin"}),
                 {"cut.bin", "1 records of 3073", "1927 bytes more", "binary"});
  std::string wrong = cifar_records(30);
  wrong[7 * 3073] = 11;
  put("wrong.bin", wrong);
  expect_refused(train({"--data", "cifar10:wrong.bin"}), {"record 7 of wrong.bin", "label 11"});
  expect_refused(train({"--data", "cifar10:none.bin"}), {"none.bin"});
}

TEST_F(CliImages, FoldersTrain) {
  put_net(1, 6, 6, 2);
  for (int i = 0; i < 20; ++i) {
    put(fmt::format("set/a/{:02}.png", i), grey_png(6, 6, 20));
    put(fmt::format("set/b/{:02}.png", i), grey_png(6, 6, 220));
  }
  if (!can_decode(ImageFormat::png)) return expect_refused(train({"--data", "images:set"}), {"libpng-dev"});
  EXPECT_EQ(succeed_json(train({"--data", "images:set", "--lr", "0.1"})).at("accuracy").at("test"), 1.0);
  put("set/b/07.png", grey_png(6, 6, 9).substr(0, 55));
  expect_refused(train({"--data", "images:set"}), {"set/b/07.png", "damaged PNG"});
  put("set/b/07.png", grey_png(6, 7, 9));
  expect_refused(train({"--data", "images:set"}), {"set/b/07.png", "6x7", "--image-size"});
  std::filesystem::create_directories(file("set/c"));
  expect_refused(train({"--data", "images:set"}), {"set/c", "empty"});
  expect_refused(train({"--data", "images:other"}), {"other"});
}

TEST_F(CliImages, WrongOptionsAreRefused) {
  auto with = [&](const char* option, const char* value) { return train({option, value}, "mlp:hidden=8"); };
  expect_refused(with("--augment", "crop,flop"), {"'flop'", "did you mean 'flip'?"});
  expect_refused(with("--augment", "crop:-1"), {"crop:-1"});
  expect_refused(with("--image-size", "0"), {"--image-size is '0'"});
  expect_refused(with("--image-size", "big"), {"--image-size", "'big'"});
  expect_refused(with("--resize", "zeroo"), {"'zeroo'", "did you mean 'zero'?"});
  expect_refused(with("--pixels", "scale"), {"'scale'", "did you mean 'scaled'?"});
  expect_refused(with("--normalize", "0.5"), {"two numbers"});
  expect_refused(with("--normalize", "1,2,3/1,2,3"), {"3 means", "1 channel"});
  expect_refused(with("--loader-threads", "0"), {"--loader-threads is 0"});
  expect_refused(train({"--pixels", "raw", "--normalize", "0,1"}, "mlp:hidden=8"), {"contradict"});
  expect_refused(with("--data", "images"), {"does not name a folder", "images:DIR"});
  expect_refused(with("--data", "idx:nowhere"), {"nowhere", "headroom data make glyphs"});
  expect_refused(with("--data", "cifar"), {"'cifar'", "did you mean 'cifar10'?"});
}

}  // namespace
}  // namespace headroom::testing

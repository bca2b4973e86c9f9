// Recurrent networks through the program: rows of images and bytes of text, training to the written file.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

struct CliRecurrent : ProgramTest {
  static std::string letters(std::size_t size) {
    std::string bytes = "a";
    while (bytes.size() < size) bytes += static_cast<char>('a' + (5 * (bytes.back() - 'a') + 3) % 26);
    return bytes;
  }
};

// Each letter determines the next. The network has no text in its name: the data decide.
TEST_F(CliRecurrent, LearnsTheNextByte) {
  put("book", letters(6000));
  for (const std::string cell : {"lstm", "gru", "plain"}) {
    const std::string model = "rnn:cell=" + cell + ",hidden=24,context=16";
    const Words how = {"--data", "text:book", "--batch", "8", "--lr", "0.01", "--epochs", "3"};
    Words words = {"train", model, "--save", "w.safetensors"};
    words.insert(words.end(), how.begin(), how.end());
    const Json json = succeed_json(words);
    EXPECT_NEAR(json["first_loss"].get<double>(), std::log(256.0), 0.2) << "it knows nothing at first";
    EXPECT_LT(json["test_loss"].get<double>(), 2) << cell << ": letters as likely as each other would be 3.3";
    EXPECT_GT(json["tokens_per_s"].get<double>(), 0);
  }
}

TEST_F(CliRecurrent, LearnsRowsOfImagesAndIsWritten) {
  for (const std::string cell : {"lstm", "gru", "plain"}) {
    const Json json = succeed_json({"train", "rnn:cell=" + cell + ",hidden=24,bidirectional=on",
                                    "--train-size", "1280", "--test-size", "200", "--batch", "32", "--epochs",
                                    "2", "--lr", "0.005", "--save-onnx", "net.onnx"});
    const double accuracy = json["accuracy"]["test"];
    EXPECT_GT(accuracy, 0.25) << cell << ": guesses are right once in ten, and this is seven deviations away";
    const Json again = succeed_json({"eval", "net.onnx", "--test-size", "200", "--batch", "32"});
    EXPECT_EQ(again["accuracy"]["test"].get<double>(), accuracy) << cell;
  }
}

}  // namespace
}  // namespace headroom::testing

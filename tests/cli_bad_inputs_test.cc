// Runs every row of tests/bad_inputs.txt, which explains its format: a wrong request, and what its message
// must contain.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

struct Row {
  std::string name;
  int line = 0;
  std::vector<std::string> setup;  // "file net.json {}"
  Words command, parts;
};

// Words as a shell splits them; '...' keeps blanks, and '' is an empty word.
Words shell_words(const std::string& text) {
  Words words;
  bool quoted = false, inside = false;
  for (const char c : text) {
    if (c == '\'') {
      quoted = !quoted;
      if (!inside) words.emplace_back(), inside = true;
    } else if (c == ' ' && !quoted) {
      inside = false;
    } else {
      if (!inside) words.emplace_back(), inside = true;
      words.back() += c;
    }
  }
  return words;
}

std::string without_blanks(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::vector<Row> read_rows() {
  std::vector<Row> rows;
  std::string section;
  int number = 0, line_number = 0;
  std::vector<std::string> setup;
  for (const std::string& line : split(read_file(HEADROOM_SOURCE_DIR "/tests/bad_inputs.txt"), '\n')) {
    ++line_number;
    if (line.starts_with("= ")) {
      section = line.substr(2), number = 0;
      std::ranges::replace(section, '-', '_');
    } else if (line.starts_with("+ ")) {
      setup.push_back(line.substr(2));
    } else if (line.starts_with("> ")) {
      const std::size_t arrow = line.find(" => ");
      if (arrow == std::string::npos) reject("tests/bad_inputs.txt:{}: no ' => '", line_number);
      Row row{fmt::format("{}_{}", section, ++number),
              line_number,
              std::exchange(setup, {}),
              shell_words(line.substr(2, arrow - 2)),
              {}};
      for (const std::string& part : split(line.substr(arrow + 4), '|'))
        row.parts.push_back(without_blanks(part));
      rows.push_back(std::move(row));
    } else if (!line.empty() && !line.starts_with("#")) {
      reject("tests/bad_inputs.txt:{}: unknown line '{}'", line_number, line);
    }
  }
  return rows;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = read_rows();
  return all;
}

// "\x08\n" as two bytes.
std::string bytes_of(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      bytes += text[i];
    } else if (text[i + 1] == 'x') {
      bytes += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else {
      bytes += text[i + 1] == 'n' ? '\n' : text[i + 1] == 'r' ? '\r' : text[i + 1];
      ++i;
    }
  }
  return bytes;
}

struct CliBadInputs : ProgramTest, ::testing::WithParamInterface<Row> {
  // Sound files, made once.
  std::string sound(const std::string& name) const {
    static std::map<std::string, std::string> kept;
    if (const auto it = kept.find(name); it != kept.end()) return it->second;
    if (name == "good.npy") return kept[name] = sound_npy();
    succeed({"train", "mlp:hidden=4", "--train-size", "64", "--test-size", "32", "--epochs", "1", "--save",
             "good.safetensors", "--save-onnx", "good.onnx"});
    for (const char* made : {"good.safetensors", "good.onnx"}) {
      kept[made] = read_file(file(made));
      std::filesystem::remove(file(made));
    }
    return kept.at(name);
  }

  static std::string sound_npy() {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 784), }";
    header.resize(117, ' ');
    header += '\n';
    return std::string("\x93NUMPY\x01\x00v\x00", 10) + header + std::string(2 * 784 * 4, '\0');
  }

  void prepare(const std::string& step) const {
    const Words words = split(step, ' ');
    if (words.at(0) == "folder") {
      std::filesystem::create_directory(file(words.at(1)));
    } else if (words.at(0) == "file") {
      const std::size_t content = 5 + words.at(1).size() + 1;
      put(words[1], content < step.size() ? bytes_of(step.substr(content)) : "");
    } else if (words.at(0) == "cut") {
      put(words.at(2), sound(words.at(1)).substr(0, std::stoul(words.at(3))));
    } else if (words.at(0) == "swap") {
      std::string bytes = sound(words.at(1));
      const std::string old = bytes_of(words.at(3)), fresh = bytes_of(words.at(4));
      const std::size_t at = bytes.find(old);
      ASSERT_EQ(old.size(), fresh.size());
      ASSERT_NE(at, std::string::npos) << words.at(1) << " does not hold " << words.at(3);
      put(words.at(2), bytes.replace(at, old.size(), fresh));
    } else {
      FAIL() << "unknown step '" << step << "'";
    }
  }
};

TEST_P(CliBadInputs, AreExplained) {
  const Row& row = GetParam();
  SCOPED_TRACE(fmt::format("tests/bad_inputs.txt:{}", row.line));
  for (const std::string& step : row.setup) prepare(step);
  for (const std::string& word : row.command)
    if (const std::size_t at = word.find("good."); at != std::string::npos) {
      const std::string name = word.substr(at, word.find(':', at) - at);
      put(name, sound(name));
    }
  expect_refused(row.command, row.parts);
  const std::string message = read_file(err_);
  const bool has_hint = std::count(message.begin(), message.end(), '\n') == 2;
  const Words remedies = {"must", "needs", "the max is", "which is not a"};
  EXPECT_TRUE(has_hint || std::ranges::any_of(remedies,
                                              [&](const std::string& words) {
                                                return message.find(words) != std::string::npos;
                                              }))
      << "what is there to try?\n"
      << message;
}

INSTANTIATE_TEST_SUITE_P(Rows, CliBadInputs, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace headroom::testing

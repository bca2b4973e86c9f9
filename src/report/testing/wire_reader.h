#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom::testing {

// One field of a protobuf message, as it lies in the file.
struct WireField {
  int number = 0, type = 0;  // 0: varint, 1: eight bytes, 2: bytes of a given length, 5: four bytes
  std::uint64_t value = 0;
  std::string_view bytes = {};
  double real() const { return std::bit_cast<double>(value); }
  float real32() const { return std::bit_cast<float>(static_cast<std::uint32_t>(value)); }
};

// Numbers and wire types of the fields that a message may have.
using WireFields = std::map<int, int>;

// A message whose every field is known. Throws about the first that is not, or that the file cuts short.
class WireMessage {
 public:
  WireMessage(std::string_view bytes, const WireFields& known) {
    while (!bytes.empty()) {
      const std::uint64_t tag = varint(bytes);
      WireField field{static_cast<int>(tag >> 3), static_cast<int>(tag & 7)};
      const auto found = known.find(field.number);
      if (found == known.end() || found->second != field.type)
        throw std::runtime_error("unknown field " + std::to_string(field.number) + " of wire type " +
                                 std::to_string(field.type));
      if (field.type == 0) field.value = varint(bytes);
      if (field.type == 1 || field.type == 5)
        for (int i = 0; const char c : cut(bytes, field.type == 1 ? 8 : 4))
          field.value |= std::uint64_t{static_cast<unsigned char>(c)} << (8 * i++);
      if (field.type == 2) field.bytes = cut(bytes, varint(bytes));
      fields_.push_back(field);
    }
  }

  const std::vector<WireField>& fields() const { return fields_; }
  // The only one of this number, or null.
  const WireField* find(int number) const {
    const WireField* found = nullptr;
    for (const WireField& field : fields_)
      if (field.number == number && std::exchange(found, &field) != nullptr)
        throw std::runtime_error("field " + std::to_string(number) + " is there twice");
    return found;
  }
  const WireField& at(int number) const {
    if (const WireField* found = find(number)) return *found;
    throw std::runtime_error("field " + std::to_string(number) + " is missing");
  }

 private:
  static std::string_view cut(std::string_view& bytes, std::uint64_t count) {
    if (count > bytes.size()) throw std::runtime_error("the message ends within a field");
    const std::string_view front = bytes.substr(0, count);
    bytes.remove_prefix(count);
    return front;
  }

  static std::uint64_t varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(cut(bytes, 1)[0]);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("an integer of more than 64 bits");
  }

  std::vector<WireField> fields_;
};

}  // namespace headroom::testing

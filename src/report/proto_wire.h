#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace headroom {

// Writes a message in protobuf's binary format, field by field, without its definition: enough for formats of
// which we write a dozen messages. An inner message is a field of bytes.
class ProtoWriter {
 public:
  void varint(int field, std::uint64_t value);  // integers, enums, bool
  void fixed32(int field, std::uint32_t value);
  void fixed64(int field, std::uint64_t value);
  void real32(int field, float value);
  void real(int field, double value);
  void packed(int field, std::span<const double> values);  // a repeated field in one piece
  void bytes(int field, std::string_view value);
  void message(int field, const ProtoWriter& inner) { bytes(field, inner.out_); }

  bool empty() const { return out_.empty(); }
  std::string take() { return std::move(out_); }

 private:
  void append_varint(std::uint64_t value);
  void append_fixed64(std::uint64_t value);
  void append_tag(int field, int wire_type);

  std::string out_;
};

}  // namespace headroom

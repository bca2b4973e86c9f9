#include "report/proto_wire.h"

#include <bit>

namespace headroom {

// Seven bits at a time, the lowest first; the eighth says that more follow.
void ProtoWriter::append_varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_ += static_cast<char>((value & 0x7F) | 0x80);
  out_ += static_cast<char>(value);
}

void ProtoWriter::append_tag(int field, int wire_type) {
  append_varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}

void ProtoWriter::varint(int field, std::uint64_t value) {
  append_tag(field, 0);
  append_varint(value);
}

void ProtoWriter::fixed32(int field, std::uint32_t value) {
  append_tag(field, 5);
  for (int i = 0; i < 4; ++i) out_ += static_cast<char>(value >> (8 * i));
}

void ProtoWriter::append_fixed64(std::uint64_t value) {
  for (int i = 0; i < 8; ++i) out_ += static_cast<char>(value >> (8 * i));
}

void ProtoWriter::fixed64(int field, std::uint64_t value) {
  append_tag(field, 1);
  append_fixed64(value);
}

void ProtoWriter::real32(int field, float value) { fixed32(field, std::bit_cast<std::uint32_t>(value)); }

void ProtoWriter::real(int field, double value) { fixed64(field, std::bit_cast<std::uint64_t>(value)); }

void ProtoWriter::packed(int field, std::span<const double> values) {
  append_tag(field, 2);
  append_varint(8 * values.size());
  for (const double value : values) append_fixed64(std::bit_cast<std::uint64_t>(value));
}

void ProtoWriter::bytes(int field, std::string_view value) {
  append_tag(field, 2);
  append_varint(value.size());
  out_ += value;
}

}  // namespace headroom

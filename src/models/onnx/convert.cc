#include "models/onnx/convert.h"

#include <unordered_map>

namespace headroom::onnx {
namespace {

using Table = std::unordered_map<std::string, Conversion>;

const Table& table() {
  static const Table all = [] {
    Table joined;
    for (auto family :
         {core_conversions,      pointwise_conversions, cast_conversions,      arrange_conversions,
          pad_conversions,       bit_conversions,       scatter_conversions,   select_conversions,
          detection_conversions, resize_conversions,    attention_conversions, microsoft_conversions,
          gather_conversions,    reduce_conversions,    einsum_conversions,    normalize_conversions,
          window_conversions,    signal_conversions,    loss_conversions,      recurrent_conversions,
          quantize_conversions,  qlinear_conversions})
      for (const Conversion& c : family()) joined.emplace(c.op, c);
    return joined;
  }();
  return all;
}

}  // namespace

const Conversion* find_conversion(std::string_view domain, std::string_view op) {
  const bool own = domain.empty() || domain == "ai.onnx";
  const auto it = table().find(own ? std::string(op) : fmt::format("{}:{}", domain, op));
  return it == table().end() ? nullptr : &it->second;
}

}  // namespace headroom::onnx

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace headroom {

// The arithmetic units of a machine, named as its peaks are.
enum class Unit { fp64, fp64_tensor, fp32, tf32, fp16, bf16, int8 };
std::string_view name_of(Unit unit);
Unit ordinary_unit(DType dtype);           // multiply-adds outside tensor cores
Unit tensor_unit(DType dtype, bool tf32);  // fp32 without tf32 has none: the ordinary one

// Rows, columns and summed terms of a product. 0: does not apply.
struct ProductExtent {
  std::int64_t m = 0, n = 0, k = 0;
};

// One launch of a device kernel, or `count` launches that are alike; the amounts are those of all together.
struct KernelLaunch {
  std::string_view family = "plain";  // whose constants a time model applies; see time-models/
  Unit unit = Unit::fp32;             // what does its products
  double flops = 0;
  double bytes = 0;         // from and to memory
  double l2_bytes = 0;      // through L2; 0: no more than from memory
  ProductExtent extent;     // of the product it computes
  ProductExtent tile;       // of one block
  std::int64_t blocks = 0;  // CPUs: pieces that threads share out; 0: not known
  double useful = 1;        // the share of its tiles that holds wanted results
  int count = 1;
  // FLOPs that the units execute, as counters see them: products of parts, additions between them, lanes
  // without a wanted result, no products with padding. None: `flops`, of whole tiles. Time models read
  // `flops`.
  std::optional<double> executed = {};
};

// What the chosen algorithm does, as opposed to the least that must be done: unrolling moves more bytes,
// Winograd does fewer products. Facts only; how fast they go is the time model's business.
struct Work {
  std::vector<KernelLaunch> launches;
  // The algorithm needs fewer products than the definition has, as Winograd's does: its FLOPs bound its time.
  bool fewer_products = false;
  double flops() const;
  double bytes() const;
  int launch_count() const;

  KernelLaunch& main() { return launches.front(); }
  Work& with(std::string_view family, Unit unit, ProductExtent extent = {});
  Work& add_bytes(double bytes);                // moved by the main launch beside the least
  Work& add_pass(double bytes, int count = 1);  // launches that only move memory
};

}  // namespace headroom

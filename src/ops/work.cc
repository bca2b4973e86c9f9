#include "ops/work.h"

namespace headroom {

std::string_view name_of(Unit unit) {
  switch (unit) {
    case Unit::fp64:
      return "fp64";
    case Unit::fp64_tensor:
      return "fp64_tensor";
    case Unit::fp32:
      return "fp32";
    case Unit::tf32:
      return "tf32";
    case Unit::fp16:
      return "fp16";
    case Unit::bf16:
      return "bf16";
    case Unit::int8:
      return "int8";
  }
  return "";
}

Unit ordinary_unit(DType dtype) { return dtype == DType::f64 ? Unit::fp64 : Unit::fp32; }

Unit tensor_unit(DType dtype, bool tf32) {
  switch (dtype) {
    case DType::f64:
      return Unit::fp64_tensor;
    case DType::f16:
      return Unit::fp16;
    case DType::bf16:
      return Unit::bf16;
    default:
      return tf32 ? Unit::tf32 : Unit::fp32;
  }
}

double Work::flops() const {
  double sum = 0;
  for (const KernelLaunch& launch : launches) sum += launch.flops;
  return sum;
}

double Work::bytes() const {
  double sum = 0;
  for (const KernelLaunch& launch : launches) sum += launch.bytes;
  return sum;
}

int Work::launch_count() const {
  int sum = 0;
  for (const KernelLaunch& launch : launches) sum += launch.count;
  return sum;
}

Work& Work::with(std::string_view family, Unit unit, ProductExtent extent) {
  main().family = family, main().unit = unit, main().extent = extent;
  return *this;
}

Work& Work::add_bytes(double bytes) {
  main().bytes += bytes;
  return *this;
}

Work& Work::add_pass(double bytes, int count) {
  launches.push_back({.unit = main().unit, .bytes = bytes, .count = count});
  return *this;
}

}  // namespace headroom

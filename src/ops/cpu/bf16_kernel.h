#pragma once

// Kernels whose products go through the bf16 instructions of the processor: "cpu:bf16" rounds factors to
// bf16, "cpu:bf16x6" splits them in three parts of bf16 and adds up the six products that count, as exact as
// fp32.

#include "ops/cpu/bf16_gemm.h"
#include "ops/cpu/bf16_pays.h"

namespace headroom {

enum class Bf16Parts { one, three };

inline const bf16::Version& bf16_version(Bf16Parts parts) {
  return parts == Bf16Parts::one ? *bf16::used() : *bf16::exact();
}

// `extent_of`: rows, columns and terms of the product; `other_work`: what it does beside the products.
inline Kernel bf16_kernel(Bf16Parts parts, ProductExtent (*extent_of)(const Problem&, const Target&),
                          Launcher (*prepare)(const Problem&, Bf16Parts),
                          Work (*other_work)(const Problem&, const Target&) = least_work) {
  const bool exact = parts == Bf16Parts::three;
  Closure<Verdict(const Problem&, const Target&)> pays;  // lists have exact products behind others
  if (!exact) pays = [=](const Problem& p, const Target& t) { return bf16_pays(extent_of(p, t)); };
  return {.name = exact ? "cpu:bf16x6" : "cpu:bf16",
          .accepts = exact ? accepts_cpu_bf16x6 : accepts_cpu_bf16,
          .pays = pays,
          .work =
              [=](const Problem& p, const Target& t) {
                Work work = other_work(p, t);
                work.with(exact ? "cpu.bf16x6" : "cpu.bf16", Unit::bf16, extent_of(p, t));
                if (exact) work.main().executed = bf16::kProductsOfParts * work.main().flops;
                return work;
              },
          .prepare = [=](const Problem& p, const LaunchContext&) { return prepare(p, parts); }};
}

}  // namespace headroom

#pragma once

#include <string>
#include <utility>

#include "comm/distribution.h"
#include "device/capabilities.h"

namespace headroom {

class Device;
class Groups;

// What the user allows a plan to do.
struct Policy {
  bool tf32 = false;           // fp32 products may round their factors to 11 bits
  bool bf16 = false;           // on a CPU: fp32 products may round their factors to bf16
  bool deterministic = false;  // the same bits every run: no choice by timing, no atomic sums
  bool operator==(const Policy&) const = default;
};

// What a plan is made for. All of it is plain data: neither the device nor the ranks need to be there.
struct Target {
  Capabilities device;
  Policy policy;
  Distribution ranks;

  Target() = default;
  Target(Capabilities on, Policy allowed = {}, Distribution among = {})  // implicit: a device is a target
      : device(std::move(on)), policy(allowed), ranks(among) {}
};

// What is alive when a kernel is prepared: the target it was planned for, the open device, the communicators
// of the ranks (null: one process alone), and which of the kernel's candidates the plan names.
struct LaunchContext {
  Target target;
  Device* device = nullptr;
  Groups* groups = nullptr;
  std::string variant = {};
  // For each input: no step of the plan writes it, as a batch. A kernel may read it while the launch before
  // still runs. Empty: nobody knows.
  std::vector<bool> from_outside = {};
};

}  // namespace headroom

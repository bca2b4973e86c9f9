#pragma once

#include <span>
#include <string>

#include "base/sheet.h"
#include "machine/machine.h"

namespace headroom {

// One line per machine: oldest architecture first, measured ones last.
Sheet machine_sheet(std::span<const Machine> machines);
inline constexpr const char* kMachineNote =
    "Peaks in FLOP/s, dense; a multiply-add counts as two. -: no such unit, or not known.\n";
// Everything known about one machine, with its ridge points and the sources of its figures.
std::string machine_page(const Machine& machine);
// The roofline as a drawing of about 70 by 18 characters, both axes logarithmic: a slope for every level of
// known bandwidth, a flat roof for every peak.
std::string draw_roofline(const Machine& machine);

}  // namespace headroom

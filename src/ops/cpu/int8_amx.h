#pragma once

// The version of int8_tile.cc for Intel's AMX-INT8.

#include "ops/cpu/amx_config.h"
#include "ops/cpu/int8_tile.h"

namespace headroom::int8 {

// Tiles 0 to 3 hold 16 rows of a panel's sums, 4 and 5 the factors of 64 terms, 6 and 7 those of the terms
// behind them. Rows or terms that are not there are no part of a tile, so nothing is read behind the end.
constexpr int kAmxRows = 16, kAmxGroups = 16;

inline AmxConfig amx_config_for(int rows, std::int64_t rest_groups) {
  AmxConfig config;
  const auto set = [&](int tile, int count, std::int64_t bytes) {
    config.rows[tile] = static_cast<std::uint8_t>(count);
    config.row_bytes[tile] = static_cast<std::uint16_t>(bytes);
  };
  for (int tile = 0; tile < 5; ++tile) set(tile, rows, 64);
  set(5, kAmxGroups, 64);
  const int rest = rest_groups > 0 ? static_cast<int>(rest_groups) : 1;
  set(6, rows, rest * 4);
  set(7, rest, 64);
  return config;
}

__attribute__((target("amx-tile,amx-int8"))) inline void amx_rows(std::int64_t groups,
                                                                  const std::int8_t* rows,
                                                                  const std::uint8_t* panel,
                                                                  std::int32_t* sums) {
  constexpr int kPanelRow = kPanel * 4,
                kQuarter = kPanel;  // bytes of a group of all columns, and of 16 of them
  amx_fence();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  std::int64_t g = 0;
  for (; g + kAmxGroups <= groups; g += kAmxGroups) {
    const std::uint8_t* b = panel + g * kPanelRow;
    _tile_loadd(4, rows + g * 4, groups * 4);
    _tile_loadd(5, b, kPanelRow);
    _tile_dpbsud(0, 4, 5);
    _tile_loadd(5, b + kQuarter, kPanelRow);
    _tile_dpbsud(1, 4, 5);
    _tile_loadd(5, b + 2 * kQuarter, kPanelRow);
    _tile_dpbsud(2, 4, 5);
    _tile_loadd(5, b + 3 * kQuarter, kPanelRow);
    _tile_dpbsud(3, 4, 5);
  }
  if (g < groups) {
    const std::uint8_t* b = panel + g * kPanelRow;
    _tile_loadd(6, rows + g * 4, groups * 4);
    _tile_loadd(7, b, kPanelRow);
    _tile_dpbsud(0, 6, 7);
    _tile_loadd(7, b + kQuarter, kPanelRow);
    _tile_dpbsud(1, 6, 7);
    _tile_loadd(7, b + 2 * kQuarter, kPanelRow);
    _tile_dpbsud(2, 6, 7);
    _tile_loadd(7, b + 3 * kQuarter, kPanelRow);
    _tile_dpbsud(3, 6, 7);
  }
  _tile_stored(0, sums, kPanelRow);
  _tile_stored(1, sums + 16, kPanelRow);
  _tile_stored(2, sums + 32, kPanelRow);
  _tile_stored(3, sums + 48, kPanelRow);
  amx_fence();
}

inline void amx_tile(int count, int, std::int64_t groups, const std::int8_t* rows, const std::uint8_t* panel,
                     std::int32_t* sums) {
  if (count >= kAmxRows) amx_configure(amx_config_for(kAmxRows, groups % kAmxGroups));
  int r = 0;
  for (; r + kAmxRows <= count; r += kAmxRows)
    amx_rows(groups, rows + r * groups * 4, panel, sums + r * kPanel);
  if (r < count) {
    amx_configure(amx_config_for(count - r, groups % kAmxGroups));
    amx_rows(groups, rows + r * groups * 4, panel, sums + r * kPanel);
  }
  amx_end();
}

__attribute__((target("amx-tile,amx-int8"))) inline void chains_amx(std::int64_t rounds) {
  amx_begin();
  _tile_zero(4);
  _tile_zero(5);
  for (std::int64_t i = 0; i < rounds; ++i) {
    _tile_dpbsud(0, 4, 5);
    _tile_dpbsud(1, 4, 5);
    _tile_dpbsud(2, 4, 5);
    _tile_dpbsud(3, 4, 5);
  }
  amx_end();
}

}  // namespace headroom::int8

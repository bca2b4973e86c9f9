#include "ops/conv2d/testing/block_emulator.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/half.h"

namespace headroom::testing {
namespace {

using namespace cuda;

constexpr float kUnwritten = std::numeric_limits<float>::quiet_NaN();

float as_half(float x) { return static_cast<float>(half_value(DType::f16, half_bits(DType::f16, x))); }

// Towards zero, as the sums of tensor cores.
float cut_off(double x) {
  const float near = static_cast<float>(x);
  if (std::abs(double(near)) <= std::abs(x)) return near;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(near) - 1);  // the neighbour on the side of zero
}

// Two elements, each in two parts.
struct Word {
  std::array<float, 2> hi = {kUnwritten, kUnwritten}, lo = {kUnwritten, kUnwritten};
};
Word word_of(bool split, float first, float second) {
  Word word;
  word.hi = {as_half(first), as_half(second)};
  word.lo = {0, 0};
  if (split) word.lo = {as_half(first - word.hi[0]), as_half(second - word.hi[1])};
  return word;
}
using Pair = std::array<float, 2>;

template <int N>
using Lanes = std::array<std::array<Pair, N>, 32>;
using Sums = std::array<std::array<float, 4>, 32>;

// c += a b of one warp: m16n8k16.
void software_mma(Sums& c, const Lanes<4>& a, const Lanes<2>& b) {
  double left[16][16] = {}, right[16][8] = {};
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i)
      for (int h = 0; h < 2; ++h)
        left[a_row(lane, i)][2 * a_word(lane, i) + h] =
            double(a[std::size_t(lane)][std::size_t(i)][std::size_t(h)]);
    for (int i = 0; i < 2; ++i)
      for (int h = 0; h < 2; ++h)
        right[2 * b_word(lane, i) + h][b_column(lane)] =
            double(b[std::size_t(lane)][std::size_t(i)][std::size_t(h)]);
  }
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      float& sum = c[std::size_t(lane)][std::size_t(i)];
      double exact = double(sum);
      for (int k = 0; k < 16; ++k) exact += left[c_row(lane, i)][k] * right[k][c_column(lane, i)];
      sum = cut_off(exact);
    }
}

void promote_sums(Sums& sum, Sums& part) {
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t i = 0; i < 4; ++i) sum[lane][i] += part[lane][i], part[lane][i] = 0;
}

float activated(int kind, float x) { return activate_scalar(static_cast<Activation>(kind), x); }

class BlockEmulator {
 public:
  BlockEmulator(const BlockShape& shape, const BlockPlan& plan, bool scaled, const std::vector<float>& x,
                const std::vector<float>& w, const std::vector<float>& bias)
      : s(shape), q(plan), scaled_(scaled), x_(x), w_(w), bias_(bias) {
    const std::size_t outputs = std::size_t(s.batch) * std::size_t(s.maps * s.out_h * s.out_w);
    result.y.assign(outputs, kUnwritten), result.writes.assign(outputs, 0);
  }

  void run() {
    for (int block = 0; block < q.map_blocks; ++block) {
      first_map_ = block * q.block_maps;
      maps_ = std::min(q.block_maps, s.maps - first_map_);
      fill_weights();
      for (int index = 0; index < q.tiles; ++index) run_tile(block_tile(s, q, index));
    }
  }

  Emulation result;

 private:
  void fault(std::string what) {
    if (result.faults.size() < 8) result.faults.push_back(std::move(what));
  }

  int scale_of(const float* from, std::size_t count) const {
    unsigned largest = 0;
    for (std::size_t i = 0; i < count; ++i) largest = larger_bits(largest, from[i]);
    return scaled_ ? block_scale(largest) : kBlockUnscaled;
  }

  void fill_weights() {
    const int depth = s.depth(), begin = s.flipped ? 0 : first_map_ * depth;
    weight_scale_ = scale_of(w_.data() + begin, std::size_t(s.flipped ? s.maps : maps_) * std::size_t(depth));
    const float scale = block_power(weight_scale_);
    weights_.assign(std::size_t(q.steps * q.columns8 * 32), {});
    terms_.assign(std::size_t(q.steps * 8), 0);
    for (int step = 0; step < q.steps; ++step)
      for (int lane = 0; lane < 32; ++lane)
        for (int r = 0; r < 2; ++r) {
          const BlockTerm term = block_term(s, q, step * 8 + b_word(lane, r));
          if (lane < 4) terms_[std::size_t(step * 8 + lane + 4 * r)] = term_place(s, q, term);
          for (int j = 0; j < q.columns8; ++j) {
            const int column = 8 * j + b_column(lane), map = column_map(q, column);
            Pair value = {0, 0};
            for (int h = 0; h < 2; ++h) {
              const int at = map < maps_ ? term_weight(s, q, term, h, column_shift(q, column)) : -1;
              if (at >= 0)
                value[std::size_t(h)] = w_.at(std::size_t(weight_place(s, first_map_ + map, at))) * scale;
            }
            weights_[std::size_t((step * q.columns8 + j) * 32 + lane)][std::size_t(r)] =
                word_of(q.split, value[0], value[1]);
          }
        }
  }

  void fill_view(const BlockTile& tile) {
    const std::ptrdiff_t image = std::ptrdiff_t(s.channels) * s.in_h * s.in_w;
    const float* from = x_.data() + tile.image * image;
    const int top = view_top(s, tile);
    unsigned largest = 0;
    for (int channel = 0; channel < s.channels; ++channel)
      for (int row = std::max(0, top); row < std::min(s.in_h, top + q.view_h); ++row)
        for (int column = 0; column < s.in_w; ++column)
          largest = larger_bits(largest, from[(channel * s.in_h + row) * s.in_w + column]);
    scale_ = scaled_ ? block_scale(largest) : kBlockUnscaled;
    const float scale = block_power(scale_);
    view_.assign(std::size_t(q.view_words), q.by_pixels ? word_of(q.split, 0, 0) : Word{});
    written_.assign(view_.size(), false);
    // Words that hold a pixel, or all of them.
    const int columns = q.by_pixels ? s.in_w : q.pitch;
    for (int e = 0; e < q.planes * q.view_h * columns; ++e) {
      const int line = e / columns, plane = line / q.view_h, row = line - plane * q.view_h;
      const int column = e - line * columns + (q.by_pixels ? s.pad_w : 0);
      const WordSource source = word_source(s, q, plane, column);
      Pair value = {0, 0};
      for (std::size_t h = 0; h < 2; ++h)
        if (top + row >= 0 && top + row < s.in_h && source.channel[h] < s.channels && source.column[h] >= 0 &&
            source.column[h] < s.in_w)
          value[h] = from[(source.channel[h] * s.in_h + top + row) * s.in_w + source.column[h]] * scale;
      const int place =
          q.by_pixels ? pixel_place(s, q, e - plane * q.view_h * columns) : row * q.pitch + column;
      write_word(plane_begin(q, plane) + place, word_of(q.split, value[0], value[1]));
    }
  }

  void write_word(int to, const Word& word) {
    if (to < 0 || to >= q.view_words) return fault(fmt::format("view word {} of {}", to, q.view_words));
    if (written_[std::size_t(to)]) fault(fmt::format("view word {} written twice", to));
    view_[std::size_t(to)] = word, written_[std::size_t(to)] = true;
  }

  // Lanes that one wavefront serves must not read different words of one bank.
  void count_wavefronts(const std::array<int, 32>& at) {
    std::map<int, std::set<int>> words;
    std::size_t most = 0;
    for (int lane = 0; lane < 32; ++lane) {
      const int word = at[std::size_t(lane)];
      words[word % kBlockBanks].insert(word);
      most = std::max(most, words[word % kBlockBanks].size());
    }
    result.loads += 1, result.wavefronts += double(most);
  }

  void run_tile(const BlockTile& tile) {
    fill_view(tile);
    stage_.assign(std::size_t(q.block_maps * q.stage_pitch), kUnwritten);
    const int fragments = (tile.places + places_of_fragment(q) - 1) / places_of_fragment(q);
    for (int fragment = 0; fragment < fragments; ++fragment) run_fragment(tile, fragment);
    store(tile);
  }

  void read_a(const BlockTile& tile, int fragment, int step, Lanes<4>& hi, Lanes<4>& lo) {
    for (int i = 0; i < 4; ++i) {
      std::array<int, 32> places{};
      for (int lane = 0; lane < 32; ++lane) {
        const int row = a_row(lane, i), place = std::min(row_place(q, fragment, row), tile.places - 1);
        const int at = window_begin(s, q, place, row) + terms_[std::size_t(step * 8 + a_word(lane, i))];
        places[std::size_t(lane)] = at;
        Word word;
        if (at < 0 || at >= q.view_words)
          fault(fmt::format("reads view word {} of {}", at, q.view_words));
        else
          word = view_[std::size_t(at)];
        if (std::isnan(word.hi[0])) fault(fmt::format("reads view word {}, which nothing wrote", at));
        hi[std::size_t(lane)][std::size_t(i)] = word.hi, lo[std::size_t(lane)][std::size_t(i)] = word.lo;
      }
      if (tile.image == 0 && first_map_ == 0) count_wavefronts(places);
    }
  }

  void run_fragment(const BlockTile& tile, int fragment) {
    const auto columns = std::size_t(q.columns8);
    std::vector<Sums> sum(columns), large(columns), small(columns);
    const BlockUndo undo = undo_scales(scale_, weight_scale_);
    for (int step = 0; step < q.steps; ++step) {
      Lanes<4> hi, lo;
      read_a(tile, fragment, step, hi, lo);
      for (std::size_t j = 0; j < columns; ++j) {
        Lanes<2> b_hi, b_lo;
        for (std::size_t lane = 0; lane < 32; ++lane)
          for (std::size_t r = 0; r < 2; ++r) {
            const Word& word = weights_[(std::size_t(step) * columns + j) * 32 + lane][r];
            b_hi[lane][r] = word.hi, b_lo[lane][r] = word.lo;
          }
        if (q.split) {
          software_mma(small[j], lo, b_hi);
          software_mma(large[j], hi, b_hi);
          software_mma(small[j], hi, b_lo);
          if (step % kBlockGroup == kBlockGroup - 1) promote_sums(sum[j], large[j]);
        } else {
          software_mma(sum[j], hi, b_hi);
        }
      }
    }
    for (std::size_t j = 0; j < columns; ++j) {
      promote_sums(sum[j], large[j]), promote_sums(sum[j], small[j]);
      stage(tile, fragment, int(j), undo, sum[j]);
    }
  }

  void stage(const BlockTile& tile, int fragment, int j, const BlockUndo& undo, const Sums& sum) {
    for (int lane = 0; lane < 32; ++lane)
      for (int half = 0; half < (q.quad ? 1 : 2); ++half) {
        const int place = row_place(q, fragment, c_row(lane, 2 * half));
        if (place >= tile.places) continue;
        const auto& c = sum[std::size_t(lane)];
        const int map = column_map(q, 8 * j + c_column(lane, 0));
        const auto put = [&](int to_map, float value) {
          float& to = stage_.at(std::size_t(to_map * q.stage_pitch + place));
          if (!std::isnan(to)) fault(fmt::format("stages place {} of map {} twice", place, to_map));
          to = value * undo.first * undo.second;
        };
        const auto first = std::size_t(2 * half);
        if (q.quad)
          put(map, pooled_max(pooled_max(c[0], c[1]), pooled_max(c[2], c[3])));
        else
          put(map, c[first]), put(map + 1, c[first + 1]);
      }
  }

  float finished(const BlockTile& tile, int at, float bias, const float* from) {
    if (q.quad || s.pooling == BlockPooling::none) return activated(s.activation, from[at] + bias);
    const int line = divided(at, q.by_out_w), top = line * s.step_h, left = (at - line * s.out_w) * s.step_w;
    const int bottom = pool_reach(top, s.pool_h, tile.conv_rows),
              right = pool_reach(left, s.pool_w, s.conv_w);
    const bool mean = s.pooling == BlockPooling::mean;
    float value = mean ? 0.0F : from[top * q.place_w + left];
    for (int row = top; row < bottom; ++row)
      for (int column = left; column < right; ++column) {
        const float next = from[row * q.place_w + column];
        value = mean ? value + activated(s.activation, next + bias) : pooled_max(value, next);
      }
    return mean ? value / float((bottom - top) * (right - left)) : activated(s.activation, value + bias);
  }

  void store(const BlockTile& tile) {
    const int band = q.rows * s.out_w, wanted = tile.rows * s.out_w, plane = s.out_h * s.out_w;
    const std::ptrdiff_t out =
        (std::ptrdiff_t(tile.image) * s.maps + first_map_) * plane + tile.first_row * s.out_w;
    for (int e = 0; e < maps_ * band; ++e) {
      const int map = divided(e, q.by_band), at = e - map * band;
      if (at >= wanted) continue;
      const float bias = bias_.empty() ? 0.0F : bias_[std::size_t(first_map_ + map)];
      const auto to = std::size_t(out + map * plane + at);
      result.y.at(to) = finished(tile, at, bias, stage_.data() + map * q.stage_pitch);
      ++result.writes[to];
    }
  }

  const BlockShape& s;
  const BlockPlan& q;
  bool scaled_;
  const std::vector<float>&x_, &w_, &bias_;
  int first_map_ = 0, maps_ = 0, scale_ = 0, weight_scale_ = 0;
  std::vector<std::array<Word, 2>> weights_;  // of each lane
  std::vector<int> terms_;
  std::vector<Word> view_;
  std::vector<bool> written_;  // its words
  std::vector<float> stage_;
};

}  // namespace

Emulation emulate_block(const BlockShape& shape, const BlockPlan& plan, bool scaled,
                        const std::vector<float>& x, const std::vector<float>& w,
                        const std::vector<float>& bias) {
  BlockEmulator emulator(shape, plan, scaled, x, w, bias);
  emulator.run();
  return std::move(emulator.result);
}

}  // namespace headroom::testing

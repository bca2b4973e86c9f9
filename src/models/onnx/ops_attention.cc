// Attention and rotary embeddings as ONNX defines them, made of products, a softmax and moves.

#include <cmath>
#include <limits>

#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// [batch, steps, heads * size] as [batch, heads, steps, size]; four axes stay as they are.
Term by_heads(Context& c, const Term& x, std::int64_t heads) {
  const Shape s = shape_of(c, x);
  if (s.rank() == 4) return x;
  if (s.rank() != 3 || heads < 1 || s[2] % heads != 0)
    c.invalid(fmt::format("{} heads of {}", heads, s.str()));
  return transposed(c, reshaped(c, x, {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
}

// Each head of keys or values once for every query head that it serves.
Term repeated(Context& c, const Term& x, std::int64_t heads) {
  const Shape s = shape_of(c, x);
  if (s[1] == heads) return x;
  if (heads % s[1] != 0) c.invalid(fmt::format("{} heads of queries share {} heads", heads, s[1]));
  const Ints apart = {s[0], s[1], 1, s[2], s[3]}, wide = {s[0], s[1], heads / s[1], s[2], s[3]};
  const Term y = apply(c, "expand", {reshaped(c, x, apart)}, {{"shape", wide}});
  return reshaped(c, y, {s[0], heads, s[2], s[3]});
}

Term with_past(Context& c, std::size_t past, const Term& x) {
  return c.has_input(past) ? joined(c, {input(c, past), x}, 2) : x;
}

// 0 where the condition holds, minus infinity elsewhere.
Term masked(Context& c, const Term& allowed) {
  return apply(c, "where", {allowed, number(c, 0), number(c, kMinusInfinity)});
}

// What is added to the scores [batch, heads, queries, keys], without axes that nothing depends on.
class Bias {
 public:
  explicit Bias(Context& c) : c_(c) {}
  void add(const Term& more) { sum_ = sum_ ? apply(c_, "add", {*sum_, more}) : more; }
  void allow(const Term& condition) { add(masked(c_, condition)); }
  const std::optional<Term>& sum() const { return sum_; }

 private:
  Context& c_;
  std::optional<Term> sum_;
};

// A mask that is shorter than the keys forbids the rest of them.
void add_mask(Context& c, Bias& bias, std::int64_t keys) {
  if (!c.has_input(3)) return;
  Term mask = input(c, 3);
  const bool truth = type_of(c, mask).dtype == DType::boolean;
  if (truth) mask = masked(c, mask);
  Ints dims = shape_of(c, mask).vector();
  if (dims.empty()) c.invalid("its mask has no axes");
  const std::int64_t missing = keys - dims.back();
  if (missing > 0 && (dims.back() != 1 || truth)) {
    dims.back() = missing;
    const Term none = apply(c, "expand", {number(c, kMinusInfinity)}, {{"shape", dims}});
    mask = joined(c, {mask, none}, static_cast<std::int64_t>(dims.size()) - 1);
  }
  bias.add(mask);
}

// Bounds on how far a key may lie from its query: the causal rule, and windows to both sides.
void add_bounds(Context& c, Bias& bias, const Shape& q, std::int64_t keys, std::int64_t past) {
  const std::int64_t left = c.integer("left_window_size", -1), right = c.integer("right_window_size", -1);
  const bool causal = c.integer("is_causal", 0) != 0;
  if (left < -1 || right < -1) c.invalid("a window of less than -1");
  std::optional<Term> lengths;
  if (c.has_input(6)) {
    if (c.has_input(4)) c.invalid("it has both a past and lengths of a cache");
    if (c.shape(6) != Shape{q[0]}) c.invalid(fmt::format("lengths {} of {}", c.shape(6).str(), q.str()));
    lengths = reshaped(c, cast_to(c, input(c, 6), DType::i64), {q[0], 1, 1, 1});
  }
  const Term key = positions(keys, 3, 4);
  if (lengths) bias.allow(apply(c, "less", {key, *lengths}));
  if (!causal && left < 0 && right < 0) return;
  const Term first = lengths ? apply(c, "sub", {*lengths, integers({}, {q[2]})}) : integers({}, {past});
  const Term at = apply(c, "add", {positions(q[2], 2, 4), first});
  const auto shifted = [&](std::int64_t by) { return apply(c, "add", {at, integers({}, {by})}); };
  if (causal) bias.allow(apply(c, "less_or_equal", {key, at}));
  if (right >= 0) bias.allow(apply(c, "less_or_equal", {key, shifted(right)}));
  if (left >= 0) bias.allow(apply(c, "greater_or_equal", {key, shifted(-left)}));
}

// A query that no key may answer gets zeros, not NaN.
Term guarded_softmax(Context& c, const Term& scores, const Bias& bias) {
  const Term p = apply(c, "softmax", {scores}, {{"axis", std::int64_t{3}}});
  if (!bias.sum()) return p;
  const auto last = std::int64_t{shape_of(c, *bias.sum()).rank() - 1};
  const Term best =
      apply(c, "reduce_max", {*bias.sum()}, {{"axes", Ints{last}}, {"keepdims", std::int64_t{1}}});
  const Term none = apply(c, "equal", {best, number(c, kMinusInfinity)});
  if (none.known && none.known->integers() == Ints(static_cast<std::size_t>(none.known->count()), 0))
    return p;
  return apply(c, "where", {none, number(c, 0), p});
}

Results convert_attention(Context& c) {
  c.require_inputs(3, 7);
  for (std::size_t i : {0u, 1u, 2u}) need_float(c, input(c, i));
  const bool packed = c.shape(0).rank() == 3;
  const Term q = by_heads(c, input(c, 0), packed ? c.integer("q_num_heads") : 0);
  const std::int64_t kv_heads = packed ? c.integer("kv_num_heads") : 0;
  const Term present_k = with_past(c, 4, by_heads(c, input(c, 1), kv_heads));
  const Term present_v = with_past(c, 5, by_heads(c, input(c, 2), kv_heads));
  const Shape s = shape_of(c, q);
  const Term k = repeated(c, present_k, s[1]), v = repeated(c, present_v, s[1]);
  const std::int64_t keys = shape_of(c, k)[2], past = c.has_input(4) ? c.shape(4)[2] : 0;
  if (shape_of(c, k)[3] != s[3] || shape_of(c, v)[2] != keys)
    c.invalid(
        fmt::format("queries {}, keys {}, values {}", s.str(), shape_of(c, k).str(), shape_of(c, v).str()));
  const double scale = c.real("scale", 1 / std::sqrt(static_cast<double>(s[3]))), cap = c.real("softcap", 0);
  // Both factors take half of the scale, so that products do not overflow.
  const Term half = number(c, std::sqrt(scale));
  const Term raw = apply(c, "matmul", {apply(c, "mul", {q, half}), apply(c, "mul", {k, half})},
                         {{"trans_b", std::int64_t{1}}});
  const Term capped =
      cap > 0
          ? apply(c, "mul", {apply(c, "tanh", {apply(c, "mul", {raw, number(c, 1 / cap)})}), number(c, cap)})
          : raw;
  Bias bias(c);
  add_mask(c, bias, keys);
  add_bounds(c, bias, s, keys, past);
  const Term scores = bias.sum() ? apply(c, "add", {capped, *bias.sum()}) : capped;
  const Term p = guarded_softmax(c, scores, bias);
  Term y = apply(c, "matmul", {p, v});
  if (packed) y = reshaped(c, transposed(c, y, {0, 2, 1, 3}), {s[0], s[2], s[1] * shape_of(c, v)[3]});
  const std::int64_t mode = c.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) c.invalid(fmt::format("qk_matmul_output_mode is {}", mode));
  const std::vector<Term> inside = {c.opset() < 25 ? capped : raw, capped, scores, p};
  return {y, present_k, present_v, inside[static_cast<std::size_t>(mode)]};
}

// com.microsoft's mask is 1 where a key may be seen: [batch, keys] or [batch, queries, keys]; or [batch]
// lengths.
void add_packed_mask(Context& c, Bias& bias, std::int64_t keys) {
  if (!c.has_input(3)) return;
  const Shape m = c.shape(3);
  Ints dims = m.vector();
  if (m.rank() == 1 && m[0] == c.shape(0)[0]) dims = {m[0], 1, 1, 1};
  if (m.rank() == 2) dims = {m[0], 1, 1, m[1]};
  if (m.rank() == 3) dims = {m[0], 1, m[1], m[2]};
  if (dims.size() != 4) c.unsupported(fmt::format("a mask of {}", m.str()));
  const Term mask = reshaped(c, cast_to(c, input(c, 3), DType::i64), dims);
  const Term allowed = m.rank() == 1 ? apply(c, "less", {positions(keys, 3, 4), mask})
                                     : apply(c, "greater", {mask, integers({}, {0})});
  bias.add(apply(c, "where", {allowed, number(c, 0), number(c, c.real("mask_filter_value", -10000))}));
}

struct Heads {
  Term q, k, v;
  std::int64_t past = 0;
};

// Queries, keys and values are one product of the input; the past holds keys, then values.
Heads packed_heads(Context& c, const Ints& sizes) {
  const std::int64_t heads = c.integer("num_heads");
  Term all = apply(c, "matmul", {input(c, 0), input(c, 1)});
  if (c.has_input(2)) all = apply(c, "add", {all, input(c, 2)});
  const std::vector<Term> parts = apply_all(c, "split", {all}, {{"axis", std::int64_t{2}}, {"sizes", sizes}});
  Heads h{by_heads(c, parts[0], heads), by_heads(c, parts[1], heads), by_heads(c, parts[2], heads)};
  if (!c.has_input(4)) return h;
  const std::vector<Term> both =
      apply_all(c, "split", {input(c, 4)}, {{"axis", std::int64_t{0}}, {"sizes", Ints{1, 1}}});
  Ints dims = c.shape(4).vector();
  dims.erase(dims.begin());
  h.past = dims.at(2);
  h.k = joined(c, {reshaped(c, both[0], dims), h.k}, 2);
  h.v = joined(c, {reshaped(c, both[1], dims), h.v}, 2);
  return h;
}

// Keys and values, one behind the other.
Term present_of(Context& c, const Heads& h) {
  const auto with_axis = [&](const Term& t) {
    Ints dims = shape_of(c, t).vector();
    dims.insert(dims.begin(), 1);
    return reshaped(c, t, dims);
  };
  return joined(c, {with_axis(h.k), with_axis(h.v)}, 0);
}

Results convert_packed_attention(Context& c) {
  c.require_inputs(2, 6);
  need_float(c, input(c, 0));
  if (c.integer("do_rotary", 0) != 0 || c.integer("past_present_share_buffer", 0) != 0)
    c.unsupported("rotary embeddings or a shared buffer");
  const Shape x = c.shape(0), w = c.shape(1);
  if (x.rank() != 3 || w.rank() != 2) c.invalid(fmt::format("{} with weights {}", x.str(), w.str()));
  const Ints sizes = c.integers("qkv_hidden_sizes", Ints(3, w[1] / 3));
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != w[1])
    c.invalid(fmt::format("{} columns of weights for [{}]", w[1], fmt::join(sizes, ",")));
  const Heads h = packed_heads(c, sizes);
  const Shape s = shape_of(c, h.q);
  const std::int64_t keys = shape_of(c, h.k)[2];
  Bias bias(c);
  add_packed_mask(c, bias, keys);
  if (c.integer("unidirectional", 0) != 0) {
    const Term at = apply(c, "add", {positions(s[2], 2, 4), integers({}, {h.past})});
    bias.allow(apply(c, "less_or_equal", {positions(keys, 3, 4), at}));
  }
  if (c.has_input(5)) bias.add(input(c, 5));
  const double scale = c.real("scale", 0) != 0 ? c.real("scale") : 1 / std::sqrt(static_cast<double>(s[3]));
  const Term product = apply(c, "matmul", {h.q, h.k}, {{"trans_b", std::int64_t{1}}});
  const Term raw = apply(c, "mul", {product, number(c, scale)});
  const Term p = guarded_softmax(c, bias.sum() ? apply(c, "add", {raw, *bias.sum()}) : raw, bias);
  const Term y = transposed(c, apply(c, "matmul", {p, h.v}), {0, 2, 1, 3});
  const Term flat = reshaped(c, y, {s[0], s[2], sizes[2]});
  if (!c.wants_output(1)) return {flat};
  return {flat, present_of(c, h)};
}

// The rows of cosines and sines: one for each position, as [batch, steps, 1, half].
Term angles(Context& c, std::size_t i, std::int64_t half) {
  const Term cache = input(c, i);
  const Term rows =
      c.has_input(3) ? apply(c, "gather", {cache, input(c, 3)}, {{"axis", std::int64_t{0}}}) : cache;
  const Shape s = shape_of(c, rows);
  if (s.rank() != 3 || s[2] != half) c.invalid(fmt::format("a cache {} for {} pairs", s.str(), half));
  return reshaped(c, rows, {s[0], s[1], 1, s[2]});
}

// Turns pairs of elements by an angle that grows with the position.
Results convert_rotary(Context& c) {
  c.require_inputs(3, 4);
  const Term given_x = input(c, 0);
  need_float(c, given_x);
  const Shape whole = shape_of(c, given_x);
  const bool packed = whole.rank() == 3;
  // As [batch, steps, heads, size].
  const Term x = packed ? transposed(c, by_heads(c, given_x, c.integer("num_heads")), {0, 2, 1, 3})
                        : transposed(c, given_x, {0, 2, 1, 3});
  const Shape s = shape_of(c, x);
  std::int64_t turned = c.integer("rotary_embedding_dim", 0);
  if (turned == 0) turned = s[3];
  if (turned < 2 || turned > s[3] || turned % 2 != 0)
    c.invalid(fmt::format("it turns {} of {} elements", turned, s[3]));
  const std::int64_t half = turned / 2;
  const Term cosine = angles(c, 1, half), sine = angles(c, 2, half);
  const bool interleaved = c.integer("interleaved", 0) != 0;
  // Pairs are neighbours, or stand half a row apart.
  const Ints pairs = interleaved ? Ints{s[0], s[1], s[2], half, 2} : Ints{s[0], s[1], s[2], 2, half};
  const std::int64_t side = interleaved ? 4 : 3;
  const Term apart = reshaped(c, sliced(c, x, 3, 0, turned), pairs);
  const Ints plain = {s[0], s[1], s[2], half};
  const Term a = reshaped(c, sliced(c, apart, side, 0, 1), plain),
             b = reshaped(c, sliced(c, apart, side, 1, 2), plain);
  const auto product = [&](const Term& u, const Term& v) { return apply(c, "mul", {u, v}); };
  const Term real = apply(c, "sub", {product(cosine, a), product(sine, b)});
  const Term imaginary = apply(c, "add", {product(sine, a), product(cosine, b)});
  Ints one = pairs;
  one[static_cast<std::size_t>(side)] = 1;
  const Term joint = joined(c, {reshaped(c, real, one), reshaped(c, imaginary, one)}, side);
  Term y = reshaped(c, joint, {s[0], s[1], s[2], turned});
  if (turned < s[3]) y = joined(c, {y, sliced(c, x, 3, turned, s[3])}, 3);
  return {packed ? reshaped(c, y, whole.vector()) : transposed(c, y, {0, 2, 1, 3})};
}

}  // namespace

std::vector<Conversion> attention_conversions() {
  return {{"Attention", convert_attention},
          {"com.microsoft:Attention", convert_packed_attention},
          {"RotaryEmbedding", convert_rotary}};
}

}  // namespace headroom::onnx

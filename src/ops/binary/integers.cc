#include "ops/binary/integers.h"

#include "ops/binary/binary.h"

namespace headroom {

IntegerOp integer_op(const Problem& p) {
  using enum IntegerOp;
  if (p.op == "add") return add;
  if (p.op == "sub") return sub;
  if (p.op == "mul") return mul;
  if (p.op == "div") return div;
  if (p.op == "maximum") return maximum;
  if (p.op == "minimum") return minimum;
  if (p.op == "bit_and") return bit_and;
  if (p.op == "bit_or") return bit_or;
  if (p.op == "bit_xor") return bit_xor;
  if (p.op == "shift_left") return shift_left;
  if (p.op == "shift_right") return p.attrs.integer("logical") == 1 ? shift_right_logical : shift_right;
  return p.attrs.integer("fmod") == 1 ? fmod : mod;
}

}  // namespace headroom

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
  return p.attrs.integer("fmod") == 1 ? fmod : mod;
}

}  // namespace headroom

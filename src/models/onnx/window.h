#pragma once

// Shared by convolution and pooling: windows over one axis become windows over two, the first of size 1.

#include "models/onnx/convert.h"

namespace headroom::onnx {

// strides, pads, dilations and auto_pad as our operators name them; the kernel has one to three axes.
Attrs window_attrs(const Context& context, const Ints& kernel);

ValueId as_images(Context& context, ValueId value, bool is_line);  // NxCxL -> NxCx1xL
ValueId as_lines(Context& context, ValueId value, bool is_line);   // and back

}  // namespace headroom::onnx

#include <headroom/headroom.h>

#include <iostream>

int main() {
  headroom::Net net("small", {1, 28, 28});
  net.conv2d("conv", {.maps = 8, .kernel = 5, .stride = 2, .activation = "relu"})
      .max_pool("pool", {.kernel = 2})
      .linear("out", {.units = 10});

  headroom::Model model(net);
  const headroom::Data digits = headroom::load_data("glyphs", {.train_size = 2000, .test_size = 500});
  model.train(digits, {.epochs = 2, .optimizer = "adam", .schedule = "cosine"});
  std::cout << "accuracy " << model.evaluate(digits).accuracy << "\n" << model.profile().text();
}

// Builds a convolutional network, trains it on drawn digits, and asks what it costs, here and elsewhere.
#include <headroom/headroom.h>

#include <cstdlib>
#include <iostream>

namespace {

headroom::Net make_net() {
  headroom::Net net("branches", {1, 28, 28});
  net.conv2d("stem", {.maps = 8, .kernel = 3, .stride = 2, .pad = 1, .activation = "relu"})
      .conv2d("near", {.maps = 8, .kernel = 1})
      .conv2d("far", {.maps = 8, .kernel = 3, .pad = 1})
      .reads("stem")
      .concat("both", {"near", "far"})
      .batch_norm("norm", {.activation = "relu"})
      .max_pool("pool", {.kernel = 2})
      .dropout("drop", 0.1)
      .linear("out", {.units = 10});
  return net;
}

void tell(const headroom::Epoch& epoch) {
  std::cout << "epoch " << epoch.number << ": loss " << epoch.loss << ", test accuracy "
            << epoch.test_accuracy << "\n";
}

void run(std::int64_t images) {
  headroom::Model model(make_net(), {.precision = "fp32", .seed = 1, .threads = 2});
  headroom::Timer& timer = model.timer();

  timer.start("load");
  const headroom::Data digits = headroom::load_data("glyphs", {.train_size = images, .test_size = 200});
  timer.stop("load");

  const headroom::Training training = model.train(
      digits, {.epochs = 1, .batch = 32, .lr = 0.002, .optimizer = "adam", .schedule = "cosine"}, tell);
  std::cout << training.steps << " steps, " << training.images_per_s << " images/s\n";

  {
    const auto scope = timer.scope("check");  // what the model does inside stands below it
    model.save("branches.safetensors");
    headroom::Model again(make_net());
    again.load("branches.safetensors");
    const double before = model.evaluate(digits).accuracy, after = again.evaluate(digits).accuracy;
    std::cout << "accuracy " << before << ", and " << after << " from the file\n";
  }

  const headroom::Scores scores = model.predict(digits.test_pixels(), digits);
  std::cout << "the first test image is a " << scores.best(0) << ", and was drawn as a "
            << int(digits.test_labels()[0]) << "\n\n";

  const headroom::CostPrediction there = headroom::predict(model.net(), "h200", {.batch = 256});
  std::cout << "on an H200 a step of 256 takes at least " << there.floor_s * 1e6 << " us:\n\n"
            << there.text() << "\n"
            << model.profile().text();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::atoll(argv[1]) : 2000);
  } catch (const headroom::Error& error) {
    std::cerr << error.what() << "\n  " << error.hint() << "\n";
    return error.blame() == headroom::Blame::request ? 2 : 1;
  }
}

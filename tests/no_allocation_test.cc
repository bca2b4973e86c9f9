// After warm-up a training step allocates nothing, on any thread.
#include <gtest/gtest.h>

#include <new>

#include "base/testing/allocations.h"
#include "data/glyphs.h"
#include "data/loader.h"
#include "profile/step_timer.h"
#include "train/engine.h"

namespace headroom {
namespace {

using testing::count_allocations;

TEST(NoAllocation, TheCounterCounts) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers bring operators of their own: nothing is counted";
#endif
  EXPECT_EQ(count_allocations([] {}), 0);
  // Calls, not new expressions: the compiler may remove those if nothing uses the memory.
  EXPECT_EQ(count_allocations([] { ::operator delete(::operator new(64)); }), 1);
  constexpr std::align_val_t kWide{64};
  EXPECT_EQ(count_allocations([&] { ::operator delete(::operator new(64, kWide), kWide); }), 1);
}

// Loader, engine and timer together, as in the trainer; batches of both precisions, shuffled.
void train_steadily(const char* model, DType precision, const Update& update) {
  SCOPED_TRACE(fmt::format("{} in {}", model, name_of(precision)));
  constexpr std::int64_t kBatch = 16, kWarmUp = 2, kSteps = 12;
  const Dataset data = make_glyphs({.train = kBatch * 4, .test = 1});
  const auto device = open_device("cpu", 2);
  Engine engine(find_net(model), *device, {.precision = precision, .update = update});
  LoaderOptions options{.batch = kBatch, .epochs = 4, .shuffle = true, .dtype = precision};
  options.input = Shape(engine.net().input);
  Loader loader(data.train, options);
  Engine::Ready& ready = engine.ready(Mode::train, kBatch);
  engine.set_learning_rate(0.01);
  StepTimer timer(*device, ready.plan().steps.size(), 4);  // the ring wraps around during the test
  Recorder* const recorders[] = {&timer};
  std::int64_t step = 0;
  double loss = 0;
  auto run = [&](std::int64_t steps) {
    for (std::int64_t i = 0; i < steps; ++i) {
      const Batch* batch = loader.next();
      loss = engine.train_step(ready, batch->images, batch->labels, ++step, recorders);
      loss += ready.executor->read_scalar(ready.program.correct);
    }
  };
  run(kWarmUp);
  const std::size_t arena = engine.arena_bytes(), stored = engine.storage().bytes();
  EXPECT_EQ(count_allocations([&] { run(kSteps); }), 0);
  EXPECT_EQ(engine.arena_bytes(), arena);
  EXPECT_EQ(engine.storage().bytes(), stored);
  EXPECT_EQ(step, kWarmUp + kSteps);
}

TEST(NoAllocation, InTrainingLeNet) {
  train_steadily("lenet5", DType::f32, {.momentum = 0.9});
  train_steadily("lenet5:pool=avg,activation=tanh", DType::f64, {});
}

TEST(NoAllocation, InTrainingAPerceptron) {
  train_steadily("mlp", DType::f32, {.l2 = 1e-4});
  train_steadily("mlp:hidden=64x32,activation=relu", DType::f64, {.momentum = 0.9, .nesterov = true});
}

// The loader's own thread fills several epochs ahead of a consumer that only takes batches.
TEST(NoAllocation, InTheLoader) {
  const Dataset data = make_glyphs({.train = 100, .test = 1});
  LoaderOptions options{.batch = 16, .epochs = 5, .shuffle = true, .input = {784}};
  Loader loader(data.train, options);
  std::int64_t images = loader.next()->count;
  EXPECT_EQ(count_allocations([&] {
              while (const Batch* batch = loader.next()) images += batch->count;
            }),
            0);
  EXPECT_EQ(images, 500);
}

}  // namespace
}  // namespace headroom

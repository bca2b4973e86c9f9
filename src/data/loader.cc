#include "data/loader.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"

namespace headroom {
namespace {

constexpr std::int64_t kMostPadding = 4;          // extent of the input less that of the image
constexpr std::align_val_t kAlignment{64};        // a cache line; also what vector loads like best
constexpr std::uint64_t kOrderStream = 0x6C6F61;  // apart from every other use of the seed

struct Release {
  void operator()(void* memory) const { ::operator delete(memory, kAlignment); }
};
using Buffer = std::unique_ptr<void, Release>;

Buffer allocate(std::int64_t bytes) {
  return Buffer(::operator new(static_cast<std::size_t>(bytes), kAlignment));
}

// Where the rows of an image go within an input.
struct Placement {
  std::int64_t planes, rows, columns;        // of the image
  std::int64_t plane_pitch, row_pitch, top;  // of the input, in elements; `top` is the first pixel's place
};

Placement placement_of(const Shape& image, const Shape& input) {
  if (input.rank() == 1) return {1, 1, image.numel(), image.numel(), image.numel(), 0};
  const std::int64_t above = (input[1] - image[1]) / 2, left = (input[2] - image[2]) / 2;
  return {image[0], image[1], image[2], input[1] * input[2], input[2], above * input[2] + left};
}

const Split& checked(const Split& split, const LoaderOptions& o) {
  require_fit(split.image, o.input);
  if (split.pixels.size() != split.labels.size() * static_cast<std::size_t>(split.image.numel()))
    fail("{} labels and {} pixels do not make images of {}", split.labels.size(), split.pixels.size(),
         split.image.str());
  if (o.dtype != DType::f32 && o.dtype != DType::f64)
    reject(Hint{"take fp32 or fp64"}, "images are loaded as floating point, not as {}", name_of(o.dtype));
  if (o.batch < 1) reject("a batch of {} images is none", o.batch);
  if (o.batch > split.count())
    reject(Hint{fmt::format("take a batch of at most {}", with_commas(split.count()))},
           "a batch of {} is larger than the set of {} images", with_commas(o.batch),
           with_commas(split.count()));
  if (o.epochs < 0) reject("{} epochs cannot be run", o.epochs);
  if (o.depth < 1) reject("a loader needs at least one batch in flight, not {}", o.depth);
  if (o.preprocess.deviation == 0) reject("pixels cannot be divided by a deviation of 0");
  return split;
}

}  // namespace

void require_fit(const Shape& image, const Shape& input) {
  if (input.rank() == 1) {
    if (input.numel() == image.numel()) return;
    reject(Hint{fmt::format("this data needs a flat input of {}", image.numel())},
           "images of {} have {} values, but the model takes {}", image.str(), image.numel(), input.numel());
  }
  if (image.rank() != 3 || input.rank() != 3)
    reject("images of {} cannot be fed to an input of {}", image.str(), input.str());
  auto misfit = [&](std::string_view why) {
    reject(Hint{"take data of the model's image size, or set the model's input size to the data's"},
           "images of {} do not fit the model's input of {}: {}", image.str(), input.str(), why);
  };
  if (image[0] != input[0]) misfit("they have another number of channels");
  for (int axis : {1, 2}) {
    if (image[axis] > input[axis]) misfit("they are larger");
    if (image[axis] < input[axis] - kMostPadding)
      misfit(fmt::format("they are smaller by more than {} pixels per side", kMostPadding));
  }
}

// Batch number n lives in slot n % depth. The thread fills batches in order while fewer than `depth` lie
// between it and the consumer, whose current batch counts as long as it is held.
struct Loader::Impl {
  Impl(const Split& images, const LoaderOptions& wanted)
      : split(checked(images, wanted)),
        options(wanted),
        place(placement_of(images.image, wanted.input)),
        per_epoch((images.count() + wanted.batch - 1) / wanted.batch),
        total(per_epoch * wanted.epochs),
        order(images.labels.size()) {
    const Preprocess& p = options.preprocess;
    for (std::size_t pixel = 0; pixel < 256; ++pixel)
      value[pixel] = (double(pixel) * p.scale - p.mean) / p.deviation,
      value_f32[pixel] = static_cast<float>(value[pixel]);
    slots.resize(static_cast<std::size_t>(options.depth));
    for (Slot& slot : slots) prepare(slot);
    thread = std::thread([this] { run(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    freed.notify_one();
    thread.join();
  }

  struct Slot {
    Buffer images, labels;
    Batch batch;
  };

  // Padding is written once: batches only ever touch the pixels of their images.
  void prepare(Slot& slot) {
    const std::int64_t elements = options.batch * options.input.numel();
    slot.images = allocate(elements * static_cast<std::int64_t>(size_of(options.dtype)));
    slot.labels = allocate(options.batch * static_cast<std::int64_t>(sizeof(std::int32_t)));
    dispatch_float(options.dtype, [&]<class T>() {
      std::fill_n(static_cast<T*>(slot.images.get()), elements, table<T>()[0]);
    });
    slot.batch.images = slot.images.get();
    slot.batch.labels = static_cast<std::int32_t*>(slot.labels.get());
  }

  template <class T>
  const T* table() const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return value.data();
    } else {
      return value_f32.data();
    }
  }

  void shuffle(std::int64_t epoch) {
    std::iota(order.begin(), order.end(), 0);
    if (!options.shuffle) return;
    const Philox random(options.seed, stream_of(kOrderStream, static_cast<std::uint64_t>(epoch)));
    for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i, i + 1)]);
  }

  template <class T>
  void convert(std::int64_t image, T* out) const {
    const T* values = table<T>();
    const std::uint8_t* in = split.pixels.data() + image * split.image.numel();
    for (std::int64_t plane = 0; plane < place.planes; ++plane)
      for (std::int64_t row = 0; row < place.rows; ++row, in += place.columns) {
        T* line = out + place.top + plane * place.plane_pitch + row * place.row_pitch;
        for (std::int64_t column = 0; column < place.columns; ++column) line[column] = values[in[column]];
      }
  }

  void fill(std::int64_t number) {
    Batch& batch = slot_of(number).batch;
    const std::int64_t first = number % per_epoch * options.batch;
    batch.epoch = number / per_epoch;
    if (first == 0) shuffle(batch.epoch);
    batch.count = std::min(options.batch, split.count() - first);
    batch.last_of_epoch = first + batch.count == split.count();
    for (std::int64_t i = 0; i < batch.count; ++i) {
      const std::int64_t image = order[static_cast<std::size_t>(first + i)];
      batch.labels[i] = split.labels[static_cast<std::size_t>(image)];
      dispatch_float(options.dtype, [&]<class T>() {
        convert(image, static_cast<T*>(batch.images) + i * options.input.numel());
      });
    }
  }

  void run() {
    try {
      for (std::int64_t number = 0; number < total; ++number) {
        {
          std::unique_lock lock(mutex);
          freed.wait(lock, [&] { return stop || number - released < options.depth; });
          if (stop) return;
        }
        fill(number);
        {
          const std::lock_guard lock(mutex);
          filled = number + 1;
        }
        ready.notify_one();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      error = std::current_exception();
      ready.notify_one();
    }
  }

  const Batch* next() {
    std::unique_lock lock(mutex);
    released = taken;
    freed.notify_one();
    if (taken == total) return nullptr;
    ready.wait(lock, [&] { return filled > taken || error != nullptr; });
    if (filled == taken) std::rethrow_exception(error);
    return &slot_of(taken++).batch;
  }

  Slot& slot_of(std::int64_t number) { return slots[static_cast<std::size_t>(number % options.depth)]; }

  const Split& split;
  const LoaderOptions options;
  const Placement place;
  const std::int64_t per_epoch, total;
  std::array<double, 256> value{};
  std::array<float, 256> value_f32{};
  std::vector<Slot> slots;
  std::vector<std::int64_t> order;  // used by the thread only

  std::mutex mutex;  // guards what follows
  std::condition_variable ready, freed;
  std::int64_t filled = 0, taken = 0, released = 0;  // batches so far; released <= taken <= filled
  std::exception_ptr error;
  bool stop = false;
  std::thread thread;
};

Loader::Loader(const Split& split, const LoaderOptions& options)
    : impl_(std::make_unique<Impl>(split, options)) {}
Loader::~Loader() = default;

const Batch* Loader::next() { return impl_->next(); }
std::int64_t Loader::batches_per_epoch() const { return impl_->per_epoch; }

}  // namespace headroom

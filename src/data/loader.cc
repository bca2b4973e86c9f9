#include "data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "base/shares.h"
#include "base/span_names.h"
#include "base/spans.h"
#include "base/units.h"
#include "data/pixel_writer.h"

namespace headroom {
namespace {

constexpr std::int64_t kMaxPadding = 4;  // extent of the input minus that of the image
constexpr int kMaxThreads = 256;
constexpr std::align_val_t kAlignment{64};  // a cache line; also good for vector loads
const SpanName kPrepareSpan{"prepare a batch"}, kLoaderWaitSpan{kLoaderWait};
constexpr std::uint64_t kOrderStream = 0x6C6F61;  // separate from every other use of the seed

// Own memory, or memory from the caller's allocator, which also frees it.
struct Release {
  bool own = true;
  void operator()(void* memory) const {
    if (own) ::operator delete(memory, kAlignment);
  }
};
using HostBuffer = std::unique_ptr<void, Release>;

HostBuffer allocate(const LoaderOptions& o, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  if (o.allocate) return HostBuffer(o.allocate(size), Release{false});
  return HostBuffer(::operator new(size, kAlignment));
}

// Values go to the network unchanged: no border, no shift.
void require_plain(const Split& split, const LoaderOptions& o) {
  if (split.image.numel() != o.input.numel())
    reject("values of {} are fed unchanged, but the model takes {}", split.image.str(), o.input.str());
  if (o.augment.any()) reject(Hint{"give pixels, or leave it out"}, "values cannot be augmented");
}

// Tokens are not pixels, and a model that reads tokens takes nothing else.
void require_tokens(const Split& split, const LoaderOptions& o) {
  const Hint which{"use `data` text:FILE for gpt2, and images for other models"};
  if (split.text.empty()) reject(which, "the model reads tokens, but the data are {}", split.image.str());
  if (o.dtype != DType::i32)
    reject(which, "the model takes {} numbers, but the data are text", o.input.str());
  if (!(split.image == o.input))
    reject("text items have {} bytes, but the model takes {}", split.image.str(), o.input.str());
  if (o.augment.any()) reject("text cannot be augmented");
}

void require_images(const Split& split, const LoaderOptions& o) {
  require_fit(split.image, o.input);
  const std::size_t elements = split.values.empty() ? split.pixels.size() : split.values.size();
  if (elements != split.labels.size() * static_cast<std::size_t>(split.image.numel()))
    fail("{} labels and {} pixels do not make images of {}", split.labels.size(), elements,
         split.image.str());
  if (split.targets.size() != split.labels.size() * static_cast<std::size_t>(split.targets_each))
    fail("{} targets do not make {} rows of {}", split.targets.size(), split.labels.size(),
         split.targets_each);
  if (!split.values.empty()) require_plain(split, o);
  if (o.dtype != DType::f32 && o.dtype != DType::f64)
    reject(Hint{"take fp32 or fp64"}, "images are loaded as floating point, not as {}", name_of(o.dtype));
}

const Split& checked(const Split& split, const LoaderOptions& o) {
  if (!split.text.empty() || o.dtype == DType::i32)
    require_tokens(split, o);
  else
    require_images(split, o);
  if (o.batch < 1) reject("a batch of {} images is not possible", o.batch);
  if (o.batch > split.count())
    reject(Hint{fmt::format("take a batch of at most {}", with_commas(split.count()))},
           "a batch of {} is larger than the set of {} images", with_commas(o.batch),
           with_commas(split.count()));
  if (o.parts < 1 || o.part < 0 || o.part >= o.parts) fail("part {} of {}", o.part, o.parts);
  if (o.epochs < 0) reject("{} epochs cannot be run", o.epochs);
  if (o.depth < 1) reject("a loader needs at least one batch in flight, not {}", o.depth);
  if (o.threads < 1 || o.threads > kMaxThreads)
    reject("a loader takes 1 to {} threads, not {}", kMaxThreads, o.threads);
  const std::int64_t per_epoch = (split.count() + o.batch - 1) / o.batch;
  if (o.first_epoch < 0 || o.first_batch < 0 || o.first_epoch > o.epochs || o.first_batch > per_epoch)
    reject("a run cannot start at batch {} of epoch {}: there are {} epochs of {} batches", o.first_batch,
           o.first_epoch, o.epochs, per_epoch);
  return split;
}

}  // namespace

void fill_order(std::span<std::int64_t> order, bool shuffle, std::uint64_t seed, std::int64_t epoch) {
  std::iota(order.begin(), order.end(), 0);
  if (!shuffle || order.empty()) return;
  const Philox random(seed, stream_of(kOrderStream, static_cast<std::uint64_t>(epoch)));
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i, i + 1)]);
}

void require_fit(const Shape& image, const Shape& input) {
  if (input.rank() == 1) {
    if (input.numel() == image.numel()) return;
    reject(Hint{fmt::format("this data needs a flat input of {}", image.numel())},
           "images of {} have {} values, but the model takes {}", image.str(), image.numel(), input.numel());
  }
  if (image.rank() != 3 || input.rank() != 3)
    reject("images of {} cannot be fed to an input of {}", image.str(), input.str());
  auto misfit = [&](std::string_view why) {
    reject(Hint{"resize the images with `image-size`, or set the model's input size to the data's"},
           "images of {} do not fit the model's input of {}: {}", image.str(), input.str(), why);
  };
  if (image[0] != input[0]) misfit("they have another number of channels");
  for (int axis : {1, 2}) {
    if (image[axis] > input[axis]) misfit("they are larger");
    if (image[axis] < input[axis] - kMaxPadding)
      misfit(fmt::format("they are smaller by more than {} pixels per side", kMaxPadding));
  }
}

// Batch number n uses slot n % depth. A thread claims the next number in order while fewer than `depth`
// batches lie between it and the consumer, including the batch the consumer holds. Threads fill batches in
// parallel.
struct Loader::Impl {
  Impl(const Split& images, const LoaderOptions& wanted)
      : split(checked(images, wanted)),
        options(wanted),
        per_epoch((images.count() + wanted.batch - 1) / wanted.batch),
        total(per_epoch * wanted.epochs),
        depth(wanted.depth + wanted.threads - 1),
        order(static_cast<std::size_t>(images.count())),
        claimed(std::min(total, wanted.first_epoch * per_epoch + wanted.first_batch)),
        taken(claimed),
        released(claimed) {
    if (split.text.empty()) writer.emplace(images.image, wanted.input, wanted.preprocess);
    slots.resize(static_cast<std::size_t>(depth));
    for (Slot& slot : slots) prepare(slot);
    try {
      for (int i = 0; i < options.threads; ++i)
        threads.emplace_back([this, i] {
          spans::name_thread(fmt::format("loader {}", i + 1));
          run();
        });
    } catch (...) {
      finish();
      throw;
    }
  }

  ~Impl() { finish(); }

  void finish() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    freed.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  struct Slot {
    HostBuffer images, labels;
    std::vector<std::int64_t> members;  // image indices, in order
    Batch batch;
    std::int64_t filled = -1;  // the batch ready in this slot; guarded by the mutex
  };

  // The border of the images is written once: batches only change their pixels.
  void prepare(Slot& slot) const {
    const std::int64_t most = share_of(options.batch, options.parts, 0).count;
    const std::int64_t elements = most * options.input.numel();
    slot.images = allocate(options, elements * static_cast<std::int64_t>(size_of(options.dtype)));
    slot.labels =
        allocate(options, most * split.labels_each() * static_cast<std::int64_t>(sizeof(std::int32_t)));
    slot.members.resize(static_cast<std::size_t>(most));
    if (writer)
      dispatch_float(options.dtype, [&]<class T>() {
        for (std::int64_t i = 0; i < most; ++i)
          writer->clear(static_cast<T*>(slot.images.get()) + i * options.input.numel());
      });
    slot.batch.images = slot.images.get();
    slot.batch.labels = static_cast<std::int32_t*>(slot.labels.get());
  }

  void shuffle(std::int64_t epoch) {
    ordered_epoch = epoch;
    fill_order(order, options.shuffle, options.seed, epoch);
  }

  // Claims the next batch, fills in its slot's members and returns its number; -1 if nothing is left.
  std::int64_t claim() {
    const std::lock_guard turn(claiming);
    {
      std::unique_lock lock(mutex);
      freed.wait(lock, [&] { return stop || claimed == total || claimed - released < depth; });
      if (stop || claimed == total) return -1;
    }
    const std::int64_t number = claimed++, first = number % per_epoch * options.batch;
    Slot& slot = slot_of(number);
    Batch& batch = slot.batch;
    batch.epoch = number / per_epoch;
    if (batch.epoch != ordered_epoch) shuffle(batch.epoch);
    batch.global = std::min(options.batch, split.count() - first);
    batch.last_of_epoch = first + batch.global == split.count();
    const Share share = share_of(batch.global, options.parts, options.part);
    batch.first = share.first, batch.count = share.count;
    std::copy_n(order.begin() + first + share.first, share.count, slot.members.begin());
    return number;
  }

  void fill_text(const Slot& slot) const {
    const std::int64_t context = split.image[0];
    for (std::int64_t i = 0; i < slot.batch.count; ++i) {
      const std::uint8_t* from = split.text.data() + slot.members[static_cast<std::size_t>(i)] * context;
      std::copy_n(from, context, static_cast<std::int32_t*>(slot.batch.images) + i * context);
      std::copy_n(from + 1, context, slot.batch.labels + i * context);
    }
  }

  void fill_answer(const Batch& batch, std::int64_t i, std::int64_t image) const {
    static_assert(sizeof(float) == sizeof(std::int32_t));
    const std::int64_t each = split.targets_each;
    if (each == 0)
      batch.labels[i] = split.labels[static_cast<std::size_t>(image)];
    else
      std::memcpy(batch.labels + i * each, split.targets.data() + image * each,
                  static_cast<std::size_t>(each) * sizeof(float));
  }

  void fill(Slot& slot) const {
    if (!writer) return fill_text(slot);
    const Batch& batch = slot.batch;
    for (std::int64_t i = 0; i < batch.count; ++i) {
      const std::int64_t image = slot.members[static_cast<std::size_t>(i)];
      fill_answer(batch, i, image);
      if (!split.values.empty()) {
        dispatch_float(options.dtype, [&]<class T>() {
          std::copy_n(split.values.data() + image * split.image.numel(), split.image.numel(),
                      static_cast<T*>(batch.images) + i * options.input.numel());
        });
        continue;
      }
      const std::uint8_t* pixels = split.pixels.data() + image * split.image.numel();
      const Jitter jitter = draw_jitter(options.augment, options.seed, batch.epoch, image);
      dispatch_float(options.dtype, [&]<class T>() {
        writer->write(pixels, jitter, static_cast<T*>(batch.images) + i * options.input.numel());
      });
    }
  }

  void run() {
    try {
      for (std::int64_t number; (number = claim()) >= 0;) {
        Slot& slot = slot_of(number);
        {
          const Span span(kPrepareSpan, SpanKind::data);
          fill(slot);
        }
        {
          const std::lock_guard lock(mutex);
          slot.filled = number;
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
    freed.notify_all();
    if (taken == total) return nullptr;
    Slot& slot = slot_of(taken);
    {
      const Span span(kLoaderWaitSpan, SpanKind::wait);
      ready.wait(lock, [&] { return slot.filled == taken || error != nullptr; });
    }
    if (slot.filled != taken) std::rethrow_exception(error);
    ++taken;
    return &slot.batch;
  }

  Slot& slot_of(std::int64_t number) { return slots[static_cast<std::size_t>(number % depth)]; }

  const Split& split;
  const LoaderOptions options;
  std::optional<PixelWriter> writer;  // none for text
  const std::int64_t per_epoch, total, depth;
  std::vector<Slot> slots;

  std::mutex claiming;  // guards the next three
  std::vector<std::int64_t> order;
  std::int64_t ordered_epoch = -1, claimed;  // epoch of `order`; number of claimed batches

  std::mutex mutex;  // guards what follows
  std::condition_variable ready, freed;
  std::int64_t taken, released;  // batches so far; released <= taken <= claimed
  std::exception_ptr error;
  bool stop = false;
  std::vector<std::thread> threads;
};

Loader::Loader(const Split& split, const LoaderOptions& options)
    : impl_(std::make_unique<Impl>(split, options)) {}
Loader::~Loader() = default;

const Batch* Loader::next() { return impl_->next(); }
std::int64_t Loader::batches_per_epoch() const { return impl_->per_epoch; }

}  // namespace headroom

#include "cli/live_events.h"

#include <utility>

namespace headroom::cli {

std::shared_ptr<LiveEvents::Reader> LiveEvents::join() {
  const std::lock_guard lock(mutex_);
  if (closed_ || readers_.size() >= kMaxReaders) return nullptr;
  readers_.push_back(std::make_shared<Reader>());
  if (newest_ != nullptr) readers_.back()->queue.push_back(newest_);
  return readers_.back();
}

void LiveEvents::leave(const std::shared_ptr<Reader>& reader) {
  const std::lock_guard lock(mutex_);
  std::erase(readers_, reader);
  changed_.notify_all();
}

std::size_t LiveEvents::readers() const {
  const std::lock_guard lock(mutex_);
  return readers_.size();
}

void LiveEvents::send(std::string text) {
  auto event = std::make_shared<const std::string>(std::move(text));
  const std::lock_guard lock(mutex_);
  for (const auto& reader : readers_) {
    if (reader->queue.size() >= kMaxQueued) reader->queue.pop_front();
    reader->queue.push_back(event);
  }
  newest_ = std::move(event);
  changed_.notify_all();
}

LiveEvents::Next LiveEvents::next(Reader& reader, std::chrono::milliseconds max_wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, max_wait, [&] { return closed_ || !reader.queue.empty(); });
  if (reader.queue.empty()) return {nullptr, closed_};
  Text text = std::move(reader.queue.front());
  reader.queue.pop_front();
  return {std::move(text), false};
}

void LiveEvents::close(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, patience, [&] { return readers_.empty(); });
}

}  // namespace headroom::cli

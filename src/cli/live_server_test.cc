#include "cli/live_server.h"

#include <gtest/gtest.h>

#include <csignal>

#include "base/testing/bad_input.h"
#include "cli/live_events.h"

#ifdef HEADROOM_HAS_HTTPLIB
#include <httplib.h>
#endif

namespace headroom::cli {
namespace {

using std::chrono::milliseconds;
using testing::expect_rejected;

TEST(LiveEvents, ASlowReaderMissesTheOldest) {
  LiveEvents events;
  const auto reader = events.join();
  for (int i = 0; i < 1'000; ++i) events.send(std::to_string(i));
  EXPECT_EQ(reader->queue.size(), LiveEvents::kMaxQueued);
  for (std::size_t i = 1'000 - LiveEvents::kMaxQueued; i < 1'000; ++i)
    EXPECT_EQ(*events.next(*reader, milliseconds(0)).text, std::to_string(i));
  const LiveEvents::Next none = events.next(*reader, milliseconds(0));
  EXPECT_EQ(none.text, nullptr);
  EXPECT_FALSE(none.ended);
}

TEST(LiveEvents, AClosedStreamGivesWhatItHasThenEnds) {
  LiveEvents events;
  const auto reader = events.join();
  events.send("last");
  events.close(milliseconds(0));
  EXPECT_EQ(*events.next(*reader, milliseconds(0)).text, "last");
  EXPECT_TRUE(events.next(*reader, milliseconds(0)).ended);
  EXPECT_EQ(events.join(), nullptr);
}

TEST(LiveEvents, AFewReadersAreEnough) {
  LiveEvents events;
  std::vector<std::shared_ptr<LiveEvents::Reader>> all;
  for (std::size_t i = 0; i < LiveEvents::kMaxReaders; ++i) all.push_back(events.join());
  EXPECT_EQ(events.join(), nullptr);
  events.leave(all.front());
  EXPECT_NE(events.join(), nullptr);
}

#ifndef HEADROOM_HAS_HTTPLIB

TEST(LiveServer, NeedsItsLibrary) {
  GTEST_SKIP() << "the tests of the server need cpp-httplib (libcpp-httplib-dev)";
}

#else

// Waits for a condition that a thread will make true.
template <class Condition>
bool comes_true(Condition&& condition) {
  for (int tries = 0; tries < 6'000; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

// An EventSource: reads /events in a thread until the server ends.
class EventSource {
 public:
  explicit EventSource(int port)
      : thread_([this, port] {
          httplib::Client client("127.0.0.1", port);
          client.set_read_timeout(60);
          client.Get("/events", [this](const char* bytes, std::size_t count) {
            const std::lock_guard lock(mutex_);
            text_.append(bytes, count);
            return true;
          });
        }) {}
  ~EventSource() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  bool has(const std::string& part) const {
    return comes_true([&] { return text().find(part) != std::string::npos; });
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
  std::thread thread_;
};

int status_of(int port, const std::string& path, const std::string& host = {}) {
  httplib::Client client("127.0.0.1", port);
  httplib::Headers headers;
  if (!host.empty()) headers.emplace("Host", host);
  int status = -1;
  client.Get(
      path, headers,
      [&](const httplib::Response& response) {
        status = response.status;
        return false;  // a stream of events would not end
      },
      [](const char*, std::size_t) { return false; });
  return status;
}

TEST(LiveServer, GivesTheNewestPage) {
  LiveServer server({});
  server.show("<p>first</p>");
  server.show("<p>second</p>");
  httplib::Client client("127.0.0.1", server.port());
  const httplib::Result result = client.Get("/");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->body, "<p>second</p>");
  EXPECT_EQ(result->get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(result->get_header_value("Cache-Control"), "no-store");
  EXPECT_EQ(status_of(server.port(), "/elsewhere"), 404);
  EXPECT_EQ(server.url(), fmt::format("http://127.0.0.1:{}/", server.port()));
}

TEST(LiveServer, EventsReachAllReadersInOrder) {
  auto server = std::make_unique<LiveServer>(LiveAddress{});
  EventSource one(server->port()), two(server->port());
  ASSERT_TRUE(comes_true([&] { return server->readers() == 2; }));
  std::string expected;
  for (int i = 0; i < 5; ++i) {
    server->send("update", std::to_string(i));
    expected += fmt::format("event: update\ndata: {}\n\n", i);
  }
  server->send("done", "{}");
  server.reset();  // readers get what was sent before
  one.join(), two.join();
  EXPECT_EQ(one.text(), expected + "event: done\ndata: {}\n\n");
  EXPECT_EQ(two.text(), one.text());
}

TEST(LiveServer, AReaderThatComesLateGetsTheNewestEvent) {
  LiveServer server({});
  server.send("update", "old");
  server.send("update", "new");
  {
    httplib::Client client("127.0.0.1", server.port());
    std::string text;
    client.Get("/events", [&](const char* bytes, std::size_t count) {
      text.append(bytes, count);
      return false;  // hangs up
    });
    EXPECT_EQ(text, "event: update\ndata: new\n\n");
  }
  EXPECT_TRUE(comes_true([&] {
    server.send("update", "who is there?");
    return server.readers() == 0;
  })) << "it is gone";
}

TEST(LiveServer, AReaderThatStopsReadingIsDropped) {
  auto owned = std::make_unique<LiveServer>(LiveAddress{});
  LiveServer& server = *owned;
  httplib::Client stalled("127.0.0.1", server.port());
  std::atomic<bool> over = false;
  std::thread thread([&] {
    stalled.Get("/events", [&](const char*, std::size_t) { return comes_true([&] { return over.load(); }); });
  });
  EventSource good(server.port());
  ASSERT_TRUE(comes_true([&] { return server.readers() == 2; }));
  const std::string large(300'000, 'x');
  EXPECT_TRUE(comes_true([&] {
    server.send("update", large);  // more than the system keeps for a reader
    return server.readers() == 1;
  }));
  server.send("update", "\"the end\"");
  EXPECT_TRUE(good.has("\"the end\"")) << "the other reader gets everything";
  over = true;
  thread.join();
  owned.reset();  // ends the other one
}

TEST(LiveServer, WithoutTheTokenNothingIsGiven) {
  LiveServer server({.token = "right-word"});
  EXPECT_TRUE(server.url().ends_with("/?token=right-word")) << server.url();
  for (const char* path : {"/", "/events"}) {
    for (const char* wrong :
         {"", "?token=", "?token=wrong-word", "?token=right", "?token=right-wordright-word"})
      EXPECT_EQ(status_of(server.port(), std::string(path) + wrong), 403) << path << wrong;
  }
  EXPECT_EQ(status_of(server.port(), "/?token=right-word"), 200);
  EXPECT_EQ(status_of(server.port(), "/?a=b&token=right-word"), 200);
}

TEST(LiveServer, AnswersOnlyToItsOwnNames) {
  LiveServer server({});
  const std::string port = fmt::format(":{}", server.port());
  for (const std::string name : {"localhost", "LocalHost", "127.0.0.1"})
    EXPECT_EQ(status_of(server.port(), "/", name + port), 200) << name;
  for (const std::string name : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::1]"})
    for (const char* path : {"/", "/events"})
      EXPECT_EQ(status_of(server.port(), path, name + port), 403) << name;
}

TEST(LiveServer, APortInUseIsRefused) {
  LiveServer server({});
  expect_rejected([&] { LiveServer second({.port = server.port()}); },
                  {fmt::format("port {} of 127.0.0.1 is in use", server.port())});
  expect_rejected([] { LiveServer elsewhere({.host = "192.0.2.1"}); }, {"cannot listen on '192.0.2.1'"});
}

TEST(LiveServer, AFewReadersAreEnough) {
  std::vector<std::unique_ptr<EventSource>> sources;  // end after the server
  LiveServer server({});
  for (std::size_t i = 0; i < LiveEvents::kMaxReaders; ++i)
    sources.push_back(std::make_unique<EventSource>(server.port()));
  ASSERT_TRUE(comes_true([&] { return server.readers() == LiveEvents::kMaxReaders; }));
  EXPECT_EQ(status_of(server.port(), "/events"), 503);
  EXPECT_EQ(status_of(server.port(), "/"), 200) << "the page itself is still given";
}

// The library would ignore it for the whole program.
TEST(LiveServer, LeavesSigpipeAlone) {
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  LiveServer server({});
  EXPECT_EQ(std::signal(SIGPIPE, before), SIG_DFL);
}

#endif

}  // namespace
}  // namespace headroom::cli

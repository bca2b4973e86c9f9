#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace headroom::cli {

bool has_live_server();  // built with cpp-httplib
void require_live_server();

struct LiveAddress {
  std::string host = "127.0.0.1";
  int port = 0;       // 0: a free one
  std::string token;  // if not empty, every request must carry it: ?token=...
};

// Serves one page and a stream of events to browsers, in threads of its own. No function waits for a browser.
// Hides the HTTP library, whose header takes seconds to compile: only live_server.cc includes it.
class LiveServer {
 public:
  explicit LiveServer(LiveAddress address);  // rejects a port that is taken, and a host that is not here
  ~LiveServer();  // lets browsers take the last events, but not for longer than half a second
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  int port() const;
  std::string url() const;  // of the page, with the token

  void show(std::string whole_page);  // what GET / returns from now on
  // To every EventSource of /events. The JSON must be one line.
  void send(const std::string& event, const std::string& json);
  std::size_t readers() const;  // connected to /events

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom::cli

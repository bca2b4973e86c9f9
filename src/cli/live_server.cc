#include "cli/live_server.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"
#include "cli/live_events.h"

#ifdef HEADROOM_HAS_HTTPLIB
#include <httplib.h>
#endif

namespace headroom::cli {

void require_live_server() {
  if (!has_live_server())
    reject(Hint{"install libcpp-httplib-dev and build again"},
           "this program was built without cpp-httplib, which serves the live page");
}

#ifdef HEADROOM_HAS_HTTPLIB

bool has_live_server() { return true; }

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kThreads = LiveEvents::kMaxReaders + 4;  // a reader of events keeps one busy
constexpr int kMaxSilenceSeconds = 1;                          // of a browser that should read or write
constexpr milliseconds kHeartbeat(5'000);                      // finds out who is gone
constexpr milliseconds kLastWords(3'000);                      // for browsers of a busy machine

// Compares all bytes, so that the time tells nothing about the token.
bool same_token(const std::string& got, const std::string& wanted) {
  unsigned differences = got.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < got.size(); ++i)
    differences |= static_cast<unsigned char>(got[i]) ^ static_cast<unsigned char>(wanted[i % wanted.size()]);
  return differences == 0;
}

bool is_any_address(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

std::string in_brackets(const std::string& host) {
  return host.find(':') == host.npos ? host : "[" + host + "]";
}

// "Localhost:8080" as "localhost", "[::1]:8080" as "[::1]".
std::string host_alone(std::string host) {
  const std::size_t colon = host.rfind(':'), bracket = host.rfind(']');
  if (colon != host.npos && (bracket == host.npos || colon > bracket)) host.resize(colon);
  std::ranges::transform(host, host.begin(), [](unsigned char c) { return std::tolower(c); });
  return host;
}

// Another site can make its name point to this machine, and its script could then read the page. The browser
// tells the name it used. A server for all addresses has names we do not know; there the token protects it.
bool is_our_host(const std::string& header, const std::string& host) {
  if (is_any_address(host)) return true;
  const std::array<std::string, 3> known = {"localhost", "127.0.0.1", in_brackets(host_alone(host))};
  return std::ranges::find(known, host_alone(header)) != known.end();
}

// The library ignores SIGPIPE for the whole process. Our threads block it instead, so that a closed pipe ends
// the program as before.
std::unique_ptr<httplib::Server> make_server() {
  struct sigaction before {};
  ::sigaction(SIGPIPE, nullptr, &before);
  auto server = std::make_unique<httplib::Server>();
  ::sigaction(SIGPIPE, &before, nullptr);
  return server;
}

// By default the library shares a taken port with another process.
void refuse_taken_port(socket_t socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

[[noreturn]] void reject_address(const LiveAddress& address, int error) {
  if (error == EADDRINUSE)
    reject(Hint{"give another port, or --live 0 for a free one"},
           "--live: port {} of {} is in use by another program", address.port, address.host);
  if (error == EACCES)
    reject(Hint{"give a port from 1024, or --live 0 for a free one"},
           "--live: port {} is reserved for the administrator", address.port);
  reject(Hint{"give an address of this machine, as 0.0.0.0 for all of them"},
         "--live-address: cannot listen on '{}'{}", address.host,
         error == 0 ? "" : fmt::format(": {}", std::strerror(error)));
}

}  // namespace

struct LiveServer::Impl {
  explicit Impl(LiveAddress wanted) : address(std::move(wanted)), server(make_server()) {
    server->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server->set_socket_options(refuse_taken_port);
    server->set_keep_alive_max_count(1);  // an idle connection would keep a thread busy
    server->set_keep_alive_timeout(kMaxSilenceSeconds);
    server->set_read_timeout(kMaxSilenceSeconds);
    server->set_write_timeout(kMaxSilenceSeconds);
    server->set_payload_max_length(0);
    server->set_default_headers(
        {{"Cache-Control", "no-store"},
         {"Content-Security-Policy", "default-src 'self' 'unsafe-inline' data:; frame-ancestors 'none'"},
         {"Referrer-Policy", "no-referrer"},
         {"X-Content-Type-Options", "nosniff"}});
    server->set_pre_routing_handler([this](const auto& request, auto& response) {
      return is_allowed(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                           : httplib::Server::HandlerResponse::Handled;
    });
    server->Get("/", [this](const auto&, auto& response) { give_page(response); });
    server->Get("/events", [this](const auto&, auto& response) { give_events(response); });
    bind();
    serve();
  }

  ~Impl() {
    events.close(kLastWords);
    server->stop();
    thread.join();
  }

  void bind() {
    errno = 0;
    if (address.port == 0)
      address.port = std::max(server->bind_to_any_port(address.host), 0);
    else if (!server->bind_to_port(address.host, address.port))
      reject_address(address, errno);
    if (address.port == 0) reject_address(address, errno);
  }

  void serve() {
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's own threads
    thread = std::thread([this] { server->listen_after_bind(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    while (!server->is_running()) std::this_thread::yield();  // before that, stop() has no effect
  }

  bool is_allowed(const httplib::Request& request, httplib::Response& response) const {
    const bool host = is_our_host(request.get_header_value("Host"), address.host);
    if (host && (address.token.empty() || same_token(request.get_param_value("token"), address.token)))
      return true;
    response.status = 403;
    response.set_content(host ? "The address lacks the token: ?token=...\n" : "Not a name of this server.\n",
                         "text/plain");
    return false;
  }

  // With a known length the library does not compress it, which would take time from the training.
  void give_page(httplib::Response& response) const {
    LiveEvents::Text text;
    {
      const std::lock_guard lock(mutex);
      text = page;
    }
    response.set_content_provider(text->size(), "text/html; charset=utf-8",
                                  [text](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                                    return sink.write(text->data() + offset, length);
                                  });
  }

  void give_events(httplib::Response& response) {
    const std::shared_ptr<LiveEvents::Reader> reader = events.join();
    if (reader == nullptr) {
      response.status = 503;
      return response.set_content("Too many pages are open.\n", "text/plain");
    }
    response.set_content_provider(
        "text/event-stream",
        [this, reader](std::size_t, httplib::DataSink& sink) {
          const LiveEvents::Next next = events.next(*reader, kHeartbeat);
          if (next.ended) sink.done();
          if (next.ended) return true;
          constexpr std::string_view kComment = ":\n\n";
          const std::string_view text = next.text == nullptr ? kComment : *next.text;
          return sink.write(text.data(), text.size());
        },
        [this, reader](bool) { events.leave(reader); });
  }

  LiveAddress address;
  LiveEvents events;
  mutable std::mutex mutex;
  LiveEvents::Text page = std::make_shared<const std::string>("<!DOCTYPE html><title>headroom</title>");
  std::unique_ptr<httplib::Server> server;
  std::thread thread;
};

LiveServer::LiveServer(LiveAddress address) : impl_(std::make_unique<Impl>(std::move(address))) {}
LiveServer::~LiveServer() = default;

int LiveServer::port() const { return impl_->address.port; }

std::string LiveServer::url() const {
  const auto& [host, port, token] = impl_->address;
  std::array<char, 256> name{};
  const bool any = is_any_address(host) && ::gethostname(name.data(), name.size() - 1) == 0;
  return fmt::format("http://{}:{}/{}", any ? name.data() : in_brackets(host), port,
                     token.empty() ? "" : "?token=" + token);
}

void LiveServer::show(std::string whole_page) {
  auto page = std::make_shared<const std::string>(std::move(whole_page));
  const std::lock_guard lock(impl_->mutex);
  impl_->page = std::move(page);
}

void LiveServer::send(const std::string& event, const std::string& json) {
  impl_->events.send(fmt::format("event: {}\ndata: {}\n\n", event, json));
}

std::size_t LiveServer::readers() const { return impl_->events.readers(); }

#else

bool has_live_server() { return false; }

struct LiveServer::Impl {};
LiveServer::LiveServer(LiveAddress) { require_live_server(); }
LiveServer::~LiveServer() = default;
int LiveServer::port() const { return 0; }
std::string LiveServer::url() const { return {}; }
void LiveServer::show(std::string) {}
void LiveServer::send(const std::string&, const std::string&) {}
std::size_t LiveServer::readers() const { return 0; }

#endif

}  // namespace headroom::cli

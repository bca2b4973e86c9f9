#pragma once

// A server for one test, on a free loopback port: whole files, ranges, and every kind of failure.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace headroom::testing {

class HttpServer {
 public:
  explicit HttpServer(std::map<std::string, std::string> files) : files_(std::move(files)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 16);
    socklen_t length = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    stop_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string address() const { return fmt::format("http://127.0.0.1:{}/", port_); }

  std::atomic<std::size_t> cut_after = 0;  // > 0: close the connection after this many bytes of a file, once
  std::atomic<bool> no_ranges = false;

  // The first line of each request, and its range if it had one.
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    while (!stop_) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      answer(client);
      ::close(client);
    }
  }

  static std::string head_of(int client) {
    std::string text;
    for (char c; text.find("\r\n\r\n") == std::string::npos && ::recv(client, &c, 1, 0) == 1;) text += c;
    return text;
  }
  static void send_all(int client, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  void answer(int client) {
    const std::string head = head_of(client);
    const std::size_t begin = head.find('/') + 1;
    const std::string name = head.substr(begin, head.find(' ', begin) - begin);
    const std::size_t range = head.find("Range: bytes=");
    const std::size_t from =
        range == std::string::npos ? 0 : std::strtoull(head.c_str() + range + 13, nullptr, 10);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(name + (from > 0 ? fmt::format(" from {}", from) : ""));
    }
    const auto found = files_.find(name);
    if (found == files_.end()) return reply(client, "404 Not Found", "<html>no such file</html>", "");
    const std::string& file = found->second;
    if (from == 0 || no_ranges) return reply(client, "200 OK", file, "");
    if (from >= file.size()) return reply(client, "416 Range Not Satisfiable", "", "");
    reply(client, "206 Partial Content", file.substr(from),
          fmt::format("Content-Range: bytes {}-{}/{}\r\n", from, file.size() - 1, file.size()));
  }

  void reply(int client, const std::string& status, std::string_view body, const std::string& more) {
    send_all(client, fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n", status,
                                 body.size(), more));
    const std::size_t cut = cut_after.exchange(0);
    send_all(client, cut > 0 ? body.substr(0, cut) : body);
  }

  const std::map<std::string, std::string> files_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace headroom::testing

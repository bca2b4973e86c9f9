#include "driver.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "base/text.h"

#ifdef HEADROOM_HAS_HTTPLIB
#include <httplib.h>
#endif

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kBetweenLooks(20);
constexpr int kAnswerSeconds = 180;  // of a machine that is busy with other tests

std::string program_on_path(const std::vector<std::string>& names) {
  const char* path = std::getenv("PATH");
  for (const std::string& name : names)
    for (const std::string& folder : split(path == nullptr ? "" : path, ':'))
      if (const std::string file = folder + "/" + name; ::access(file.c_str(), X_OK) == 0) return file;
  return {};
}
std::string driver_program() { return program_on_path({"chromedriver"}); }

}  // namespace

#ifdef HEADROOM_HAS_HTTPLIB

struct Driver::Connection {
  explicit Connection(int port) : client("127.0.0.1", port) {
    client.set_keep_alive(true);
    client.set_read_timeout(kAnswerSeconds);
  }
  std::string ask(const std::string& method, const std::string& path, const std::string& body) {
    const httplib::Result result = method == "GET"      ? client.Get(path)
                                   : method == "DELETE" ? client.Delete(path)
                                                        : client.Post(path, body, "application/json");
    if (!result) fail("chromedriver did not answer {} {}: {}", method, path, to_string(result.error()));
    return result->body;
  }
  httplib::Client client;
};
constexpr bool kHasHttp = true;

#else

struct Driver::Connection {
  explicit Connection(int) {}
  std::string ask(const std::string&, const std::string&, const std::string&) { return {}; }
};
constexpr bool kHasHttp = false;

#endif

std::string browser_program() {
  return program_on_path({"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"});
}

std::string why_no_browser() {
  if (!kHasHttp) return "these tests were built without cpp-httplib (libcpp-httplib-dev)";
  if (driver_program().empty()) return "there is no chromedriver on the PATH (chromium-driver)";
  if (browser_program().empty()) return "there is no chromium on the PATH (chromium)";
  return {};
}

Driver::Driver() : folder_(fs::temp_directory_path() / fmt::format("headroom-browser-{}", ::getpid())) {
  fs::create_directories(folder_);
  start();
  connection_ = std::make_unique<Connection>(find_port());
}

Driver::~Driver() {
  ::kill(pid_, SIGKILL);  // the browser ends when its pipe from the driver closes
  ::waitpid(pid_, nullptr, 0);
  std::error_code error;
  for (int tries = 0; tries < 100 && fs::exists(folder_, error); ++tries) {
    fs::remove_all(folder_, error);  // a browser that ends can still write to it
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

Json Driver::ask(const std::string& method, const std::string& path, const Json& body) {
  const std::string answer = connection_->ask(method, path, body.dump());
  const Json json = Json::parse(answer, nullptr, false);
  if (!json.is_object() || !json.contains("value")) fail("chromedriver answered {}: {}", path, answer);
  const Json& value = json["value"];
  if (value.is_object() && value.contains("error"))
    fail("the browser refuses {} {} {}: {}", method, path, body.dump(),
         value.value("message", value["error"].dump()));
  return value;
}

void Driver::start() {
  const std::string program = driver_program(), log = (folder_ / "log").string();
  const std::string folder = "TMPDIR=" + folder_.string(), home = "HOME=" + folder_.string();
  std::vector<const char*> settings = {folder.c_str(), home.c_str()};
  for (char** e = environ; *e != nullptr; ++e)
    if (const std::string_view item = *e; !item.starts_with("TMPDIR=") && !item.starts_with("HOME="))
      settings.push_back(*e);
  settings.push_back(nullptr);
  const char* words[] = {program.c_str(), "--port=0", nullptr};
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail("cannot start {}", program);
  if (pid_ > 0) return;
  // The child of a process with threads may only make system calls.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (::getppid() != parent || file < 0) ::_exit(127);
  ::dup2(file, 1);
  ::dup2(file, 2);
  ::execve(program.c_str(), const_cast<char**>(words), const_cast<char**>(settings.data()));
  ::_exit(127);
}

// chromedriver chooses a free port and says which.
int Driver::find_port() {
  constexpr std::string_view kBefore = "started successfully on port ";
  const auto now = std::chrono::steady_clock::now;
  const auto end = now() + std::chrono::seconds(kAnswerSeconds);
  while (now() < end) {
    std::error_code error;
    const std::string log = fs::exists(folder_ / "log", error) ? read_file(folder_ / "log") : "";
    const std::size_t at = log.find(kBefore);
    if (at != log.npos && log.find('.', at) != log.npos) return std::atoi(log.c_str() + at + kBefore.size());
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) fail("chromedriver ended at once: {}", log);
    std::this_thread::sleep_for(kBetweenLooks);
  }
  fail("chromedriver does not say its port");
}

}  // namespace headroom::testing

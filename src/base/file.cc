#include "base/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace headroom {
namespace {

struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  int fd;
};

std::string reason() { return std::strerror(errno); }
const Hint kNotAFolder{"name a file"};
const Hint kElsewhere{"name a place that you can write to"};

std::string aside_of(const std::filesystem::path& path) {
  return fmt::format("{}.{}.part", path.string(), ::getpid());
}

// Terminals, pipes and /dev/null are written in place: a rename would replace the device with a file.
bool is_device(const std::filesystem::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

// A link stays a link: its target is replaced.
std::filesystem::path behind_links(const std::filesystem::path& path) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target;
}

// A write that began and could not end: the disk or a limit, not the request.
[[noreturn]] void cannot_finish(const std::filesystem::path& shown) {
  const bool full = errno == ENOSPC || errno == EDQUOT, limited = errno == EFBIG;
  throw Error(Blame::run, fmt::format("cannot write {}: {}", shown.string(), reason()),
              Hint{full      ? "free some space, or name a file on another disk"
                   : limited ? "the file would exceed the limit on file sizes: see ulimit -f"
                             : ""});
}

// `shown` is the name of the file for the user.
void write_bytes(const std::filesystem::path& path, const std::filesystem::path& shown, int flags,
                 std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (file.fd < 0) reject(kElsewhere, "cannot write {}: {}", shown.string(), reason());
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(file.fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) cannot_finish(shown);
    done += static_cast<std::size_t>(n);
  }
  const bool lives_on_disk = (flags & O_CREAT) != 0;
  if (lives_on_disk && ::fsync(file.fd) != 0) cannot_finish(shown);
}

// Files that a process cannot or must not hold in memory are refused with their reason, not read until the
// memory is full: devices never end, and a sparse file of terabytes costs nothing to make.
std::size_t readable_bytes(const std::filesystem::path& path, const struct stat& info) {
  constexpr std::size_t kMaxPipe = std::size_t{1} << 30;
  if (S_ISDIR(info.st_mode)) reject(kNotAFolder, "cannot read {}: it is a folder", path.string());
  if (S_ISFIFO(info.st_mode)) return kMaxPipe;
  if (!S_ISREG(info.st_mode))
    reject(Hint{"name a file, or a pipe"}, "cannot read {}: it is a device, not a file", path.string());
  const std::int64_t limit = max_file_bytes();
  if (info.st_size > limit)
    reject(Hint{"take a smaller file"}, "cannot read {}: it has {} bytes; half of the memory here is {}",
           path.string(), info.st_size, limit);
  return static_cast<std::size_t>(limit);
}

// Rejects a pipe that stays silent.
void wait_for_bytes(int fd, const std::filesystem::path& path) {
  constexpr int kSeconds = 10;
  pollfd pipe{fd, POLLIN, 0};
  int ready = 0;
  do ready = ::poll(&pipe, 1, 1000 * kSeconds);
  while (ready < 0 && errno == EINTR);
  if (ready == 0)
    reject(Hint{"start the program that writes to it first"}, "cannot read {}: the pipe was silent for {} s",
           path.string(), kSeconds);
}

}  // namespace

std::int64_t max_file_bytes() {
  return std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE) / 2;
}

void reject_unreadable(const std::filesystem::path& path) {
  const std::string why = reason();
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  const bool relative = path.is_relative() && !error;
  reject(Hint{"check the path" + (relative ? "; it is relative to " + here.string() : "")},
         "cannot read {}: {}", path.string(), why);
}

std::string read_file(const std::filesystem::path& path) {
  // Without O_NONBLOCK a pipe that nobody writes to would block here forever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) reject_unreadable(path);
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) reject_unreadable(path);
  const std::size_t limit = readable_bytes(path, info);
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  for (;;) {
    if (done > limit)
      reject("cannot read {}: it holds more than {} bytes, which is the limit for {}", path.string(), limit,
             S_ISFIFO(info.st_mode) ? "pipes" : "files here");
    if (done == bytes.size()) bytes.resize(bytes.size() + std::max<std::size_t>(4096, bytes.size() / 2));
    if (S_ISFIFO(info.st_mode)) wait_for_bytes(file.fd, path);
    const ssize_t n = ::read(file.fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) reject_unreadable(path);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  if (is_device(path)) return write_bytes(path, path, O_WRONLY, bytes);
  const std::filesystem::path target = behind_links(path);
  const std::string aside = aside_of(target);
  try {
    write_bytes(aside, path, O_WRONLY | O_CREAT | O_TRUNC, bytes);
    if (::rename(aside.c_str(), target.c_str()) != 0)
      reject(kElsewhere, "cannot write {}: {}", path.string(), reason());
  } catch (...) {
    ::unlink(aside.c_str());
    throw;
  }
}

void require_writable(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    reject(kNotAFolder, "cannot write {}: it is a folder", path.string());
  if (is_device(path)) {
    if (::access(path.c_str(), W_OK) != 0) reject(kElsewhere, "cannot write {}: {}", path.string(), reason());
    return;
  }
  const std::filesystem::path target = behind_links(path);
  const auto folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::exists(folder, ignored))
    reject(Hint{"make the folder first, or name another"}, "cannot write {}: there is no folder {}",
           path.string(), folder.string());
  // Permissions do not cover everything (root, read-only and full file systems, long names), so try it.
  const std::string aside = aside_of(target);
  const Descriptor file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.fd < 0) reject(kElsewhere, "cannot write {}: {}", path.string(), reason());
  ::unlink(aside.c_str());
}

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  if (is_device(a) || is_device(b)) return false;
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error)) return true;
  const auto whole = [](const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
  };
  return whole(a) == whole(b);
}

std::filesystem::path cache_dir() {
  auto variable = [](const char* name) {
    return std::filesystem::path(std::getenv(name) ? std::getenv(name) : "");
  };
  if (const auto own = variable("HEADROOM_CACHE"); !own.empty()) return own;
  if (const auto xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg / "headroom";
  if (const auto home = variable("HOME"); !home.empty()) return home / ".cache" / "headroom";
  return std::filesystem::temp_directory_path() / "headroom";
}

}  // namespace headroom

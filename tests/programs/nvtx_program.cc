// A program with NVTX ranges that calls the injection library as CUDA's driver would, on machines without
// one: `nvtx_program end`, or fork, fork-after, crash.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

void work() {
  nvtxDomainHandle_t const domain = nvtxDomainCreateA("data");
  nvtxEventAttributes_t batch{};
  batch.version = NVTX_VERSION, batch.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  batch.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  batch.message.registered = nvtxDomainRegisterStringA(domain, "batch");
  for (int i = 0; i < 3; ++i) {
    nvtxRangePushA("step");
    nvtxDomainRangePushEx(domain, &batch);
    nvtxRangePushA("forward");
    nvtxDomainRangePop(domain);
    nvtxRangePop();
    nvtxRangePop();
  }
  const nvtxRangeId_t id = nvtxRangeStartA("across threads");
  std::thread([id] { nvtxRangeEnd(id); }).join();
}

}  // namespace

int main(int, char** words) {
  const std::string ending = words[1] != nullptr ? words[1] : "end";
  nvtxRangePushA("start-up");
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path != nullptr ? ::dlopen(path, RTLD_NOW) : nullptr;
  if (library == nullptr) return 3;
  const auto initialize = reinterpret_cast<int (*)()>(::dlsym(library, "InitializeInjection"));
  if (ending == "fork") {  // the child alone would use CUDA
    if (const pid_t child = ::fork(); child != 0) {
      int status = 0;
      ::waitpid(child, &status, 0);
      return WEXITSTATUS(status);
    }
  }
  if (initialize == nullptr || initialize() != 1) return 4;
  nvtxRangePop();
  work();
  if (ending == "fork-after" && ::fork() == 0) return 0;  // whose end must not count
  if (ending == "crash") {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // the library writes once a second
    std::raise(SIGSEGV);
  }
  return 0;
}

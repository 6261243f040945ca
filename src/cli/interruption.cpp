#include "interruption.h"

#include <csignal>
#include <cstdlib>
#include <utility>

#include "exit_code.h"

namespace cairn::cli {

Interruption::Interruption(std::function<void()> last_words) {
  sigemptyset(&waited_for_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&waited_for_, signal);
  pthread_sigmask(SIG_BLOCK, &waited_for_, &before_);
  thread_ = std::thread([this, words = std::move(last_words)] { wait(words); });
}

Interruption::~Interruption() {
  over_ = true;
  pthread_kill(thread_.native_handle(), SIGHUP);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interruption::wait(const std::function<void()>& last_words) const {
  int signal = 0;
  struct sigaction action {};
  do {  // what is to be ignored, as a hangup under nohup, arrives here all the same
    sigwait(&waited_for_, &signal);
    sigaction(signal, nullptr, &action);
  } while (!over_ && action.sa_handler == SIG_IGN);
  if (over_) return;
  last_words();
  if (signal == SIGINT) std::_Exit(k_interrupted);
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &waited_for_, nullptr);
  std::raise(signal);
}

}  // namespace cairn::cli

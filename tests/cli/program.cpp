#include "cli/program.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.h"

namespace cairn::cli_tests {
namespace {

namespace fs = std::filesystem;

class Scratch {
 public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "cairn-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void redirect(const std::string& file, int stream) {
  const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (opened < 0 || dup2(opened, stream) < 0) _exit(126);
}

pid_t spawn(const Invocation& invocation, const std::string& out, const std::string& err) {
  std::vector<char*> words;
  std::string program = CAIRN_PROGRAM;
  std::vector<std::string> arguments = invocation.arguments;
  words.push_back(program.data());
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const pid_t process = fork();
  if (process != 0) return process;
  redirect(out, STDOUT_FILENO);
  redirect(err, STDERR_FILENO);
  for (const auto& [name, value] : invocation.environment) setenv(name.c_str(), value.c_str(), 1);
  if (!invocation.folder.empty() && chdir(invocation.folder.c_str()) != 0) _exit(126);
  execv(program.c_str(), words.data());
  _exit(127);
}

}  // namespace

const std::string& scratch() {
  static const Scratch folder;
  return folder.path();
}

std::string write_file(const std::string& name, const std::string& text) {
  const std::string path = scratch() + "/" + name;
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string content(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Outcome run(const Invocation& invocation) {
  const std::string out = scratch() + "/.out";
  const std::string err = scratch() + "/.err";
  Outcome outcome;
  outcome.code = wait_for(spawn(invocation, invocation.out_file.empty() ? out : invocation.out_file, err));
  if (invocation.out_file.empty()) outcome.out = content(out);
  outcome.err = content(err);
  return outcome;
}

void refused(const std::vector<std::string>& arguments, const std::vector<std::string>& words) {
  const Outcome outcome = run(arguments);
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  for (const std::string& word : words) CHECK(outcome.err.find(word) != std::string::npos);
}

int start(const std::vector<std::string>& arguments, const std::string& out) {
  return spawn(Invocation{.arguments = arguments}, out, "/dev/null");
}

int wait_for(int process) {
  int status = 0;
  if (waitpid(process, &status, 0) != process) throw std::runtime_error("the program was lost");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace cairn::cli_tests

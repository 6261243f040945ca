#include "attack.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "call.h"
#include "judge.h"
#include "support/source_dir.h"

namespace cairn::attack {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uintmax_t k_largest_seed = 16384;  // bytes; larger ones make every input slow

// Seen by the process that runs the inputs and the one that waits for it.
struct Progress {
  std::uint64_t next;  // input that runs, or would
  std::uint64_t known;
  std::array<std::uint64_t, 5> codes;
};

void add_words(const nlohmann::json& schema, std::set<std::string>& words) {
  if (schema.is_array())
    for (const nlohmann::json& each : schema) add_words(each, words);
  if (!schema.is_object()) return;
  if (const auto names = schema.find("enum"); names != schema.end())
    for (const nlohmann::json& name : *names)
      if (name.is_string()) words.insert(name.get<std::string>());
  if (const auto keys = schema.find("properties"); keys != schema.end())
    for (const auto& [key, value] : keys->items()) words.insert(key);
  for (const auto& [key, value] : schema.items()) add_words(value, words);
}

std::vector<std::string> tokens_of(const Surface& surface) {
  std::set<std::string> words{"GB/s", "Gb/s", "us", "ms", "GiB", "MB", "TFLOP/s", "GHz", "W", "USD", "b/s", "d"};
  std::istringstream names{std::string(surface.schemas)};
  for (std::string name; names >> name;)
    add_words(nlohmann::json::parse(call_here({"cairn", "schema", name}).out), words);
  return {words.begin(), words.end()};
}

void save(const Surface& surface, const Plan& plan, std::uint64_t index, const std::string& complaint,
          const std::string& input) {
  if (plan.save.empty()) return;
  const fs::path folder = plan.save / surface.name;
  fs::create_directories(folder);
  std::ofstream(folder / fmt::format("{}-{}", plan.seed, index), std::ios::binary) << input;
  std::ofstream(folder / "complaints.txt", std::ios::app) << fmt::format("{}-{}: {}\n", plan.seed, index, complaint);
}

// Memory as a file: what the process that runs the inputs leaves to the one that waits for it.
class Notes {
 public:
  Notes() : descriptor_(memfd_create("notes", 0)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  }
  ~Notes() { close(descriptor_); }
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;
  int descriptor() const { return descriptor_; }
  void add(const std::string& text) const {
    if (::write(descriptor_, text.data(), text.size()) < 0)
      throw std::system_error(errno, std::generic_category(), "write");
  }
  std::string all() const {
    std::string text(static_cast<std::size_t>(lseek(descriptor_, 0, SEEK_END)), '\0');
    if (pread(descriptor_, text.data(), text.size(), 0) < 0)
      throw std::system_error(errno, std::generic_category(), "pread");
    return text;
  }
  void clear() const {
    if (ftruncate(descriptor_, 0) != 0 || lseek(descriptor_, 0, SEEK_SET) != 0)
      throw std::system_error(errno, std::generic_category(), "ftruncate");
  }

 private:
  int descriptor_;
};

// The line of a sanitizer's report that says what and where, without the folders of this machine.
std::string summary_of(const std::string& report) {
  constexpr std::string_view k_summary = "SUMMARY: ";
  const std::size_t place = report.find(k_summary);
  const std::size_t begin = place == std::string::npos ? 0 : place + k_summary.size();
  std::string line = report.substr(begin, report.find('\n', begin) - begin);
  for (const std::string& folder : {cairn::testing::source_dir() + "/", std::string("../../")})
    if (const std::size_t at = line.find(folder); at != std::string::npos) line.erase(at, folder.size());
  return line.empty() ? "ended without a report" : line;
}

// What a process that ended so is to be complained about for.
std::string end_of(int status, const std::string& report) {
  if (WIFEXITED(status)) return report;
  const int signal = WTERMSIG(status);
  return signal == SIGPROF ? fmt::format("takes more than {} s", k_most_seconds)
                           : fmt::format("ended by signal {}", signal);
}

// How the process that runs `body` and nothing more ends.
template <class Body>
int status_of_child(const Notes& reports, Body body) {
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    send_reports_to(reports.descriptor());
    body();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

bool went_well(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

class Attack {
 public:
  Attack(const Surface& surface, const Mutator& mutator, const Plan& plan)
      : surface_(surface),
        plan_(plan),
        mutator_(mutator),
        progress_(static_cast<Progress*>(
            mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (progress_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    progress_->next = plan.first;
  }
  ~Attack() { munmap(progress_, sizeof(Progress)); }
  Attack(const Attack&) = delete;
  Attack& operator=(const Attack&) = delete;

  Tally run() {
    const std::uint64_t end = plan_.first + plan_.inputs;
    while (progress_->next < end && !late()) {
      const int status = status_of_child(reports_, [&] {
        for (; progress_->next < end && !late(); ++progress_->next) run_one(progress_->next);
      });
      if (went_well(status)) break;
      complain(progress_->next, end_of(status, summary_of(reports_.all())),
               mutator_.input(plan_.seed, progress_->next));
      reports_.clear();
      ++progress_->next;
    }
    Tally tally{
        .inputs = progress_->next - plan_.first, .known = progress_->known, .codes = progress_->codes, .findings = {}};
    std::set<std::string> seen;
    std::istringstream lines(findings_.all());
    for (Finding each; lines >> each.index && std::getline(lines >> std::ws, each.complaint);)
      if (seen.insert(each.complaint).second) tally.findings.push_back(each);
    return tally;
  }

 private:
  bool late() const {
    return plan_.seconds > 0.0 && std::chrono::duration<double>(Clock::now() - start_).count() > plan_.seconds;
  }

  void run_one(std::uint64_t index) {
    const std::string input = mutator_.input(plan_.seed, index);
    const std::vector<std::string> command = scratch_.command(surface_, input);
    Answer answer = plan_.program.empty() ? call_here(command) : call_program(plan_.program, command);
    answer.written = scratch_.take_written(command);
    if (const auto wrong = complaint(answer)) complain(index, *wrong, input);
    if (answer.code >= 0 && static_cast<std::size_t>(answer.code) < progress_->codes.size())
      ++progress_->codes[answer.code];
  }

  void complain(std::uint64_t index, std::string complaint, const std::string& input) {
    std::replace(complaint.begin(), complaint.end(), '\n', ' ');
    if (is_known(complaint)) {
      ++progress_->known;
      return;
    }
    findings_.add(fmt::format("{} {}\n", index, complaint));
    save(surface_, plan_, index, complaint, input);
  }

  const Surface& surface_;
  const Plan& plan_;
  const Mutator& mutator_;
  Scratch scratch_;
  Notes findings_;  // "index complaint" lines
  Notes reports_;
  Progress* progress_;
  Clock::time_point start_ = Clock::now();
};

std::string judged(const Scratch& scratch, const Surface& surface, const std::string& input, Optional optional) {
  const std::vector<std::string> command = scratch.command(surface, input, optional);
  Answer answer = call_here(command);
  answer.written = scratch.take_written(command);
  return complaint(answer).value_or("");
}

void add_file(const fs::path& file, std::vector<std::string>& texts) {
  if (fs::file_size(file) <= k_largest_seed) texts.push_back(read_whole(file));
}

}  // namespace

std::string read_whole(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::system_error(errno, std::generic_category(), file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<fs::path> corpus_of(const Surface& surface) {
  std::vector<fs::path> files;
  const fs::path folder = fs::path(cairn::testing::source_dir() + "/tests/fuzz/corpus") / surface.name;
  if (fs::is_directory(folder))
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> seeds_of(const Surface& surface) {
  std::vector<std::string> texts;
  for (const fs::path& file : corpus_of(surface)) add_file(file, texts);
  if (surface.seeds.empty()) return texts;
  const fs::path shipped = fs::path(cairn::testing::source_dir()) / surface.seeds;
  std::vector<fs::path> files;
  if (fs::is_directory(shipped)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(shipped))
      if (entry.is_regular_file()) files.push_back(entry.path());
  } else {
    files.push_back(shipped);
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) add_file(file, texts);
  return texts;
}

Mutator mutator_of(const Surface& surface) { return {surface.grammar, seeds_of(surface), tokens_of(surface)}; }

Tally attack(const Surface& surface, const Mutator& mutator, const Plan& plan) {
  return Attack(surface, mutator, plan).run();
}

std::string complaint_here(const Surface& surface, const std::string& input, Optional optional) {
  return judged(Scratch(), surface, input, optional);
}

std::string complaint_about(const Surface& surface, const std::string& input, Optional optional) {
  const Scratch scratch;
  const Notes reports, complaints;
  const int status = status_of_child(reports, [&] { complaints.add(judged(scratch, surface, input, optional)); });
  return went_well(status) ? complaints.all() : end_of(status, summary_of(reports.all()));
}

}  // namespace cairn::attack

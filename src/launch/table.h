// A framework's arguments beside the keys of an experiment: one table, read in both directions.
//
//   rows    one argument is one key: a new argument is one line
//   rules   several arguments and keys decide each other
//   fixed   what the framework does in one way only, and has no argument for
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/experiment/job.h"
#include "cairn/launch/launch.h"
#include "cairn/software/precision.h"
#include "keys.h"
#include "shell.h"

namespace cairn::launch {

struct Argument {
  std::string name = {};
  config::Place place = {};
  std::vector<Word> values = {};
  bool read = false;
  bool list = false;    // written as a list, however many values it has
  bool quoted = false;  // written as a text, whatever it looks like

  std::string text() const;  // as it was written
};

// Arguments on the way to an experiment.
class Import {
 public:
  Import(std::vector<Argument> arguments, const Given& request) : given(request), arguments_(std::move(arguments)) {}

  const Given& given;
  Keys experiment = {};
  core::Diagnostics problems = {};
  std::vector<std::string> notes = {};
  std::vector<std::string> unset = {};     // variables without a value
  std::optional<std::int64_t> ranks = {};  // of the whole job, where that is known

  // The last one of that name, which counts; then it is read. Null pointer: it was not said.
  const Argument* take(std::string_view name);
  // The same, not read by that.
  const Argument* find(std::string_view name) const;
  bool said(std::string_view name) const;
  // With its one value; errors where it has another.
  const Word* word(std::string_view name);
  std::optional<std::int64_t> count(std::string_view name);
  bool flag(std::string_view name);  // whether it was said, which takes no value
  // It is read, and changes nothing for a reason; where it was said.
  void no_effect(std::string_view name, std::string reason);
  // Said of an argument that was read.
  void remark(const Argument& argument, std::string reason);
  // A degree of parallelism, 1 where it is not said, at most 2^20, so that three of them multiply.
  std::int64_t degree(std::string_view key) const;
  // Errors of what was read and has the mark in a value, but for what is in error already or has no effect.
  void refuse_read(std::string_view mark, const std::string& message, const std::string& hint);
  void error(const config::Place& place, std::string_view name, std::string message, std::string hint);
  // Once all is read: what has no counterpart.
  std::vector<Unsaid> unsaid() const;

 private:
  std::vector<Argument> arguments_;
  std::vector<Unsaid> remarks_ = {};
};

// An experiment on the way to arguments. Its keys are those of Job::written_out, with its model laid in.
class Export {
 public:
  Export(const experiment::Job& exported, const config::Loader& files);

  const experiment::Job& job;
  const config::Loader& loader;
  Keys keys;
  std::vector<Argument> arguments = {};
  bool precision_unsaid = false;  // the arguments name no recipe that is the experiment's

  void say(std::string_view name) { arguments.push_back({.name = std::string(name)}); }
  void say(std::string_view name, std::string value) {
    arguments.push_back({.name = std::string(name), .values = {{.text = std::move(value)}}});
  }
  void say(std::string_view name, std::int64_t value) { say(name, std::to_string(value)); }
  // The steps that training.tokens are, where it has any.
  void say_steps(std::string_view name);
  // Takes a key that no argument can say as it is.
  void unsaid(std::string_view key, std::string reason);
  void unsaid(std::string_view key, std::string_view value, std::string reason);
  // Whether the job's recipe is this one, but for its name.
  bool has_formats_of(software::PrecisionRecipe recipe) const;
  // Takes the kernels, overlaps and defaults of sharding that are those of the framework's profile, which the framework
  // has without being told.
  void take_usual();
  // Once all is written: keys that nothing took.
  std::vector<Unsaid> all_unsaid(std::string_view framework) const;

 private:
  std::vector<Unsaid> unsaid_ = {};
};

enum class Kind : std::uint8_t { count, number, flag, word };

struct Pair {
  std::string_view theirs;
  std::string_view ours;
};

struct Row {
  std::string_view argument;
  std::string_view key;
  Kind kind = Kind::count;
  std::vector<Pair> words =
      {};  // of a word: the first pair of one of ours is how it is written; of a flag: what it says
  std::string_view unsaid = {};  // ours where the argument is absent; empty: the key is left out
  bool required = false;
  std::string_view needs = {};  // the argument without which it has no effect
};

struct Rule {
  void (*read)(Import&) = nullptr;
  void (*write)(Export&) = nullptr;
};

struct Fixed {
  std::string_view key;
  std::string_view value;
};

struct Table {
  std::string_view framework;  // as errors name it
  std::vector<Row> rows = {};
  std::vector<Rule> rules = {};
  std::vector<Fixed> fixed = {};
};

void read(const Table& table, Import& import);
void write(const Table& table, Export& exported);

}  // namespace cairn::launch

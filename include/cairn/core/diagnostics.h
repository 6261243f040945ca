// What a user can get wrong: collected while reading, raised together, printed by the command line alone.
//   configs/x.yaml:12:7: error: inter.bandwdith: unknown key (did you mean 'bandwidth'?)
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace cairn::core {

enum class Severity : std::uint8_t { warning, error };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string file;      // empty when the value came from no file
  int line = 0;          // 1-based; 0 when unknown
  int column = 0;        // 1-based; 0 when unknown
  std::string key_path;  // strategy.tp
  std::string message;   // what is wrong
  std::string hint;      // the remedy; may be empty

  // One line: file:line:column: severity: key path: message (hint). What is not printable is escaped.
  std::string to_string() const;

  // An error of a whole line of a text file.
  static Diagnostic at_line(std::string file, int line, std::string message, std::string hint) {
    return {.file = std::move(file),
            .line = line,
            .column = 1,
            .key_path = {},
            .message = std::move(message),
            .hint = std::move(hint)};
  }
};

// The one exception for user errors. Carries every diagnostic found, in the order found.
class ConfigurationError : public std::exception {
 public:
  explicit ConfigurationError(std::vector<Diagnostic> diagnostics);
  // Convenience for a single error that has a key path and a remedy but no file position.
  ConfigurationError(std::string key_path, std::string message, std::string hint);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::vector<Diagnostic> diagnostics_;
  std::string text_;
};

// What is wrong in many places is wrong for one reason: readers, validators and the command line stop at so many errors
// of one thing.
inline constexpr std::size_t k_shown_errors = 20;

// Collects diagnostics of one reading; raise_if_errors() throws ConfigurationError with all of them.
class Diagnostics {
 public:
  void add(Diagnostic diagnostic);
  bool has_errors() const { return errors_ > 0; }
  std::size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }
  void raise_if_errors() const;

 private:
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
};

// A capability this build or machine lacks (GPU, NCCL, MPI): exit code 4.
class CapabilityError : public std::exception {
 public:
  explicit CapabilityError(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// Reading stopped half-way or writing failed: exit code 3.
class InputOutputError : public std::exception {
 public:
  explicit InputOutputError(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// What was meant by `word`, which is none of `candidates`: the nearest within 1 + length/4 slips of typing, of which a
// wrong digit weighs as much as three, since digits are versions and sizes (llama-3-70b is llama-3.1-70b, not
// llama-2-70b); else the shortest that begins with the word, or holds it, case and punctuation apart (h200 is
// h200-sxm-141gb); else empty.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);
// All of them, the nearest first.
std::vector<std::string> nearest_first(const std::string& word, std::vector<std::string> candidates);

}  // namespace cairn::core

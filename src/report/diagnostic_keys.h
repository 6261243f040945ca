// What is wrong, key by key, wherever a document says so.
#pragma once

#include "cairn/core/diagnostics.h"
#include "described.h"

namespace cairn::report::schema {

inline const Described<core::Diagnostic>& diagnostic_keys() {
  using core::Diagnostic;
  static const Described<Diagnostic> keys{
      {"severity", text("error or warning"),
       [](const Diagnostic& of) { return of.severity == core::Severity::error ? "error" : "warning"; }},
      {"file", text("that is wrong; empty: none, --set or --vary: a word of the command line"), &Diagnostic::file},
      {"line", count("of the file, from 1; 0: unknown"), &Diagnostic::line},
      {"column", count("of the line, from 1; 0: unknown"), &Diagnostic::column},
      {"key_path", text("the key, as strategy.tp"), &Diagnostic::key_path},
      {"message", text("what is wrong"), &Diagnostic::message},
      {"hint", text("what to do about it"), &Diagnostic::hint}};
  return keys;
}

// What would allow what `why`, an optional or a pointer, refuses; null where nothing was refused, or none is known.
template <class Why>
Json hint_of(const Why& why) {
  return nullable(why,
                  [](const core::Diagnostic& refused) { return refused.hint.empty() ? Json() : Json(refused.hint); });
}

}  // namespace cairn::report::schema

// The words of reports and documents, each explained in one plain sentence. Descriptions of times and memory in the
// schemas are these sentences, so a label that is reported and not explained cannot be.
#pragma once

#include <span>
#include <string_view>

namespace cairn::report {

struct Term {
  std::string_view word;  // as documents write it: tp_exposed, micro-batch
  std::string_view meaning;
};

// In the order of their words.
std::span<const Term> glossary();

// Of a word as documents, reports and people write it: "tp_exposed", "tp exposed" and "TP exposed" are one. Null
// pointer where there is none.
const Term* explained(std::string_view word);

}  // namespace cairn::report

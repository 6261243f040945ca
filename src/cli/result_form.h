// A result in the form that was asked for.
#pragma once

#include <string>

#include "arguments.h"
#include "cairn/report/rows.h"
#include "context.h"
#include "output.h"

namespace cairn::cli {

// `document` and `text` make the result's JSON and what people read; one of them is called.
template <class Document, class Text>
std::string in_form(const ResultArguments& asked, Document document, Text text) {
  if (asked.csv) return report::csv(document());
  if (!asked.json) return text();
  std::string json = document();
  return json.ends_with('\n') ? json : json + "\n";
}

// All of the output, of an answer that json() and text() of the report take.
template <class Answer>
void write_answer(const Answer& answer, const ResultArguments& asked, bool full, Output& output,
                  const Context& context) {
  output.write(in_form(
      asked, [&] { return json(answer); },
      [&] { return text(answer, {.color = context.color(output), .full = full}); }));
  output.finish();
}

}  // namespace cairn::cli

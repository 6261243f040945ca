// What `cairn partition --tasks` answers, as JSON (cairn.tasks/1) and as text: tasks shared out over equal ranks before
// any of them runs, by several rules side by side or by one.
//
// Sample of the text:
//   5 tasks with a cost of 18 on 2 ranks; no rule leaves the last rank less than 9
//
//     rule           most loaded  balance     idle  over least
//     blocks                  12    0.750   25.0 %       1.333
//     longest-first           10    0.900   10.0 %       1.111
//     optimal                  9    1.000    0.0 %       1.000  proven
#pragma once

#include <string>
#include <vector>

#include "cairn/division/tasks.h"
#include "cairn/report/run.h"

namespace cairn::report {

struct Tasks {
  const division::TaskList& list;
  std::int64_t ranks = 1;
  std::vector<division::SharedTasks> rules = {};  // at least one
  Tool tool = {};

  std::int64_t at_least() const { return rules.front().at_least; }
};

std::string text(const Tasks& of, const TextStyle& style = {});
std::string json(const Tasks& of);
std::string tasks_schema();  // of cairn.tasks/1

}  // namespace cairn::report

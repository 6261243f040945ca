// What `cairn search EXPERIMENT --method cephalo` answers, as JSON (cairn.shares/1) and as text: sequences and state of
// unlike accelerators that train one model data-parallel.
//
// Sample of the text:
//   small: 12.34 s a step of 64 sequences on 16 accelerators of 2 kinds
//   11.8 s of computing, 540 ms of gathering and reducing
//   even shares take 15.01 s
//
//     accelerator         ranks  sequences               state    compute    memory
//     H100 SXM5 80 GB         8       5..6             8.1 GiB     10.3 s    62 GiB
//     A100 SXM4 80 GB         8       2..3    8.1 GiB..8.4 GiB     11.8 s    41 GiB
#pragma once

#include <string>
#include <vector>

#include "cairn/division/mixed_cluster.h"
#include "cairn/report/run.h"

namespace cairn::report {

struct MixedSharesReport {
  std::string experiment;  // its name
  const std::vector<division::AcceleratorGroup>& groups;
  const division::MixedShares& answer;
  Tool tool = {};
};

std::string text(const MixedSharesReport& of, const TextStyle& style = {});
std::string json(const MixedSharesReport& of);
std::string shares_schema();  // of cairn.shares/1

}  // namespace cairn::report

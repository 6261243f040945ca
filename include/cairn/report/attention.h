// What `cairn attention` answers: ways of sharing the attention of a long sequence, as JSON (cairn.attention/1), as text
// and as a picture. Several sequence lengths or numbers of GPUs make one cairn.attention-comparison/1 document of
// cairn.attention/1 ones.
//
// Sample of the text:
//   attention2d on 8 x 8 (striped): 3.10 ms forward + backward, 1.90 x faster than ring on 64
//   131,072 tokens, 64 heads of 128, 8 of keys and values, causal, cudnn; 64 GPUs: DGX H100
//
//   scheme       grid             total   forward  backward   exposed  balance  memory  received  x bound
//   attention2d  8 x 8 (striped)  3.10 ms ...
#pragma once

#include <string>
#include <vector>

#include "cairn/attention/batch.h"
#include "cairn/attention/comparison.h"
#include "cairn/report/run.h"

namespace cairn::report {

struct AttentionAnswer {
  std::string cluster = {};
  std::string accelerator = {};
  std::string kernel = {};
  std::vector<attention::Comparison> points = {};  // by GPUs, then tokens; at least one
};

std::string json(const AttentionAnswer& answer, const Tool& tool, int indent = 2);
std::string text(const AttentionAnswer& answer, const TextStyle& style = {});
// Times over the sequence length, a panel for each number of GPUs; over the GPUs where there is one length.
std::string svg(const AttentionAnswer& answer);
std::string attention_schema();             // cairn.attention/1
std::string attention_comparison_schema();  // cairn.attention-comparison/1

// A batch of mixed lengths, cairn.attention-batch/1.
struct AttentionBatch {
  const attention::BatchAnswer& answer;
  std::string cluster = {};
  std::string accelerator = {};
  std::string kernel = {};
  Tool tool = {};
};
std::string json(const AttentionBatch& of, int indent = 2);
std::string text(const AttentionBatch& of, const TextStyle& style = {});
std::string attention_batch_schema();

// Every scheme, what it does and where it comes from.
std::string attention_schemes_text(const TextStyle& style = {});
std::string attention_schemes_json(const Tool& tool);
std::string attention_schemes_schema();  // cairn.attention-schemes/1

}  // namespace cairn::report

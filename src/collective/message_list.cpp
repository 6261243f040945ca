#include "cairn/collective/message_list.h"

#include <algorithm>

namespace cairn::collective {
namespace {

void expand(const Run& run, std::vector<Message>& into) {
  for (std::int64_t i = 0; i < run.count; ++i)
    for (std::int64_t j = 0; j < run.width; ++j)
      into.push_back({.step = run.first.step + i * run.stride.step,
                      .source = run.first.source + i * run.stride.source,
                      .destination = run.first.destination + i * run.stride.destination,
                      .chunk = run.first.chunk + i * run.stride.chunk + j * run.width_stride,
                      .reduces = run.first.reduces});
}

struct Expanded final : Port {
  std::vector<Message> sent = {}, received = {};
  void sends(const Run& run) override { expand(run, sent); }
  void receives(const Run& run) override { expand(run, received); }
};

}  // namespace

std::vector<Message> sent_by(const MessageList& list, std::int64_t node) {
  Expanded port;
  list.messages_of(list, node, port);
  return std::move(port.sent);
}

std::vector<Message> received_by(const MessageList& list, std::int64_t node) {
  Expanded port;
  list.messages_of(list, node, port);
  return std::move(port.received);
}

std::vector<Message> messages(const MessageList& list) {
  std::vector<Message> all;
  for (std::int64_t node = 0; node < list.nodes; ++node) {
    const std::vector<Message> own = sent_by(list, node);
    all.insert(all.end(), own.begin(), own.end());
  }
  std::stable_sort(all.begin(), all.end(), [](const Message& a, const Message& b) { return a.step < b.step; });
  return all;
}

}  // namespace cairn::collective

#include "cairn/plan/unit_traffic.h"

#include "words_hash.h"

namespace cairn::plan {

namespace {

void append_words(std::vector<std::int64_t>& words, const Leg& leg) {
  words.push_back(static_cast<std::int64_t>(leg.stream));
  plan::append_words(words, leg.work);
}

void append_words(std::vector<std::int64_t>& words, const std::vector<Leg>& journey) {
  words.push_back(static_cast<std::int64_t>(journey.size()));
  for (const Leg& leg : journey) append_words(words, leg);
}

void append_words(std::vector<std::int64_t>& words, const CategoryBytes& bytes) {
  for (const double each : bytes) words.push_back(bits(each));
}

}  // namespace

void append_words(std::vector<std::int64_t>& words, const Work& work) {
  if (const auto* transfer = std::get_if<Transfer>(&work))
    words.insert(words.end(), {static_cast<std::int64_t>(transfer->collective), word(transfer->group),
                               word_of_rows(transfer->group), bits(transfer->bytes)});
  else if (const auto* copy = std::get_if<Copy>(&work))
    words.insert(words.end(), {-1 - static_cast<std::int64_t>(copy->lane), bits(copy->bytes)});
}

Leg leg(const Transfer& transfer) {
  return {.stream = stream_of(transfer.group.axis), .axis = transfer.group.axis, .work = transfer};
}
Leg leg(const Copy& copy) { return {.stream = stream_of(copy.lane), .axis = Axis::data, .work = copy}; }

Step step_of(const Leg& leg) {
  const bool transfers = std::holds_alternative<Transfer>(leg.work);
  return {.kind = transfers ? StepKind::transfer : StepKind::copy,
          .stream = leg.stream,
          .axis = leg.axis,
          .launches = static_cast<std::uint16_t>(leg.stream == Stream::storage ? 0 : 1)};
}

void append_words(std::vector<std::int64_t>& words, const UnitTraffic& traffic) {
  words.push_back(static_cast<std::int64_t>(traffic.fetch.journeys.size()));
  for (const std::vector<Leg>& journey : traffic.fetch.journeys) append_words(words, journey);
  append_words(words, traffic.fetch.bytes);
  words.push_back(2 * traffic.distance + (traffic.awaits ? 1 : 0));
  words.push_back(static_cast<std::int64_t>(traffic.closing.size()));
  for (const Stream stream : traffic.closing) words.push_back(static_cast<std::int64_t>(stream));
  append_words(words, traffic.given_up);
  append_words(words, traffic.leaving);
  words.push_back(bits(traffic.left_bytes));
}

}  // namespace cairn::plan

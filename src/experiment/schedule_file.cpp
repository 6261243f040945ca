#include "cairn/experiment/schedule_file.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"

namespace cairn::experiment {
namespace {

using pipeline::Operation;
using pipeline::Phase;

std::optional<std::int32_t> index(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty() || value < 0) return std::nullopt;
  return value;
}

std::optional<Operation> operation(std::string_view word) {
  constexpr std::string_view k_letters = "FBbw";  // in the order of the phases
  const std::size_t letter = word.empty() ? std::string_view::npos : k_letters.find(word.front());
  if (letter == std::string_view::npos) return std::nullopt;
  const std::size_t point = word.find('.');
  const auto micro_batch = index(word.substr(1, point == std::string_view::npos ? point : point - 1));
  const auto chunk = point == std::string_view::npos ? std::optional(0) : index(word.substr(point + 1));
  if (!micro_batch || !chunk || *chunk >= pipeline::k_most_chunks) return std::nullopt;
  return Operation{
      .phase = static_cast<Phase>(letter), .chunk = pipeline::chunk_number(*chunk), .micro_batch = *micro_batch};
}

// "F0", or "F1+B0" for two that run as one.
std::optional<std::vector<Operation>> operations(std::string_view word) {
  const std::size_t plus = word.find('+');
  const std::optional<Operation> first = operation(word.substr(0, plus));
  if (!first) return std::nullopt;
  if (plus == std::string_view::npos) return std::vector{*first};
  const std::optional<Operation> second = operation(word.substr(plus + 1));
  if (!second) return std::nullopt;
  std::vector both{*first, *second};
  both.front().joined = true;
  return both;
}

class Reader {
 public:
  Reader(const ScheduleFile& file, const config::Origins& origins) : file_(file), origins_(origins) {}

  pipeline::Schedule read() {
    schedule_.kind = file_.name;
    schedule_.stages = file_.stages;
    schedule_.micro_batches = file_.micro_batches;
    if (std::ssize(file_.devices) != file_.stages)
      wrong("devices", std::to_string(file_.devices.size()) + " lists for " + std::to_string(file_.stages) + " stages",
            "give one list per device");
    place();
    schedule_.row_begin.push_back(0);
    for (std::size_t device = 0; device < file_.devices.size(); ++device) read_row(device);
    diagnostics_.raise_if_errors();
    return std::move(schedule_);
  }

 private:
  void place() {
    if (!file_.placement.empty() && std::ssize(file_.placement) != file_.stages)
      wrong("placement",
            std::to_string(file_.placement.size()) + " lists for " + std::to_string(file_.stages) + " stages",
            "give one list per device");
    schedule_.chunks = file_.placement.empty() ? 1 : static_cast<std::int32_t>(file_.placement.front().size());
    for (const std::vector<std::int32_t>& stages : file_.placement) {
      if (std::ssize(stages) != schedule_.chunks)
        wrong("placement", "devices with different numbers of virtual stages", "give every device as many");
      schedule_.placement.insert(schedule_.placement.end(), stages.begin(), stages.end());
    }
    for (std::int32_t device = 0; file_.placement.empty() && device < file_.stages; ++device)
      schedule_.placement.push_back(device);
    schedule_.chain_length = file_.chain_length > 0 ? file_.chain_length : schedule_.virtual_stages();
    if (schedule_.chain_length % file_.stages != 0)
      wrong(
          "chain_length",
          "a chain of " + std::to_string(schedule_.chain_length) + " over " + std::to_string(file_.stages) + " devices",
          "use a multiple of the stages");
  }

  void read_row(std::size_t device) {
    for (std::size_t i = 0; i < file_.devices[device].size(); ++i) {
      const std::string& word = file_.devices[device][i];
      if (const auto read = operations(word))
        schedule_.operations.insert(schedule_.operations.end(), read->begin(), read->end());
      else
        wrong("devices[" + std::to_string(device) + "][" + std::to_string(i) + "]", "'" + word + "' is no operation",
              "write F0, B0, b0, w0, F0.1 for chunk 1, or F1+B0 for two that run as one");
    }
    schedule_.row_begin.push_back(static_cast<std::int32_t>(schedule_.operations.size()));
  }

  void wrong(const std::string& key, std::string message, std::string hint) {
    diagnostics_.add(origins_.error(key, std::move(message), std::move(hint)));
  }

  const ScheduleFile& file_;
  const config::Origins& origins_;
  core::Diagnostics diagnostics_;
  pipeline::Schedule schedule_;
};

}  // namespace

void describe(config::Fields& fields, ScheduleFile& file) {
  std::int64_t version = 1;
  constexpr std::int64_t k_most = 1 << 20;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.text("name", file.name, {.doc = "shown as the schedule's kind"});
  fields.count("stages", file.stages,
               {.doc = "devices in the pipeline", .required = true, .minimum = 1, .maximum = k_most});
  fields.count("micro_batches", file.micro_batches,
               {.doc = "of an iteration", .required = true, .minimum = 1, .maximum = k_most});
  fields.list("placement", file.placement, {.doc = "virtual stages of every device"},
              [](config::Value& v, std::vector<std::int32_t>& stages) { v.counts(stages, {}, {.minimum_size = 1}); });
  fields.count("chain_length", file.chain_length, {.doc = "virtual stages a micro-batch passes", .maximum = k_most});
  fields.list("devices", file.devices, {.doc = "operations of every device in order", .required = true},
              [](config::Value& v, std::vector<std::string>& words) { v.texts(words, {.minimum_size = 1}); });
}

void describe(config::Fields& fields, FillItem& item) {
  using pipeline::ExtraAfter;
  fields.text("name", item.name, {.doc = "by which later work names it", .required = true});
  fields.choice("after", item.after,
                {{"forward", ExtraAfter::forward}, {"backward", ExtraAfter::backward}, {"all", ExtraAfter::all}},
                {.doc = "of which operation of every micro-batch, or once everything else is done", .required = true});
  fields.text("time", item.time, {.doc = "of a device's share of the model", .required = true});
  fields.count("parts", item.parts, {.doc = "equal pieces it may be cut into", .minimum = 1, .maximum = 1 << 20});
}

void describe(config::Fields& fields, FillFile& file) {
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.number("margin", file.margin, {.doc = "a gap takes pieces this many times as long", .minimum = 1.0});
  fields.text("exposed", file.exposed, {.doc = "time per step outside the bubbles"});
  fields.objects("work", file.work, {.doc = "work for the bubbles", .required = true, .minimum_size = 1});
}

LoadedFill read_fill(const config::Loader& loader, const std::filesystem::path& path) {
  core::Diagnostics diagnostics;
  const config::Node node = loader.load(path, diagnostics, "schedules");
  diagnostics.raise_if_errors();
  LoadedFill fill;
  fill.origins = config::read(node, fill.file, diagnostics);
  diagnostics.raise_if_errors();
  return fill;
}

pipeline::Schedule read_schedule(const config::Loader& loader, const std::filesystem::path& path) {
  core::Diagnostics diagnostics;
  const config::Node node = loader.load(path, diagnostics, "schedules");
  diagnostics.raise_if_errors();
  ScheduleFile file;
  const config::Origins origins = config::read(node, file, diagnostics);
  diagnostics.raise_if_errors();
  pipeline::Schedule schedule = Reader(file, origins).read();
  try {
    pipeline::validate(schedule);
  } catch (const core::ConfigurationError& error) {
    for (const core::Diagnostic& found : error.diagnostics())
      diagnostics.add(origins.error("devices", found.message, found.hint));
    diagnostics.raise_if_errors();
  }
  return schedule;
}

}  // namespace cairn::experiment

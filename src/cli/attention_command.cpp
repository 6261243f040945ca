// `cairn attention`: schemes of sharing the attention of long sequences, compared on one cluster.
#include <algorithm>

#include "attention_request.h"
#include "cairn/report/attention.h"
#include "context.h"
#include "exit_code.h"
#include "progress.h"
#include "result_form.h"

namespace cairn::cli {
namespace {

report::AttentionAnswer answer_for(const AttentionArguments& arguments, const Context& context) {
  const AttentionRequests asked = attention_requests(arguments, context.loader);
  const attention::Request& first = asked.requests.front();
  report::AttentionAnswer answer{.cluster = asked.cluster,
                                 .accelerator = first.accelerator.name,
                                 .kernel = std::string(models::name(first.kernel))};
  ProgressLine progress(context.common);
  for (const attention::Request& request : asked.requests) {
    try {
      answer.points.push_back(attention::compare(request));
    } catch (const core::ConfigurationError& error) {
      throw in_options(error, arguments);
    }
    if (arguments.prove) attention::prove(answer.points.back());
    progress.show("comparisons", answer.points.size(), asked.requests.size());
  }
  return answer;
}

// Whether something can be shared anywhere, and all that was to be proved was.
bool answers_well(const report::AttentionAnswer& answer) {
  const auto proved = [](const attention::Way& way) { return !way.proof || way.proof->holds(); };
  const auto all_proved = [&](const attention::Comparison& point) {
    return std::all_of(point.ways.begin(), point.ways.end(), proved);
  };
  const auto& points = answer.points;
  return std::all_of(points.begin(), points.end(), all_proved) &&
         std::any_of(points.begin(), points.end(), [](const auto& point) { return point.best() != nullptr; });
}

void share_out(const AttentionArguments& arguments, const Context& context, Output& output,
               const report::TextStyle& style) {
  const BatchedRequest asked = batch_request(arguments, context.loader);
  try {
    const attention::BatchAnswer answer = attention::share_batch(asked.request);
    const report::AttentionBatch of{.answer = answer,
                                    .cluster = asked.cluster,
                                    .accelerator = asked.request.pool.accelerator.name,
                                    .kernel = std::string(models::name(asked.request.pool.kernel)),
                                    .tool = context.tool};
    output.write(in_form(
        arguments.result, [&] { return report::json(of); }, [&] { return report::text(of, style); }));
  } catch (const core::ConfigurationError& error) {
    throw in_options(error, arguments);
  }
}

}  // namespace

int command(const AttentionArguments& arguments, Context& context) {
  Output output(arguments.result.output, context.read);
  report::TextStyle style{.color = context.color(output), .full = arguments.full};
  if (arguments.list) {
    output.write(in_form(
        arguments.result, [&] { return report::attention_schemes_json(context.tool); },
        [&] { return report::attention_schemes_text(style); }));
    output.finish();
    return k_ok;
  }
  if (!arguments.lengths.empty()) {
    share_out(arguments, context, output, style);
    output.finish();
    return k_ok;
  }
  const report::AttentionAnswer answer = answer_for(arguments, context);
  if (!arguments.plot.empty()) write_file(arguments.plot, report::svg(answer), context.read);
  output.write(in_form(
      arguments.result, [&] { return report::json(answer, context.tool); },
      [&] { return report::text(answer, style); }));
  output.finish();
  return answers_well(answer) ? k_ok : k_negative;
}

}  // namespace cairn::cli

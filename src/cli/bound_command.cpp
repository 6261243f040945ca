// `cairn bound`: an operator, an einsum, a graph, an execution, an exchange or a model's layers, and the provable
// bracket of its data movement.
#include "bound_moves.h"
#include "bound_request.h"
#include "cairn/report/bound.h"
#include "context.h"
#include "exit_code.h"
#include "result_form.h"

namespace cairn::cli {
namespace {

template <class Request>
auto asked(const Request& request, const BoundArguments& arguments) {
  try {
    return bound::answer(request);
  } catch (const core::ConfigurationError& error) {
    throw in_options(error, arguments);
  }
}

template <class Answer>
void print(const Answer& answer, const BoundArguments& arguments, Context& context) {
  Output output(arguments.result.output, context.read);
  output.write(in_form(
      arguments.result, [&] { return report::json(answer, context.tool); },
      [&] { return report::text(answer, {.color = context.color(output)}); }));
  output.finish();
}

}  // namespace

int command(const BoundArguments& arguments, Context& context) {
  if (names_exchange(arguments)) {
    print(asked(exchange_request(arguments, context.loader), arguments), arguments, context);
    return k_ok;
  }
  if (!arguments.model.empty()) {
    print(asked(layers_request(arguments, context.loader), arguments), arguments, context);
    return k_ok;
  }
  const bound::ComputationRequest request = computation_request(arguments, context.loader);
  const bound::Answer answer = asked(request, arguments);
  if (!arguments.write_moves.empty())
    write_moves(answer, std::get<bound::Graph>(request.computation).graph, arguments.write_moves, context.read);
  print(answer, arguments, context);
  return answer.moves && !answer.moves->cost ? k_negative : k_ok;
}

}  // namespace cairn::cli

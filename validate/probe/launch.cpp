// Launches of empty kernels: on a stream and as graphs, seen by the device and by the host.
#include <chrono>

#include "measure.h"

namespace cairn::probe {

namespace {

using Clock = std::chrono::steady_clock;

// Kernels that counted themselves in one execution of what is measured.
double count_kernels(Context& context, bool graph, int kernels) {
  const Buffer counter(sizeof(std::uint32_t));
  auto* count = reinterpret_cast<std::uint32_t*>(counter.at(0));
  check(cudaMemsetAsync(count, 0, sizeof(std::uint32_t), context.stream), "cudaMemset");
  const auto launches = [&] {
    for (int i = 0; i < kernels; ++i) launch_empty(count, context.stream);
  };
  if (graph) {
    Graph(context.stream, launches).launch(context.stream);
  } else {
    launches();
  }
  context.stream.wait();
  std::uint32_t value = 0;
  check(cudaMemcpy(&value, count, sizeof value, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return value;
}

}  // namespace

Run run_launch(Context& context, const Case& row) {
  const int kernels = static_cast<int>(row.shape["kernels"]);
  const bool is_graph = row.kind.starts_with("graph");
  const bool by_host = row.kind == "launch_sync" || row.kind == "graph_launch";
  const auto launches = [&] {
    for (int i = 0; i < kernels; ++i) launch_empty(nullptr, context.stream);
  };
  launches();
  context.stream.wait();
  std::unique_ptr<Graph> graph;
  if (is_graph) graph = std::make_unique<Graph>(context.stream, launches);
  context.stream.wait();
  const auto execute = [&] {
    if (graph) {
      graph->launch(context.stream);
    } else {
      launches();
    }
  };
  const Event first, last;
  const auto sample = [&] {
    const Clock::time_point begin = Clock::now();
    if (!by_host) first.record(context.stream);
    execute();
    if (!by_host) last.record(context.stream);
    context.stream.wait();
    return by_host ? std::chrono::duration<double>(Clock::now() - begin).count() : last.seconds_since(first);
  };
  constexpr int k_warm_up = 10;
  for (int i = 0; i < k_warm_up; ++i) sample();
  Run run{collect(context.timing, sample), {}, {}};
  run.comparison.add(count_kernels(context, is_graph, kernels), {static_cast<double>(kernels), 0});
  return run;
}

}  // namespace cairn::probe

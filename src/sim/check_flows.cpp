#include "check_flows.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/sim/shared_work.h"

namespace cairn::sim {
namespace {

class Check {
 public:
  explicit Check(const FlowProblem& problem) : problem_(problem) {}

  void run() {
    links();
    routes();
    flows();
    dependencies();
    changes();
    if (problem_.sharing == Sharing::rtt_weighted) latencies();
    found_.raise_if_errors();
  }

 private:
  void complain(const std::string& what, std::size_t number, std::string message, std::string hint) {
    if (found_.error_count() >= core::k_shown_errors) return;
    found_.add({.file = {},
                .key_path = what + " " + std::to_string(number),
                .message = std::move(message),
                .hint = std::move(hint)});
  }

  void links() {
    for (std::size_t l = 0; l < problem_.links.size(); ++l) {
      const Link& link = problem_.links[l];
      if (!(link.capacity > 0.0) || !std::isfinite(link.capacity))
        complain("link", l, "has no bandwidth", "give it more than 0 bytes/s, or leave the link out");
      if (link.latency < 0) complain("link", l, "has a negative latency", "give it 0 or more");
      if (link.latency > core::k_reach)
        complain("link", l, "has a latency of more than " + core::reach_text(), "give it less");
    }
  }

  void routes() {
    for (RouteId r = 0; r < problem_.routes.size(); ++r)
      for (const LinkId link : problem_.routes[r])
        if (link >= problem_.links.size())
          complain("route", r, "crosses link " + std::to_string(link) + ", which does not exist",
                   "links are numbered from 0 to " + std::to_string(problem_.links.size()) + " exclusive");
  }

  void flows() {
    for (std::size_t f = 0; f < problem_.flows.size(); ++f) {
      const Flow& flow = problem_.flows[f];
      if (flow.route >= problem_.routes.size())
        complain("flow", f, "has no route", "add its route first");
      else if (problem_.routes[flow.route].empty())
        complain("flow", f, "crosses no link", "a flow leads from one endpoint to another; leave out flows to itself");
      if (!(flow.bytes >= 0.0) || !std::isfinite(flow.bytes))
        complain("flow", f, "has no valid size", "give it 0 bytes or more");
      if (flow.start < 0) complain("flow", f, "starts before 0", "let it start at 0 or later");
      if (flow.start >= k_latest) complain("flow", f, "starts after more than 53 days", "let it start earlier");
    }
  }

  void dependencies() {
    if (problem_.after_begin.empty()) return;
    CAIRN_ASSERT(problem_.after_begin.size() == problem_.flows.size() + 1);
    CAIRN_ASSERT(problem_.after_begin.back() == problem_.after.size());
    for (std::size_t f = 0; f < problem_.flows.size(); ++f)
      for (std::uint32_t i = problem_.after_begin[f]; i < problem_.after_begin[f + 1]; ++i)
        if (problem_.after[i] >= problem_.flows.size())
          complain("flow", f, "comes after flow " + std::to_string(problem_.after[i]) + ", which does not exist",
                   "flows are numbered from 0 to " + std::to_string(problem_.flows.size()) + " exclusive");
  }

  void changes() {
    for (std::size_t c = 0; c < problem_.changes.size(); ++c) {
      const CapacityChange& change = problem_.changes[c];
      if (change.link >= problem_.links.size())
        complain("capacity change", c, "is of link " + std::to_string(change.link) + ", which does not exist",
                 "links are numbered from 0 to " + std::to_string(problem_.links.size()) + " exclusive");
      if (!(change.capacity >= 0.0) || !std::isfinite(change.capacity))
        complain("capacity change", c, "has no valid bandwidth", "give 0 bytes/s or more");
      if (change.time < 0) complain("capacity change", c, "happens before 0", "let it happen at 0 or later");
      if (change.time >= k_latest) complain("capacity change", c, "happens after more than 53 days", "leave it out");
    }
  }

  // Rates in proportion to 1/latency mean nothing when only some latencies are 0.
  void latencies() {
    std::size_t without = problem_.flows.size(), with = without;
    for (std::size_t f = 0; f < problem_.flows.size(); ++f) {
      const Flow& flow = problem_.flows[f];
      if (flow.route >= problem_.routes.size()) continue;
      const auto route = problem_.routes[flow.route];
      const bool late = std::any_of(route.begin(), route.end(), [&](LinkId link) {
        return link < problem_.links.size() && problem_.links[link].latency > 0;
      });
      (late ? with : without) = f;
    }
    if (with < problem_.flows.size() && without < problem_.flows.size())
      complain("flow", without, "has a route without latency, beside others that have one",
               "sharing by 1/latency needs one on every route; or share max-min");
  }

  const FlowProblem& problem_;
  core::Diagnostics found_;
};

}  // namespace

void check(const FlowProblem& problem) { Check(problem).run(); }

}  // namespace cairn::sim

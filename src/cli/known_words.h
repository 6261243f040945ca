// Words of the command line that other modules own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn::cli {

// Every operator with its sizes, those that may be left out in brackets, and every exchange: for help.
std::string operators_text();
std::vector<std::string> operator_names();
std::vector<std::string> schedule_kinds();
std::vector<std::string> collective_names();
std::vector<std::string> algorithm_names();       // of collectives
std::vector<std::string> sharing_kernel_names();  // attention kernels for sequences that ranks share
std::vector<std::string> objective_names();       // of searches
std::vector<std::string> split_method_names();    // of searches that split a graph's operators
std::vector<std::string> search_method_names();   // all that --method takes
std::vector<std::string> layer_method_names();    // of searches that share an experiment's layers or state out
std::vector<std::string> network_names();         // such graphs
std::vector<std::string> cost_model_names();      // of such splits
inline constexpr std::string_view k_calibrated_costs = "cairn";
inline constexpr std::string_view k_stage_method = "alpa";         // of a pipeline's stages
inline constexpr std::string_view k_layered_method = "galvatron";  // of each layer of an experiment
inline constexpr std::string_view k_degrees_method = "pangu";      // of all its layers together
inline constexpr std::string_view k_shares_method = "cephalo";     // of a mixed cluster

}  // namespace cairn::cli

// The words of the Program, which every part of plan speaks.
#pragma once

#include "cairn/program/parameter_group.h"
#include "cairn/program/program.h"
#include "cairn/program/side_rows.h"

namespace cairn::plan {

using program::Axis;
using program::Block;
using program::BlockRun;
using program::Category;
using program::CategoryBytes;
using program::Collective;
using program::Copy;
using program::Dependency;
using program::Group;
using program::HeldTensors;
using program::HostWork;
using program::Interference;
using program::Lane;
using program::MemoryEvent;
using program::MemoryProfile;
using program::Mesh;
using program::OnProcessor;
using program::ParameterGroup;
using program::Pass;
using program::PassKey;
using program::PassKind;
using program::PassLayout;
using program::PassOrder;
using program::PerGroup;
using program::Placement;
using program::Program;
using program::ReplicaGroups;
using program::Send;
using program::SplitRule;
using program::Stage;
using program::Step;
using program::StepKind;
using program::Stream;
using program::Term;
using program::Transfer;
using program::Work;

using program::k_all_parameter_groups;
using program::k_axes;
using program::k_categories;
using program::k_parameter_groups;

using program::border_placement;
using program::concerns;
using program::entry_of;
using program::group_of;
using program::label;
using program::placement;
using program::profile_of;
using program::redistribute;
using program::repeated;
using program::split_dim;
using program::stream_of;
using program::then;

}  // namespace cairn::plan

// The objects in the result of a run, key by key.
#pragma once

#include "cairn/report/run.h"
#include "described.h"

namespace cairn::report::schema {

const Described<predict::Breakdown>& time_keys();
const Described<predict::BubbleParts>& bubble_keys();
const Described<predict::CauseTime>& cause_keys();
const Described<Run>& memory_keys();
const Described<Limit>& limit_keys();
const Described<predict::Bounds>& bounds_keys();
const Described<predict::ClassFloor>& class_floor_keys();
const Described<predict::ExpertExchange>& expert_exchange_keys();
const Described<experiment::WhyNot>& why_not_keys();
const Described<predict::EventResult>& event_keys();
const Described<WholeTraining>& training_keys();
const Described<contrast::Explanation>& measured_keys();
// Of runs that have such an interval.
const Described<Run>& time_interval_keys();
const Described<Run>& memory_interval_keys();
// When passes ran: of runs that have Prediction::passes.
Json timeline_schema();
Json timeline(const Run& run);

}  // namespace cairn::report::schema

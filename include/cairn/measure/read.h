// Files of measurements, told apart by what they hold:
//
//   {"schema": "cairn.measurement/1", ...}    the probe's document
//   {"nccl_version": ..., "results": [...]}   nccl-tests -J
//   # ... size count type ... time algbw      nccl-tests, as printed; several runs may follow each other, with what
//                                             launchers and NCCL add to a log in front of lines, between and inside
//   source,gpu,kernel,dtype,shape,ms,...      a table of serving operators; with a column `ref` one of stand-alone
//                                             kernels, whose time may follow from `tflops`
//   source,...,collective,bytes,time_us,...   a table of collectives
//
// What is wrong raises core::ConfigurationError with file, line and remedy, all of a file at once: a file cut off, a
// column that is not known, times that contradict the rates beside them (mixed units), results marked wrong. Text is
// never trusted: any bytes give rows or that error. A time outside 10 ns .. 1 h is refused.
//
// Which collective a table of nccl-tests timed is taken from its own header, the option, the command line in the log or
// the name of the file, and is held against busbw/algbw; that ratio alone says it only where one collective has it.
//
// Sources of the formats: nccl-tests 2.17 to 2.19 (src/util.cu, JSON version 2), older printed forms without redop and
// root; logs of mpirun --tag-output, srun --label and the MPI operator as published beside cluster recipes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/measure/measurement.h"

namespace cairn::measure {

struct ReadOptions {
  // Of nccl-tests output that does not say it: one of collective_names(), or empty. A log that says another is refused.
  std::string collective = {};
};
std::vector<std::string> collective_names();

MeasurementFile parse_measurements(std::string_view text, const std::string& file_name,
                                   const ReadOptions& options = {});

// Reads a file of at most config::k_file_limit bytes. In messages it goes by its own name, without folders.
MeasurementFile read_measurements(const std::filesystem::path& file, const ReadOptions& options = {});

// The probe's document as `cairn schema cairn.measurement/1` shows it.
struct ProbeDocument;
void describe(config::Fields& fields, ProbeDocument& document);
std::string probe_document_schema();

}  // namespace cairn::measure

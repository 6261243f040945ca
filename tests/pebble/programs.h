// Traces of small programs, as an instrumented run would record them.
#pragma once

#include "cairn/pebble/trace.h"

namespace cairn::pebble::testing {

// a[t+1][i][j] from the five points of a[t], two planes taking turns.
inline Trace jacobi2d_trace(int n, int steps) {
  Trace trace;
  const auto at = [n](int plane, int i, int j) { return static_cast<Address>((plane * n + i) * n + j); };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) trace.write(at(0, i, j));
  }
  trace.end_operation();
  for (int t = 0; t < steps; ++t) {
    const int from = t % 2;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        trace.read(at(from, i, j));
        if (i > 0) trace.read(at(from, i - 1, j));
        if (i + 1 < n) trace.read(at(from, i + 1, j));
        if (j > 0) trace.read(at(from, i, j - 1));
        if (j + 1 < n) trace.read(at(from, i, j + 1));
        trace.write(at(1 - from, i, j));
        trace.end_operation();
      }
    }
  }
  return trace;
}

// d[i][j] = min(d[i][j], d[i][k] + d[k][j]), in place.
inline Trace floyd_warshall_trace(int n) {
  Trace trace;
  const auto at = [n](int i, int j) { return static_cast<Address>(i * n + j); };
  for (int i = 0; i < n * n; ++i) trace.write(static_cast<Address>(i));
  trace.end_operation();
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        trace.read(at(i, j));
        trace.read(at(i, k));
        trace.read(at(k, j));
        trace.write(at(i, j));
        trace.end_operation();
      }
    }
  }
  return trace;
}

// Right-looking LU without pivoting, in place.
inline Trace lu_trace(int n) {
  Trace trace;
  const auto at = [n](int i, int j) { return static_cast<Address>(i * n + j); };
  for (int i = 0; i < n * n; ++i) trace.write(static_cast<Address>(i));
  trace.end_operation();
  for (int k = 0; k < n; ++k) {
    for (int i = k + 1; i < n; ++i) {
      trace.read(at(i, k));
      trace.read(at(k, k));
      trace.write(at(i, k));
      trace.end_operation();
    }
    for (int i = k + 1; i < n; ++i) {
      for (int j = k + 1; j < n; ++j) {
        trace.read(at(i, j));
        trace.read(at(i, k));
        trace.read(at(k, j));
        trace.write(at(i, j));
        trace.end_operation();
      }
    }
  }
  return trace;
}

}  // namespace cairn::pebble::testing

// A bound for computations of pairs (query row, key row) that are more than their products: attention and its
// derivative.
//
// A pair's operations hang together by scalars of its own (partial sums of its score, its exponential, ...). In a
// stretch of T transfers a pair is whole when all its operations lie there. Then all of its rows are at hand:
// `query_words` of the one side, `key_words` of the other, operands and running sums of results alike, so that r query
// rows and c key rows give at most r c whole pairs with r query_words + c key_words <= w words, that is w^2 / (4
// query_words key_words). Any other pair with an operation in the stretch has a scalar made on one side of its ends and
// used on the other: at hand when it begins or loaded, so that it takes a word that no row has, or at hand when it ends
// (at most S) or stored. With L <= T loads and a zero loaded where a running sum begins, the words at hand are S + L,
// and the pairs at most
//
//   U(T) = max over L, p of  (S + L - p)^2 / (4 query_words key_words) + p + S + (T - L)
//
// convex in L and in p, so at an end of each. The words moved are at least T (ceil(pairs / U) - 1) less the zeros.
// For S much beyond the product of the widths: 16 pairs query_words key_words / (16 S) at T = S.
//
// Worked example, attention, 2 d words of queries and outputs, 2 d of keys and values: 4 n^2 d^2 / S, which keeping
// rows of queries and passing keys by attains.
//
// A running maximum (online softmax) changes nothing: it scales the rows of the output, whose running sums are at hand
// for every whole pair all the same.
//
// Valid: red_blue_white, with and without sliding (S + 1: a zero's place); each score and each element of a result one
// running sum, in any order. A value computed twice would be a scalar made twice, so it does not hold under hong_kung.
#pragma once

#include "cairn/pebble/bound.h"

namespace cairn::pebble {

struct PairedRows {
  Words pairs = 0;
  Words query_words = 0;  // of one query row: operands and results
  Words key_words = 0;    // of one key row
  Words results = 0;      // words whose running sums begin from nothing
};

LowerBound paired_rows_bound(const PairedRows& rows, Words fast);

}  // namespace cairn::pebble

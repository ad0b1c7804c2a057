// Package physical holds physical plans: plain data that the execution builds
// its operators from, one file per node.
//
// A node is made once by package planner and never changed. Its columns are
// positions in the output of its children; where a node has two inputs, the
// columns of its expressions run through the left input's and then the right's.
//
// Invariants:
//
//  1. Node ids number a plan in pre-order from 1. The same statement planned
//     against the same objects gets the same ids, so that they can name state.
//  2. A node's expressions hold no subqueries and no aggregates; those are nodes.
//  3. An aggregate's and a window function's arguments are input columns; a
//     Project below computes them.
package physical

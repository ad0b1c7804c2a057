// Package planner makes physical plans of statements: it binds them, runs the
// rules, chooses an operator for each logical node and derives what the node
// gives and keeps.
//
// A plan is either a batch read, whose inputs end, or continuous. For a
// continuous one the planner decides from the output mode what each operator
// emits, and refuses at once, with 0A000, what could not be kept up to date: the
// error names the operator, the reason and what would help.
//
// Invariants:
//
//  1. What a continuous plan in append mode emits is inserts only; every operator
//     of it says so in its properties.
//  2. An operator that keeps state says what bounds it.
//  3. Node ids number the plan in pre-order from 1.
package planner

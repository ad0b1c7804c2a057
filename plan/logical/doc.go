// Package logical holds logical plans: what a query means, free of choices of
// how to run it. The binder makes them, rules rewrite them, the planner lowers
// them to physical plans.
//
// Invariants:
//
//  1. Nodes are immutable and may be shared by several plans.
//  2. Columns and expressions of a node count in its input's columns; with two
//     inputs the left one's come first.
//  3. Expressions hold neither subqueries nor aggregates. A subquery is the right
//     input of an Apply; it reaches columns of the Apply's left input with
//     expr.Outer, level 1 being the nearest Apply.
package logical

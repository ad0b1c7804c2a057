// Package rule rewrites logical plans to ones that mean the same and cost less.
//
// Each rule is a function from plan to plan in a file of its own; Optimize runs
// them in the order of one list.
//
// Invariants:
//
//  1. A rule keeps the number, order and types of the plan's output columns.
//  2. A condition is moved only to where it is true for the same rows; a volatile
//     one stays where it was written.
//  3. Nothing passes a Watermark: what is below it decides how time proceeds.
package rule

// Package plan and the packages below it turn a syntax tree into a physical
// plan. They run nothing.
//
//	sql.Query ─ bind ─→ logical.Node ─ rule ─→ logical.Node ─ planner ─→ physical.Node
//
// Package bind resolves names and types against a version of the catalog;
// package logical holds what is meant, free of physical choices; package rule
// rewrites it to something that costs less and means the same; package planner
// chooses operators, derives what each of them gives (stream key, event time,
// changes, what bounds its state) and refuses what cannot work continuously;
// package physical holds the result as plain data, which the execution builds
// its operators from.
//
// This package is the vocabulary of the others: schemas of relations and the
// description of nodes that EXPLAIN prints.
//
// Invariants:
//
//  1. Plans are never changed after they are made; rewriting makes new nodes.
//  2. Expressions refer to input columns by position. A node's schema and the
//     expressions above it agree in number, order and type of columns.
//  3. Planning is a function of the text, the catalog version and the settings:
//     the same input gives the same plan with the same node ids.
package plan

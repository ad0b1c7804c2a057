// Package bind resolves a syntax tree against the catalog: it gives every name
// its column and every expression its type, as PostgreSQL does and with its
// errors, and makes a logical plan of the query.
//
// The life of a query: a level is made for it and its FROM clause gives the level
// a plan and a scope of names. Each clause then binds its expressions in that
// scope and puts a node on the plan. Subqueries met on the way become Apply nodes
// that add a column to the level's plan; aggregates, window functions and
// functions that return rows are looked for before a clause is bound and become
// nodes too, so that what is left is an expression over the plan's columns.
//
// Invariants:
//
//  1. A column of a level's plan keeps its position until the level is grouped or
//     projected: Apply nodes only add columns at the end.
//  2. Errors carry the position of the word they are about.
//  3. Views and common table expressions are bound in place; nothing below this
//     package knows of them.
package bind

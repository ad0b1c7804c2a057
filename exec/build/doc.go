// Package build makes runnable things from physical plans: a Tree for a finite
// read, a Graph's fragments for a continuous query. It is the only part of the
// executor that sees plans.
//
// Invariants:
//
//	B1  Each node becomes the operator of the same name; one switch knows them all.
//	B2  State is named by the query and the node's number, so the same plan finds
//	    its state again.
//	B3  A node that needs all rows in one place gets one task.
package build

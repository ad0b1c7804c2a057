// Package catalog turns names into objects: sources, tables, views, sinks,
// flows, and the system relations that describe them.
//
// Life of the catalog: Open loads the stored objects; Snapshot hands out the
// version in force; Begin starts a change, whose Tx collects creates, drops and
// replacements over its own view; Commit checks them against what others have
// committed since, stores them in one step and makes the next version.
//
// Life of an object: NewID at CREATE, Tx.Create, Tx.Replace for every change
// (ALTER, RENAME, COMMENT), Tx.Drop. Its id is never used again.
//
// System relations are objects too (KindSystem). Their columns are PostgreSQL
// 15's; their rows are made on demand by System.Rows from a snapshot and the
// session. Relations of PostgreSQL that say nothing about streamsql exist and
// are empty.
//
// Invariants:
//
//	K1  A Snapshot and an Object never change. A change makes new ones.
//	K2  A name is taken by one object per schema, whatever the kinds.
//	K3  Every id in DependsOn, Diverts and Into names an object of the same snapshot.
//	K4  A change is stored before it is visible to other sessions, whole or not
//	    at all.
//	K5  Ids rise, and an id handed out is never handed out again, not even after
//	    a crash or a rollback.
//	K6  The oids of an object are a function of its id alone; they are 16384 or
//	    above, system relations' oids are below.
package catalog

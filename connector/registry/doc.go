// Package registry asks a schema registry that speaks Confluent's protocol.
//
// Life of a Client: New starts nothing; Schema, Latest and Register ask the
// registry, one server after the other until one answers; Close ends the
// connections.
//
// Invariants:
//
//	R1  A schema is asked for once: what an id means never changes.
//	R2  An error is marked permanent where asking again cannot help: the registry
//	    refuses the credentials, the schema, or does not have it. Any other may heal.
//	R3  No answer is read beyond maxAnswer bytes, and no more than maxReferences
//	    schemas are read for one.
package registry

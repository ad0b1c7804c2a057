// Package invariants tells whether this is a checked build (tag invariants):
// there, broken internal rules panic or end the process, buffers are poisoned on
// release, and every operator is watched (see package exec). Tests run so.
package invariants

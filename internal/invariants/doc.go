// Package invariants tells whether this is a checked build (tag invariants):
// there, broken internal rules panic and buffers are poisoned on release.
package invariants

// Package blackhole is a sink that drops its rows: for measurements, and for
// queries that are run for their side effects.
package blackhole

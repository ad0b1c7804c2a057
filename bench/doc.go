// Package bench measures the engine: Go benchmarks whose figures are rates and
// ratios of one run on one machine. Nothing here decides whether a change is
// right; tests do.
//
//	go test ./bench -run '^$' -bench .
package bench

package build

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/physical"
)

func notFinite(n physical.Node) error {
	return sqlerr.Internal("no operator for %s in a finite read", n.Describe().Op)
}

func notContinuous(n physical.Node) error {
	return sqlerr.Unsupported("%s is not supported in a continuous query", n.Describe().Op).
		WithHint("Run it in a SELECT over the materialized view.")
}

func endless(name string) error {
	return sqlerr.Unsupported("source %s has no end, a SELECT over it would not return", name).
		WithHint("Create a materialized view over it and read that, or bound the source (for a generator: number_of_rows).")
}

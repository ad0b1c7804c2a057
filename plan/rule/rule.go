package rule

import "github.com/streamsql/streamsql/plan/logical"

// Rule is a rewriting of plans with a name for tests.
type Rule struct {
	Name  string
	Apply func(logical.Node) logical.Node
}

// Rules are all rules in the order in which they run.
var Rules = []Rule{
	{"fold constants", FoldConstants},
	{"subqueries to joins", SubqueryJoins},
	{"functions of a row", LateralFunctions},
	{"push filters", PushFilters},
	{"order joins", OrderJoins},
	{"merge projections", MergeProjects},
	{"push filters", PushFilters}, // what a merged projection let through
	{pruneName, PruneColumns},
	{"merge projections", MergeProjects},
	{"fold constants", FoldConstants},
}

// Optimize runs the rules.
func Optimize(n logical.Node) logical.Node {
	for _, r := range Rules {
		n = r.Apply(n)
	}
	return n
}

// DropWatermarks takes watermarks off a plan that is read as a batch.
func DropWatermarks(n logical.Node) logical.Node {
	return logical.Transform(n, func(n logical.Node) logical.Node {
		if w, ok := n.(*logical.Watermark); ok {
			return w.Input()
		}
		return n
	})
}

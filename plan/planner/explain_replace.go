package planner

import (
	"slices"

	"github.com/streamsql/streamsql/plan/physical"
)

// Tell notes on the plan, for Explain, what becomes of each operator when it takes the
// place of another plan. emptied: the rows of the view go at once, since they have other
// columns.
func (r *Replacement) Tell(p *Plan, emptied bool) {
	p.Fate = map[int]string{}
	eachRead(p.Root, false, func(n physical.Node, static bool) {
		p.Fate[int(n.ID())] = r.fateText(n, static, emptied)
	})
}

// eachRead calls fn for each node; static tells that it is below the static side of a
// join, which is read anew at each start whatever happens.
func eachRead(n physical.Node, static bool, fn func(n physical.Node, static bool)) {
	fn(n, static)
	for i, c := range n.Children() {
		s := static
		if j, ok := n.(*physical.Join); ok && j.Broadcast {
			s = static || (i == 1) == j.StaticRight
		}
		eachRead(c, s, fn)
	}
}

func (r *Replacement) fateText(n physical.Node, static, emptied bool) string {
	fate := r.Fates[int(n.ID())]
	switch n.(type) {
	case *physical.Materialize:
		switch {
		case r.Whole:
			return "rows stay"
		case emptied:
			return "rows are removed and made anew"
		}
		return "rows are made anew and take the place of the old ones"
	case *physical.SinkWrite:
		return "rows that were sent stay"
	case *physical.SourceScan, *physical.RelationScan:
		switch {
		case static:
			return "read whole at each start"
		case fate == Kept:
			return "read on from where it is"
		}
		if _, ok := n.(*physical.SourceScan); ok {
			return "read anew from its start"
		}
		return "read anew, present rows first"
	}
	switch {
	case fate == Replayed:
		return "state kept, all rows given once more"
	case n.Props().State == "":
		return ""
	case fate == Kept:
		return "state kept"
	}
	return "state built anew"
}

// ReadAnew are the names of the sources and relations that a replacement reads from
// their start, each once.
func (r *Replacement) ReadAnew(p *Plan) []string {
	var out []string
	eachRead(p.Root, false, func(n physical.Node, static bool) {
		name := ""
		switch n := n.(type) {
		case *physical.SourceScan:
			name = n.Object.Kind.String() + " " + n.Object.Name.String()
		case *physical.RelationScan:
			name = n.Object.Kind.String() + " " + n.Object.Name.String()
		}
		if name != "" && !static && r.Fates[int(n.ID())] == Rebuilt && !slices.Contains(out, name) {
			out = append(out, name)
		}
	})
	return out
}

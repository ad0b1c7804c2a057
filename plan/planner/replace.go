package planner

import (
	"slices"

	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/physical"
)

// Fate is what becomes of an operator's state when its plan takes the place of
// another one.
type Fate uint8

// The fates.
const (
	// Rebuilt: the operator begins anew.
	Rebuilt Fate = iota
	// Kept: it has the state of its like in the other plan.
	Kept
	// Replayed: Kept, and it gives all that it holds once more, to what is rebuilt
	// above it.
	Replayed
)

// Replacement says what a plan takes over of the state of another one. Numbers are
// those of nodes, under which the store has their state.
type Replacement struct {
	// Nodes are the numbers that the new plan's nodes get, in pre-order: those that
	// keep their state have the old ones.
	Nodes []int
	// Keep are the nodes that are kept, Replay those of them that are replayed.
	Keep, Replay []int
	// Whole: every node is kept, and the rows of the result with them.
	Whole bool
	// Fates are the nodes' by their new numbers.
	Fates map[int]Fate
}

// Renumber gives the nodes of a plan numbers other than those of their pre-order; false
// if there are not as many.
func Renumber(p *Plan, nodes []int) bool {
	all := preorder(p.Root, nil)
	if len(all) != len(nodes) {
		return false
	}
	for i, n := range all {
		n.(interface{ SetID(physical.NodeID) }).SetID(physical.NodeID(nodes[i]))
	}
	return true
}

func preorder(n physical.Node, out []physical.Node) []physical.Node {
	out = append(out, n)
	for _, c := range n.Children() {
		out = preorder(c, out)
	}
	return out
}

// Replace compares a plan with the one whose place it takes. An operator is the same
// as another if it does the same over inputs that are the same down to the sources:
// then its state is what the other would have come to. What is rebuilt gets rows either
// from a source that is read anew from its start, or from a kept operator that gives all
// that it holds; never from one whose earlier rows are gone.
func Replace(old, next *Plan) *Replacement {
	r := &replacing{old: map[string][]physical.Node{}, ids: map[physical.Node]int{}, fates: map[physical.Node]Fate{},
		marks: map[physical.Node]string{}}
	r.index(old.Root)
	r.mark(next.Root)
	_, r.sink = next.Root.(*physical.SinkWrite)
	r.appendOnly = old.AppendOnly && next.AppendOnly
	whole := r.marks[old.Root] == r.marks[next.Root]
	if whole {
		r.keep(old.Root, next.Root)
	} else {
		r.visit(next.Root, !r.sink)
	}
	return r.result(next.Root, whole)
}

// Anew is the Replacement of a plan that takes nothing over.
func Anew(p *Plan) *Replacement {
	return (&replacing{}).result(p.Root, false)
}

type replacing struct {
	old   map[string][]physical.Node // nodes of the old plan that are free, by fingerprint
	marks map[physical.Node]string   // fingerprints
	ids   map[physical.Node]int      // numbers of kept nodes
	fates map[physical.Node]Fate
	// sink: the result leaves for good; appendOnly: and nothing of it is ever taken back.
	sink, appendOnly bool
}

func (r *replacing) mark(n physical.Node) string {
	var in []string
	for _, c := range n.Children() {
		in = append(in, r.mark(c))
	}
	r.marks[n] = fingerprint(n, in)
	return r.marks[n]
}

func (r *replacing) index(n physical.Node) {
	r.mark(n)
	for _, x := range preorder(n, nil) {
		r.old[r.marks[x]] = append(r.old[r.marks[x]], x)
	}
}

// take removes the nodes of a kept subtree from those that are free.
func (r *replacing) take(n physical.Node) {
	for _, x := range preorder(n, nil) {
		m := r.marks[x]
		r.old[m] = slices.DeleteFunc(r.old[m], func(y physical.Node) bool { return x == y })
	}
}

// keep gives a subtree the numbers of its like.
func (r *replacing) keep(old, next physical.Node) {
	r.ids[next], r.fates[next] = int(old.ID()), Kept
	for i, c := range next.Children() {
		r.keep(old.Children()[i], c)
	}
}

// visit decides about a subtree. strict: what is above needs all rows that the node
// ever gave; else the rows that have left already may stay as they are.
func (r *replacing) visit(n physical.Node, strict bool) {
	if free := r.old[r.marks[n]]; len(free) > 0 {
		if replay, ok := r.frontier(n, strict); ok {
			like := free[0]
			r.take(like)
			r.keep(like, n)
			for _, x := range replay {
				r.fates[x] = Replayed
			}
			return
		}
	}
	if !strict && r.appendOnly && r.goesOn(n) {
		return
	}
	strict = strict || stateful(n)
	for _, c := range n.Children() {
		r.visit(c, strict)
	}
}

// goesOn lets a source that is read without state above it go on from where it was,
// though it has other columns.
func (r *replacing) goesOn(n physical.Node) bool {
	var like physical.Node
	for _, free := range r.old {
		for _, o := range free {
			if sameInput(o, n) && (like == nil || o.ID() < like.ID()) {
				like = o
			}
		}
	}
	if like == nil {
		return false
	}
	r.take(like)
	r.keep(like, n)
	return true
}

func sameInput(a, b physical.Node) bool {
	switch a := a.(type) {
	case *physical.SourceScan:
		b, ok := b.(*physical.SourceScan)
		return ok && a.Object.ID == b.Object.ID
	case *physical.RelationScan:
		b, ok := b.(*physical.RelationScan)
		return ok && a.Object.ID == b.Object.ID && a.Stream && b.Stream
	}
	return false
}

// frontier tells whether a kept subtree can feed what is rebuilt above it, and which
// of its operators must give what they hold for that.
func (r *replacing) frontier(n physical.Node, strict bool) (replay []physical.Node, ok bool) {
	if !strict && r.appendOnly {
		return nil, true
	}
	switch n := n.(type) {
	case *physical.Project, *physical.Filter, *physical.Expand, *physical.ProjectSet, *physical.Union:
		for _, c := range n.Children() {
			more, ok := r.frontier(c, strict)
			if !ok {
				return nil, false
			}
			replay = append(replay, more...)
		}
		return replay, true
	}
	holds, all := replayable(n)
	if !holds || strict && !all {
		return nil, false
	}
	return []physical.Node{n}, true
}

// replayable tells whether an operator can give once more the rows that it holds, and
// whether these are all that it ever gave and did not take back.
func replayable(n physical.Node) (holds, all bool) {
	switch n := n.(type) {
	case *physical.HashAgg:
		session := n.Window != nil && n.Window.Kind == plan.Session
		return !n.FinalOnly && !session, n.Window == nil && n.CloseBy < 0 && n.TTL == 0
	case *physical.GroupTopN:
		return !n.FinalOnly, n.CloseBy < 0 && n.TTL == 0
	case *physical.SetOp:
		return true, true
	case *physical.DistinctOn:
		return n.Replace, n.Forget < 0 && n.Time < 0 && n.TTL == 0
	}
	return false, false
}

// stateful tells whether an operator's output depends on rows that it has seen before.
func stateful(n physical.Node) bool {
	switch n := n.(type) {
	case *physical.Project, *physical.Filter, *physical.Expand, *physical.ProjectSet, *physical.Union,
		*physical.Emit, *physical.SinkWrite, *physical.Watermark:
		return false
	case *physical.Window:
		return n.Kind == plan.Session
	case *physical.Join:
		return !n.Broadcast
	}
	return true
}

func (r *replacing) result(root physical.Node, whole bool) *Replacement {
	out := &Replacement{Whole: whole, Fates: map[int]Fate{}}
	used := map[int]bool{1: true}
	for _, id := range r.ids {
		used[id] = true
	}
	fresh := 1
	for i, n := range preorder(root, nil) {
		id, kept := r.ids[n]
		switch {
		case kept:
		case i == 0:
			id = 1
		default:
			for used[fresh] {
				fresh++
			}
			id = fresh
			used[id] = true
		}
		out.Nodes, out.Fates[id] = append(out.Nodes, id), r.fates[n]
		if kept {
			out.Keep = append(out.Keep, id)
		}
		if r.fates[n] == Replayed {
			out.Replay = append(out.Replay, id)
		}
	}
	return out
}

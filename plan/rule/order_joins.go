package rule

import (
	"slices"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
)

// OrderJoins reorders chains of inner joins in which a relation would be joined
// with those before it by no condition although a later order has one. It keeps
// the order of the text as far as it can.
func OrderJoins(n logical.Node) logical.Node {
	if j, ok := n.(*logical.Join); ok && inner(j) {
		c := &chain{}
		c.add(j)
		for i, leaf := range c.leaves {
			c.leaves[i] = OrderJoins(leaf)
		}
		return c.build(j)
	}
	in := n.Children()
	if len(in) == 0 {
		return n
	}
	out := make([]logical.Node, len(in))
	for i, k := range in {
		out[i] = OrderJoins(k)
	}
	return n.WithChildren(out)
}

func inner(j *logical.Join) bool {
	return (j.Kind == plan.InnerJoin || j.Kind == plan.CrossJoin) && !j.Regular
}

// chain is a tree of inner joins taken apart: its leaves in the order of the
// text with the position of their first column, and all conditions.
type chain struct {
	leaves []logical.Node
	first  []int
	width  int
	conds  []expr.Expr
	pos    []int
}

func (c *chain) add(n logical.Node) {
	j, ok := n.(*logical.Join)
	if !ok || !inner(j) {
		c.leaves, c.first = append(c.leaves, n), append(c.first, c.width)
		c.width += n.Schema().Len()
		return
	}
	base := c.width
	c.add(j.Children()[0])
	c.add(j.Children()[1])
	c.pos = append(c.pos, j.Pos)
	for _, e := range plan.Conjuncts(j.On) {
		c.conds = append(c.conds, expr.Remap(e, func(k int) int { return k + base }))
	}
}

// leaf tells which leaf has a column.
func (c *chain) leaf(col int) int {
	i, found := slices.BinarySearch(c.first, col)
	if !found {
		i--
	}
	for i+1 < len(c.first) && c.first[i+1] == col { // leaves without columns
		i++
	}
	return i
}

// linked tells whether a condition joins leaf i with one of the set.
func (c *chain) linked(i int, set []int) bool {
	for _, e := range c.conds {
		touches, others, outside := false, false, false
		for _, col := range expr.Columns(e) {
			switch l := c.leaf(col); {
			case l == i:
				touches = true
			case slices.Contains(set, l):
				others = true
			default:
				outside = true
			}
		}
		if touches && others && !outside {
			return true
		}
	}
	return false
}

// order returns the leaves in the order to join them: always the first that is
// linked with those before it, or else the first.
func (c *chain) order() []int {
	set := []int{0}
	for len(set) < len(c.leaves) {
		next := -1
		for i := range c.leaves {
			if slices.Contains(set, i) {
				continue
			}
			if c.linked(i, set) {
				next = i
				break
			}
			if next < 0 {
				next = i
			}
		}
		set = append(set, next)
	}
	return set
}

// build joins the leaves anew, or keeps j with its new leaves where the order
// stays.
func (c *chain) build(j *logical.Join) logical.Node {
	order := c.order()
	if slices.IsSorted(order) && leftDeep(j) {
		return rebuild(j, &c.leaves)
	}
	at := make([]int, c.width) // old column → new
	next := 0
	for _, l := range order {
		for k := range c.leaves[l].Schema().Len() {
			at[c.first[l]+k] = next
			next++
		}
	}
	n := c.leaves[order[0]]
	for i, l := range order[1:] {
		n = logical.NewJoin(n, c.leaves[l], plan.CrossJoin, nil, c.pos[min(i, len(c.pos)-1)])
	}
	for i, e := range c.conds {
		c.conds[i] = expr.Remap(e, func(k int) int { return at[k] })
	}
	n = push(filter(n, c.conds), nil)
	all := logical.Identity(n.Schema())
	list := make([]expr.Expr, c.width)
	for old, now := range at {
		list[old] = all[now]
	}
	return logical.NewProject(n, list, j.Schema().Names())
}

// leftDeep tells whether no right input of a chain is a chain itself.
func leftDeep(n logical.Node) bool {
	j, ok := n.(*logical.Join)
	if !ok || !inner(j) {
		return true
	}
	r, ok := j.Children()[1].(*logical.Join)
	return !(ok && inner(r)) && leftDeep(j.Children()[0])
}

// rebuild puts new leaves into a tree of joins.
func rebuild(n logical.Node, leaves *[]logical.Node) logical.Node {
	j, ok := n.(*logical.Join)
	if !ok || !inner(j) {
		leaf := (*leaves)[0]
		*leaves = (*leaves)[1:]
		return leaf
	}
	l := rebuild(j.Children()[0], leaves)
	return j.WithChildren([]logical.Node{l, rebuild(j.Children()[1], leaves)})
}

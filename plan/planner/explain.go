package planner

import (
	"encoding/json"
	"strings"

	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
)

// Explain prints the plan's physical tree: a line per operator with what it
// does, then a line with what it gives and keeps. verbose adds the logical tree
// and the columns of each operator.
func Explain(p *Plan, verbose bool) string {
	var b strings.Builder
	if verbose && p.Logical != nil {
		b.WriteString("Logical plan\n")
		writeLogical(&b, p.Logical, 1)
		b.WriteString("Physical plan\n")
		writePhysical(&b, p.Root, 1, true, p.Fate)
		return b.String()
	}
	writePhysical(&b, p.Root, 0, false, p.Fate)
	return b.String()
}

// ExplainLogical prints a logical tree.
func ExplainLogical(n logical.Node) string {
	var b strings.Builder
	writeLogical(&b, n, 0)
	return b.String()
}

func writeLogical(b *strings.Builder, n logical.Node, depth int) {
	writeDesc(b, n.Describe(), depth)
	for _, c := range n.Children() {
		writeLogical(b, c, depth+1)
	}
}

func writeDesc(b *strings.Builder, d plan.Desc, depth int) {
	b.WriteString(strings.Repeat("  ", depth))
	b.WriteString(d.Op)
	for i, a := range d.Attrs {
		if i > 0 {
			b.WriteString(";")
		}
		b.WriteString(" " + a.Key + "=" + a.Value)
	}
	b.WriteString("\n")
}

func writePhysical(b *strings.Builder, n physical.Node, depth int, verbose bool, fate map[int]string) {
	writeDesc(b, n.Describe(), depth)
	facts := properties(n)
	if f := fate[int(n.ID())]; f != "" {
		facts = append(facts, plan.Attr{Key: "on replace", Value: f})
	}
	if verbose {
		facts = append(facts, plan.Attr{Key: "output", Value: output(n.Schema())})
	}
	if len(facts) > 0 {
		b.WriteString(strings.Repeat("  ", depth) + "  ·")
		for i, f := range facts {
			if i > 0 {
				b.WriteString(";")
			}
			b.WriteString(" " + f.Key)
			if f.Value != "" {
				b.WriteString("=" + f.Value)
			}
		}
		b.WriteString("\n")
	}
	for _, c := range n.Children() {
		writePhysical(b, c, depth+1, verbose, fate)
	}
}

func output(s *plan.Schema) string {
	out := make([]string, s.Len())
	for i, f := range s.Fields {
		out[i] = s.ColumnName(i) + " " + f.Type.String()
	}
	return strings.Join(out, ", ")
}

// properties lists what is worth telling of a node's output and state. In a
// batch read every node's output ends and has inserts only: nothing is told.
func properties(n physical.Node) []plan.Attr {
	p := n.Props()
	if p.Bounded && p.State == "" && p.AppendOnly {
		return nil
	}
	var out []plan.Attr
	if _, ok := n.(*physical.Result); ok {
		return nil
	}
	changes := "changelog"
	if p.AppendOnly {
		changes = "append-only"
	}
	out = append(out, plan.Attr{Key: changes})
	switch {
	case p.Key == nil:
	case len(p.Key) == 0:
		out = append(out, plan.Attr{Key: "key", Value: "one row"})
	default:
		out = append(out, plan.Attr{Key: "key", Value: n.Schema().ColumnNames(p.Key)})
	}
	if p.EventTime >= 0 {
		out = append(out, plan.Attr{Key: "event time", Value: n.Schema().ColumnName(p.EventTime)})
	}
	if p.State != "" {
		out = append(out, plan.Attr{Key: "state", Value: p.State}, plan.Attr{Key: "bounded by", Value: p.Bound})
	}
	if stays(n) {
		out = append(out, plan.Attr{Key: "in memory"})
	}
	return out
}

// stays tells whether a node's state stays in memory, however large it grows: what has a
// TTL, and what is read anew at each start.
func stays(n physical.Node) bool {
	if n.Props().State == "" {
		return false
	}
	switch n := n.(type) {
	case *physical.HashAgg:
		return n.TTL > 0 || n.Window != nil && n.Window.Kind == plan.Session && len(n.GroupBy) <= 2
	case *physical.DistinctOn:
		return n.TTL > 0
	case *physical.GroupTopN:
		return n.TTL > 0 || len(n.PartitionBy) == 0 && n.Prop.Bound != numberOfRows
	case *physical.LatestByKey:
		return n.TTL > 0
	case *physical.Join:
		return true
	}
	return false
}

// explained is a node of the JSON form.
type explained struct {
	ID         int               `json:"id"`
	Op         string            `json:"op"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Changes    string            `json:"changes"`
	Key        []string          `json:"key"`
	EventTime  string            `json:"eventTime,omitempty"`
	State      string            `json:"state,omitempty"`
	Bound      string            `json:"boundedBy,omitempty"`
	InMemory   bool              `json:"inMemory,omitempty"`
	OnReplace  string            `json:"onReplace,omitempty"`
	Output     []string          `json:"output"`
	Inputs     []explained       `json:"inputs,omitempty"`
}

// ExplainJSON is Explain as JSON, for programs.
func ExplainJSON(p *Plan) (string, error) {
	out, err := json.MarshalIndent([]explained{explain(p.Root, p.Fate)}, "", "  ")
	return string(out), err
}

func explain(n physical.Node, fate map[int]string) explained {
	p, d, s := n.Props(), n.Describe(), n.Schema()
	e := explained{ID: int(n.ID()), Op: d.Op, Changes: "changelog", State: p.State, Bound: p.Bound,
		InMemory: stays(n), Output: s.Names(), OnReplace: fate[int(n.ID())]}
	if p.AppendOnly {
		e.Changes = "append-only"
	}
	for _, a := range d.Attrs {
		if e.Attributes == nil {
			e.Attributes = map[string]string{}
		}
		e.Attributes[a.Key] = a.Value
	}
	if p.Key != nil {
		e.Key = []string{}
		for _, k := range p.Key {
			e.Key = append(e.Key, s.ColumnName(k))
		}
	}
	if p.EventTime >= 0 {
		e.EventTime = s.ColumnName(p.EventTime)
	}
	for _, c := range n.Children() {
		e.Inputs = append(e.Inputs, explain(c, fate))
	}
	return e
}

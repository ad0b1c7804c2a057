package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/streamsql/streamsql/plan/physical"
)

// explainPlan prints a physical plan: an operator a line, what it does in
// parentheses, and on lines of their own what it keeps and what bounds that.
func explainPlan(root physical.Node, o ExplainOptions) ([]string, error) {
	if o.Format == "json" {
		text, err := json.MarshalIndent([]any{map[string]any{"Plan": explainJSON(root, o)}}, "", "  ")
		return []string{string(text)}, err
	}
	return explainText(root, o, 0, nil), nil
}

func explainText(n physical.Node, o ExplainOptions, depth int, out []string) []string {
	indent := strings.Repeat("  ", depth)
	d := n.Describe()
	line := indent + d.Op
	if depth > 0 {
		line = indent[:len(indent)-2] + "->" + " " + d.Op
	}
	var attrs []string
	for _, a := range d.Attrs {
		attrs = append(attrs, a.Key+": "+a.Value)
	}
	if len(attrs) > 0 {
		line += " (" + strings.Join(attrs, "; ") + ")"
	}
	if f, ok := o.Analysis[int(n.ID())]; ok {
		line += fmt.Sprintf(" (actual rows=%d batches=%d time=%.3f ms)", f.Rows, f.Batches, f.Millis)
	}
	out = append(out, line)
	for _, l := range explainProps(n, o.Verbose) {
		out = append(out, indent+"   "+l)
	}
	for _, c := range n.Children() {
		out = explainText(c, o, depth+1, out)
	}
	return out
}

// explainProps tells what a node keeps; with verbose, all that is known of its
// output.
func explainProps(n physical.Node, verbose bool) []string {
	p := n.Props()
	var out []string
	if p.State != "" {
		out = append(out, "State: "+p.State+", bounded by "+p.Bound)
	}
	if !verbose {
		return out
	}
	if p.Key != nil {
		key := n.Schema().ColumnNames(p.Key)
		if len(p.Key) == 0 {
			key = "one row"
		}
		out = append(out, "Key: "+key)
	}
	if p.EventTime >= 0 {
		out = append(out, "Event time: "+n.Schema().ColumnName(p.EventTime))
	}
	changes := "inserts and deletes"
	if p.AppendOnly {
		changes = "inserts only"
	}
	return append(out, "Changes: "+changes, "Distribution: "+p.Dist.String())
}

func explainJSON(n physical.Node, o ExplainOptions) map[string]any {
	d, p := n.Describe(), n.Props()
	m := map[string]any{"Node": int(n.ID()), "Node Type": d.Op}
	for _, a := range d.Attrs {
		m[a.Key] = a.Value
	}
	if p.State != "" {
		m["State"], m["Bounded By"] = p.State, p.Bound
	}
	if o.Verbose {
		m["Append Only"], m["Distribution"] = p.AppendOnly, p.Dist.String()
		m["Output"] = n.Schema().Names()
	}
	if f, ok := o.Analysis[int(n.ID())]; ok {
		m["Actual Rows"], m["Actual Batches"], m["Actual Time"] = f.Rows, f.Batches, f.Millis
	}
	var kids []any
	for _, c := range n.Children() {
		kids = append(kids, explainJSON(c, o))
	}
	if kids != nil {
		m["Plans"] = kids
	}
	return m
}

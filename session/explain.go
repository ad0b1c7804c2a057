package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/streamsql/streamsql/plan/planner"
)

// explainPlan prints a plan as lines; with Analysis, each operator with what was
// measured of it.
func explainPlan(p *planner.Plan, o ExplainOptions) ([]string, error) {
	if o.Format == "json" {
		text, err := planner.ExplainJSON(p)
		if err == nil && o.Analysis != nil {
			text, err = analysedJSON(text, o.Analysis)
		}
		return []string{text}, err
	}
	lines := strings.Split(strings.TrimRight(planner.Explain(p, o.Verbose), "\n"), "\n")
	if o.Analysis == nil {
		return lines, nil
	}
	// Nodes are numbered in the order in which they are printed, one line each and
	// perhaps one more about properties.
	id, physical := 0, !o.Verbose
	for i, l := range lines {
		switch {
		case l == "Physical plan":
			physical = true
		case physical && !strings.HasPrefix(strings.TrimLeft(l, " "), "·"):
			id++
			if f, ok := o.Analysis[id]; ok {
				lines[i] += fmt.Sprintf(" (actual rows=%d)", f.Rows)
			}
		}
	}
	return lines, nil
}

// analysedJSON adds the rows of each node to the JSON form of a plan.
func analysedJSON(text string, figures map[int]NodeFigures) (string, error) {
	var roots []map[string]any
	if err := json.Unmarshal([]byte(text), &roots); err != nil {
		return "", err
	}
	var visit func(n map[string]any)
	visit = func(n map[string]any) {
		if id, ok := n["id"].(float64); ok {
			if f, ok := figures[int(id)]; ok {
				n["actualRows"] = f.Rows
			}
		}
		kids, _ := n["inputs"].([]any)
		for _, k := range kids {
			if m, ok := k.(map[string]any); ok {
				visit(m)
			}
		}
	}
	for _, r := range roots {
		visit(r)
	}
	out, err := json.MarshalIndent(roots, "", "  ")
	return string(out), err
}

package planner

import (
	"crypto/sha256"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan/physical"
)

// fingerprint names what a node does to inputs with the fingerprints in. It covers all
// that the node's fields say, its properties, and the columns that leave it, but not
// the node's number and, of the end of a plan, not the object it is the end of.
func fingerprint(n physical.Node, in []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%T %s\n", n, in)
	for i, f := range n.Schema().Fields {
		fmt.Fprintf(h, "%d %s;", i, f.Type)
	}
	p := n.Props()
	fmt.Fprintf(h, "%v %v %v %v %v %v\n", p.Key == nil, p.Key, p.EventTime, p.Times, p.AppendOnly, p.Twins)
	v := reflect.ValueOf(n).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Name == "Base" || f.Name == "Columns" && isEnd(n) {
			continue
		}
		fmt.Fprintf(h, "%s:", f.Name)
		if o, ok := v.Field(i).Interface().(*catalog.Object); ok {
			if o != nil && !isEnd(n) {
				fmt.Fprintf(h, "%d", o.ID)
			}
			continue
		}
		dump(h, v.Field(i))
	}
	return string(h.Sum(nil))
}

// isEnd tells the nodes that a plan ends in.
func isEnd(n physical.Node) bool {
	switch n.(type) {
	case *physical.Materialize, *physical.SinkWrite:
		return true
	}
	return false
}

// dump writes a value of a plan so that two are the same if they mean the same.
func dump(w io.Writer, v reflect.Value) {
	if v.CanInterface() {
		if e, ok := v.Interface().(expr.Expr); ok {
			if v.Kind() == reflect.Interface && v.IsNil() || v.Kind() == reflect.Pointer && v.IsNil() {
				fmt.Fprint(w, "none;")
				return
			}
			dumpExpr(w, e)
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			fmt.Fprint(w, "none;")
			return
		}
		dump(w, v.Elem())
	case reflect.Struct:
		fmt.Fprint(w, "{")
		for i := range v.NumField() {
			dump(w, v.Field(i))
		}
		fmt.Fprint(w, "}")
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(w, "[%d ", v.Len())
		for i := range v.Len() {
			dump(w, v.Index(i))
		}
		fmt.Fprint(w, "]")
	default:
		fmt.Fprintf(w, "%v;", v)
	}
}

// dumpExpr writes an expression: its text alone would not tell types apart.
func dumpExpr(w io.Writer, e expr.Expr) {
	if i, _, ok := expr.AsColumn(e); ok { // whatever it is called
		fmt.Fprintf(w, "#%d::%s;", i, e.Type())
		return
	}
	fmt.Fprintf(w, "%T %s::%s(", e, e, e.Type())
	for _, c := range e.Children() {
		dumpExpr(w, c)
	}
	fmt.Fprint(w, ")")
}

// Shape prints what the nodes of a plan do and what identifies their rows, and nothing
// that only informs.
func Shape(p *Plan) string {
	var b strings.Builder
	var visit func(n physical.Node, depth int)
	visit = func(n physical.Node, depth int) {
		writeDesc(&b, n.Describe(), depth)
		fmt.Fprintf(&b, " %v %v %v\n", n.Props().Key, n.Props().EventTime, n.Props().AppendOnly)
		for _, f := range n.Schema().Fields {
			fmt.Fprintf(&b, " %s", f.Type)
		}
		b.WriteString("\n")
		for _, c := range n.Children() {
			visit(c, depth+1)
		}
	}
	visit(p.Root, 0)
	return b.String()
}

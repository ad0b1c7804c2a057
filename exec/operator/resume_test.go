package operator

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestResumers: an operator with a field w, the watermark that it judges rows by,
// must be an exec.Resumer; else what was late before a restart is not after it.
func TestResumers(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	judges, resumes := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok && keepsWatermark(s) {
					judges[n.Name.Name] = true
				}
			case *ast.FuncDecl:
				if n.Name.Name == "Resume" && n.Recv != nil {
					star, ok := n.Recv.List[0].Type.(*ast.StarExpr)
					if ok {
						resumes[star.X.(*ast.Ident).Name] = true
					}
				}
			}
			return true
		})
	}
	if len(judges) < 3 {
		t.Fatalf("only %v keep a watermark: has the field another name now?", judges)
	}
	for name := range judges {
		if !resumes[name] {
			t.Errorf("%s keeps the watermark and has no method Resume", name)
		}
	}
}

// keepsWatermark tells whether a struct has the field w arrowbatch.EventTime.
func keepsWatermark(s *ast.StructType) bool {
	for _, f := range s.Fields.List {
		sel, ok := f.Type.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "EventTime" {
			continue
		}
		for _, n := range f.Names {
			if n.Name == "w" {
				return true
			}
		}
	}
	return false
}

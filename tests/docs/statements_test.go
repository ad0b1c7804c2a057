package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// statementWords are the words that docs/sql/README.md names a statement of the
// syntax tree by.
var statementWords = map[string]string{
	"QueryStmt": "SELECT", "CreateSource": "CREATE SOURCE", "CreateTable": "CREATE TABLE", "CreateView": "CREATE VIEW",
	"CreateSink": "CREATE SINK", "CreateFlow": "CREATE FLOW", "Insert": "INSERT", "Update": "UPDATE",
	"Delete": "DELETE", "Truncate": "TRUNCATE", "Drop": "DROP", "AlterSet": "ALTER", "AlterRename": "ALTER",
	"Control": "PAUSE", "Await": "AWAIT", "Flush": "FLUSH", "Subscribe": "SUBSCRIBE", "Explain": "EXPLAIN",
	"ExplainWait": "EXPLAIN WAIT", "Show": "SHOW", "ShowObjects": "SHOW", "ShowCreate": "SHOW", "ShowColumns": "SHOW",
	"ShowProgress": "SHOW",
	"Set":          "SET", "Reset": "RESET", "SetTransaction": "SET", "Begin": "BEGIN", "Commit": "COMMIT",
	"Rollback": "ROLLBACK", "Savepoint": "SAVEPOINT", "ReleaseSavepoint": "RELEASE", "RollbackTo": "ROLLBACK",
	"DeclareCursor": "DECLARE", "Fetch": "FETCH", "CloseCursor": "CLOSE", "Copy": "COPY", "Prepare": "PREPARE",
	"Execute": "EXECUTE", "Deallocate": "DEALLOCATE", "Discard": "DISCARD", "Listen": "LISTEN",
	"Unlisten": "UNLISTEN", "Notify": "NOTIFY", "Comment": "COMMENT", "LockTable": "LOCK TABLE",
	"Maintenance": "VACUUM", "Backup": "BACKUP",
}

// TestEveryStatementHasAPage: each statement that the parser knows is in the index,
// and its page names it in a heading.
func TestEveryStatementHasAPage(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../sql/ast_stmt.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile("../../docs/sql/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{} // heading → page
	for _, m := range regexp.MustCompile(`(?m)^\| \[([^\]]+)\]\(([^)]+)\)`).FindAllStringSubmatch(string(index), -1) {
		for _, word := range strings.Split(m[1], ", ") {
			pages[word] = m[2]
		}
	}
	found := 0
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != "statement" {
			continue
		}
		found++
		name := fn.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
		word := statementWords[name]
		page := pages[word]
		if word == "" || page == "" {
			t.Errorf("docs/sql/README.md has no page for sql.%s (%q)", name, word)
			continue
		}
		text, err := os.ReadFile("../../docs/sql/" + page)
		if err != nil {
			t.Error(err)
			continue
		}
		heading, _, _ := strings.Cut(string(text), "\n")
		if !strings.HasPrefix(heading, "# ") || !strings.Contains(string(text), word) {
			t.Errorf("docs/sql/%s does not speak of %s", page, word)
		}
	}
	if found < 40 {
		t.Fatalf("only %d statements found", found)
	}
}

package stream

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/sql"
)

// The options that say what becomes of late rows and of records that cannot be
// decoded. Both take the words of ParseKeep.
const (
	LateRowsOption = "late_rows"
	BadRowsOption  = "bad_rows"
)

// Keep is what becomes of rows that a query leaves out. All are counted.
type Keep struct {
	// Rows is how many of the last ones are kept for inspection, 0 for none.
	Rows int
	// Table is the table that takes all of them; nil: none does.
	Table *sql.QualifiedName
}

// keptRows is how many rows of a kind a query keeps where it is not told, and
// maxKeptRows how many it can be told to.
const (
	keptRows    = 1000
	maxKeptRows = 100_000
)

// ParseKeep reads an option's text: drop, keep, keep N, table NAME. want is a hint
// where it is none of these.
func ParseKeep(text string) (k Keep, want string) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	switch word = strings.ToLower(word); {
	case word == "drop" && rest == "":
		return Keep{}, ""
	case word == "keep" && rest == "":
		return Keep{Rows: keptRows}, ""
	case word == "keep":
		if n, err := strconv.Atoi(rest); err == nil && n > 0 && n <= maxKeptRows {
			return Keep{Rows: n}, ""
		}
		return k, fmt.Sprintf("Write a number of rows from 1 to %d after keep.", maxKeptRows)
	case word == "table" && rest != "":
		if n := parseName(rest); n != nil {
			return Keep{Table: n}, ""
		}
		return k, "Write the name of a table after table."
	}
	return k, "Valid values are: drop, keep, keep N, table NAME."
}

func parseName(text string) *sql.QualifiedName {
	x, err := sql.ParseExpr(text)
	ref, ok := x.(*sql.ColumnRef)
	if err != nil || !ok || len(ref.Parts) > 2 {
		return nil
	}
	n := &sql.QualifiedName{Name: ref.Parts[len(ref.Parts)-1]}
	if len(ref.Parts) == 2 {
		n.Schema = ref.Parts[0]
	}
	return n
}

// String is the option's text.
func (k Keep) String() string {
	switch {
	case k.Table != nil && k.Table.Schema.Given():
		return "table " + sql.QuoteIdent(k.Table.Schema.Text) + "." + sql.QuoteIdent(k.Table.Name.Text)
	case k.Table != nil:
		return "table " + sql.QuoteIdent(k.Table.Name.Text)
	case k.Rows == 0:
		return "drop"
	case k.Rows == keptRows:
		return "keep"
	}
	return "keep " + strconv.Itoa(k.Rows)
}

// limit is the number of an epoch's rows that tasks must hand on.
func (k Keep) limit() int {
	if k.Table != nil {
		return exec.KeepAll
	}
	return k.Rows
}

// keepOf reads an object's option; ok is false where it has none.
func keepOf(o *catalog.Object, option string) (k Keep, ok bool) {
	text, ok := o.Options[option]
	if !ok {
		return Keep{Rows: keptRows}, false
	}
	k, want := ParseKeep(text)
	return k, want == ""
}

// lateKeep is what becomes of the late rows of an operator: what the query says,
// else what the sources below it say, which must be the same where several do.
func lateKeep(query *catalog.Object, n physical.Node) (Keep, error) {
	if k, ok := keepOf(query, LateRowsOption); ok {
		return k, nil
	}
	var said *catalog.Object
	var visit func(n physical.Node) error
	visit = func(n physical.Node) error {
		if s, ok := n.(*physical.SourceScan); ok {
			if _, ok := keepOf(s.Object, LateRowsOption); ok {
				if said != nil && said.Options[LateRowsOption] != s.Object.Options[LateRowsOption] {
					return sqlerr.New(sqlerr.InvalidParameterValue, "sources %s and %s have different values of option %q",
						said.Name, s.Object.Name, LateRowsOption).
						WithHint("Set the option of the query.")
				}
				said = s.Object
			}
		}
		for _, c := range n.Children() {
			if err := visit(c); err != nil {
				return err
			}
		}
		return nil
	}
	if err := visit(n); err != nil || said == nil {
		return Keep{Rows: keptRows}, err
	}
	k, _ := keepOf(said, LateRowsOption)
	return k, nil
}

package sql

// ColumnName is the name that PostgreSQL gives an output column without alias:
// of a column, field or function its own, of a cast the operand's or else the
// type's, and for some constructs a fixed word; "?column?" otherwise.
func ColumnName(x Expr) string {
	if name, _ := columnName(x); name != "" {
		return name
	}
	return "?column?"
}

// columnName returns a name and its strength: 2 for a real name, 1 for the weak
// names of types and CASE, which stand back behind a better one.
func columnName(x Expr) (name string, strength int) {
	switch x := x.(type) {
	case *ColumnRef:
		return x.Parts[len(x.Parts)-1].Text, 2
	case *Field:
		return x.Name.Text, 2
	case *Subscript:
		return columnName(x.X)
	case *FuncCall:
		return x.Name.Text, 2
	case *AtTimeZone:
		return "timezone", 2
	case *Collate:
		return columnName(x.X)
	case *Cast:
		if name, s := columnName(x.X); s > 1 {
			return name, s
		}
		return x.Type.Name.Text, 1
	case *TypedLit:
		return x.Type.Name.Text, 1
	case *Case:
		if x.Else != nil {
			if name, s := columnName(x.Else); s > 1 {
				return name, s
			}
		}
		return "case", 1
	case *ArrayLit:
		return "array", 2
	case *Row:
		return "row", 2
	case *ValueFunc:
		return x.Name, 2
	case *Subquery:
		return subqueryName(x)
	}
	return "", 0
}

func subqueryName(x *Subquery) (string, int) {
	switch x.Kind {
	case ExistsSubquery:
		return "exists", 2
	case ArraySubquery:
		return "array", 2
	}
	body := x.Query.Body
	for {
		switch b := body.(type) {
		case *SetOp:
			body = b.Left
			continue
		case *Query:
			body = b.Body
			continue
		case *Select:
			if len(b.Targets) == 0 {
				return "", 0
			}
			t := b.Targets[0]
			if t.Alias.Given() {
				return t.Alias.Text, 2
			}
			return columnName(t.X)
		case *Values:
			return "column1", 2
		}
		return "", 0
	}
}

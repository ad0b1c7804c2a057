package plan

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/sql/types"
)

// SortKey is one column of an order. Text sorts by bytes.
type SortKey struct {
	Col        int
	Desc       bool
	NullsFirst bool
}

// DescribeKeys shows an order over the columns of s.
func DescribeKeys(s *Schema, keys []SortKey) string {
	out := ""
	for i, k := range keys {
		if i > 0 {
			out += ", "
		}
		out += s.ColumnName(k.Col)
		if k.Desc {
			out += " DESC"
		}
		if k.NullsFirst != k.Desc {
			if k.NullsFirst {
				out += " NULLS FIRST"
			} else {
				out += " NULLS LAST"
			}
		}
	}
	return out
}

// ColumnName names a column for display: its name, or # and its position.
func (s *Schema) ColumnName(c int) string {
	if c < 0 || c >= s.Len() || s.Fields[c].Name == "" {
		return "#" + strconv.Itoa(c)
	}
	return s.Fields[c].Name
}

// ColumnNames lists columns for display.
func (s *Schema) ColumnNames(cols []int) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = s.ColumnName(c)
	}
	return strings.Join(out, ", ")
}

// KeyOrders tells whether the key code of a type orders its values as the type does.
func KeyOrders(t types.Type) bool {
	switch t.ID {
	case types.JSONB, types.Bpchar:
		return false
	case types.Array:
		return KeyOrders(*t.Elem)
	case types.Struct:
		for _, f := range t.Fields {
			if !KeyOrders(f.Type) {
				return false
			}
		}
	}
	return true
}

package postgres

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/sql/types"
)

// column is a column of the sink beside the one of the table that it goes to.
type column struct {
	name    string
	from    types.Type
	notNull bool
	to      tableColumn
	// value is the expression that gives the table's value of the staged one; plain:
	// it is the staged one as it is.
	value string
	plain bool
}

// tableColumn is what the server's catalog says of a column.
type tableColumn struct {
	name      string
	oid       uint32
	mod       int32
	typeName  string // without modifiers, as it is written in SQL
	kind      string // pg_type.typtype: b, d (domain), e, c, r, …
	base      uint32 // of a domain, else oid
	notNull   bool
	hasValue  bool // a default, or a value of its own making
	generated bool // always: nothing can be written to it
}

// isJSON tells whether values of the type are sent as JSON: the server has no type
// for a struct.
func isJSON(t types.Type) bool {
	return t.ID == types.Struct || t.ID == types.Array && t.Elem != nil && isJSON(*t.Elem)
}

// sentAs returns the server's type that values are sent as.
func sentAs(t types.Type) types.Type {
	switch {
	case isJSON(t):
		return types.TJSON
	case t.ID == types.Unknown || t.ID == types.Void:
		return types.TText
	}
	return t.Base()
}

// stagedType is the type of a staging column.
func stagedType(t types.Type) string { return "pg_catalog." + ident(sentAs(t).PGName()) }

// sameText tells whether two types hold their texts alike.
func sameText(a, b uint32) bool {
	text := func(oid uint32) bool { return oid == types.TText.OID() || oid == types.TVarchar.OID() }
	return text(a) && text(b)
}

// settle chooses the value expression of column i of the stage.
func (c *column) settle(i int) {
	staged := "s." + stageColumn(i)
	sent := sentAs(c.from)
	_, known := types.ByOID(c.to.base)
	c.value = staged
	switch {
	case c.to.kind == "b" && (c.to.oid == sent.OID() || sameText(c.to.oid, sent.OID())):
		c.plain = true
	case c.from.ID == types.Struct && c.to.kind == "c":
		c.value = "pg_catalog.jsonb_populate_record(NULL::" + c.to.typeName + ", " + staged + "::pg_catalog.jsonb)"
	case sent.IsString() && !known:
		// A type that we do not have is written in its own syntax.
		c.value = staged + "::" + c.to.typeName
	}
}

// faithful tells whether two different values stay different in the table, which
// those of a key must.
func (c *column) faithful() bool {
	sent := sentAs(c.from)
	wide := map[types.ID][]types.ID{types.Int2: {types.Int4, types.Int8, types.Numeric},
		types.Int4: {types.Int8, types.Numeric}, types.Int8: {types.Numeric}, types.Float4: {types.Float8},
		types.Date: {types.Timestamp, types.Timestamptz}}
	to, known := types.ByOID(c.to.base)
	switch {
	case !known:
		return true // the type itself says what is equal
	case sent.IsString() && to.IsString():
		return true // what is too long is refused
	case to.ID == sent.ID:
		return c.to.mod < 0 || c.to.mod == c.from.TypMod()
	}
	return slices.Contains(wide[sent.ID], to.ID) && c.to.mod < 0
}

// createColumns writes the definitions of a new table's columns.
func createColumns(cols []connector.Column) string {
	defs := make([]string, len(cols))
	for i, c := range cols {
		defs[i] = ident(c.Name) + " " + sqlType(c.Type)
		if c.NotNull {
			defs[i] += " NOT NULL"
		}
	}
	return strings.Join(defs, ", ")
}

// sqlType writes a type for CREATE TABLE.
func sqlType(t types.Type) string {
	switch {
	case isJSON(t):
		return "jsonb"
	case t.ID == types.Array && t.Elem != nil:
		return sqlType(*t.Elem) + "[]"
	case t.ID == types.Bpchar && t.Mod == 0:
		return "bpchar" // the bare word character would be one of length 1
	case t.ID == types.Unknown || t.ID == types.Void:
		return "text"
	}
	return t.String()
}

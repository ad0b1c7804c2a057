package bind

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// typesByName maps pg_type.typname to the type, with the names that SQL adds.
var typesByName = func() map[string]types.Type {
	m := map[string]types.Type{"int": types.TInt4, "integer": types.TInt4, "bigint": types.TInt8,
		"smallint": types.TInt2, "boolean": types.TBool, "decimal": types.TNumeric, "real": types.TFloat4,
		"string": types.TText, "character": types.TBpchar, "pg_node_tree": types.TText,
		"aclitem": types.TText, "timestamp_ltz": types.TTimestamptz, "timestamp_ntz": types.TTimestamp}
	for _, t := range types.All() {
		m[t.PGName()] = t
	}
	return m
}()

// TypeOf returns the type that n names: 42704 for an unknown one, 22023 for
// modifiers that it cannot have.
func TypeOf(n *sql.TypeName) (types.Type, error) {
	t, err := elementType(n)
	if err != nil {
		return t, sqlerr.From(err).At(n.Pos)
	}
	if n.SetOf {
		return t, sqlerr.New(sqlerr.SyntaxErrorOrRule, "SETOF is not allowed here").At(n.Pos)
	}
	if len(n.Dims) > 0 {
		if t.ID == types.Array || t.ID == types.Void || t.ID == types.Unknown {
			return t, sqlerr.New(sqlerr.UndefinedObject, "type \"%s[]\" does not exist", n.Name.Text).At(n.Pos)
		}
		t = types.ArrayOf(t)
	}
	return t, nil
}

func elementType(n *sql.TypeName) (types.Type, error) {
	if s := n.Schema.Text; s != "" && s != "pg_catalog" {
		return types.Type{}, sqlerr.New(sqlerr.UndefinedObject, "type \"%s.%s\" does not exist", s, n.Name.Text)
	}
	if n.Struct != nil || n.Name.Text == "struct" {
		return structType(n)
	}
	name := n.Name.Text
	t, ok := typesByName[name]
	if !ok && strings.HasPrefix(name, "_") {
		if elem, found := typesByName[name[1:]]; found {
			return types.ArrayOf(elem), nil
		}
	}
	if !ok {
		if name == "int2vector" {
			return types.ArrayOf(types.TInt2), nil
		}
		if name == "oidvector" {
			return types.ArrayOf(types.TOID), nil
		}
		known := make([]string, 0, len(typesByName))
		for k := range typesByName {
			known = append(known, k)
		}
		err := sqlerr.New(sqlerr.UndefinedObject, "type %q does not exist", name)
		err.Hint = sqlerr.Suggest(name, sorted(known))
		return t, err
	}
	return withMods(t, n)
}

func structType(n *sql.TypeName) (types.Type, error) {
	var fields []types.Field
	for _, f := range n.Struct {
		t, err := TypeOf(f.Type)
		if err != nil {
			return t, err
		}
		fields = append(fields, types.Field{Name: f.Name.Text, Type: t})
	}
	return types.StructOf(fields...), nil
}

// withMods applies type modifiers within PostgreSQL's limits.
func withMods(t types.Type, n *sql.TypeName) (types.Type, error) {
	if len(n.Mods) == 0 {
		return t, nil
	}
	mods := make([]int, len(n.Mods))
	for i, m := range n.Mods {
		v, ok := intLit(m)
		if !ok {
			return t, sqlerr.New(sqlerr.InvalidParameterValue, "type modifiers must be simple constants or identifiers")
		}
		mods[i] = v
	}
	return types.WithMods(t, mods)
}

func intLit(e sql.Expr) (int, bool) {
	switch e := e.(type) {
	case *sql.NumberLit:
		v, err := strconv.Atoi(e.Text)
		return v, err == nil
	case *sql.Unary:
		if e.Op.Name == "-" {
			v, ok := intLit(e.X)
			return -v, ok
		}
	}
	return 0, false
}

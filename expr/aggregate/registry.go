package aggregate

import (
	"sort"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// Names returns the names of all aggregate functions, sorted.
func Names() []string {
	out := make([]string, 0, len(families))
	for n := range families {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// Is tells whether name is an aggregate function.
func Is(name string) bool { return families[name] != nil }

// family resolves the argument types of one aggregate name.
type family func(args []types.Type) (sig Signature, ok bool)

var families = map[string]family{
	"count":       countSig,
	"sum":         sumSig,
	"avg":         avgSig,
	"min":         extremeSig,
	"max":         extremeSig,
	"bool_and":    boolSig,
	"bool_or":     boolSig,
	"every":       boolSig,
	"any_value":   anySig,
	"stddev":      varianceSig,
	"stddev_samp": varianceSig,
	"stddev_pop":  varianceSig,
	"variance":    varianceSig,
	"var_samp":    varianceSig,
	"var_pop":     varianceSig,
	"array_agg":   arraySig,
	"string_agg":  stringSig,
}

// Lookup resolves an aggregate by name and argument types; count without
// arguments is count(*). The error is 42883.
func Lookup(name string, args []types.Type) (Signature, error) {
	f := families[name]
	if f == nil {
		return Signature{}, sqlerr.New(sqlerr.UndefinedFunction, "aggregate function %s does not exist", name).
			WithHint("%s", sqlerr.Suggest(name, Names()))
	}
	sig, ok := f(args)
	if !ok {
		t := make([]string, len(args))
		for i, a := range args {
			t[i] = a.String()
		}
		return Signature{}, sqlerr.New(sqlerr.UndefinedFunction, "function %s(%s) does not exist", name,
			strings.Join(t, ", ")).
			WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
	}
	sig.Name = name
	return sig, nil
}

func one(args []types.Type, want, result types.Type) (Signature, bool) {
	return Signature{Args: []types.Type{want}, Result: result, Retractable: true}, len(args) == 1
}

func countSig(args []types.Type) (Signature, bool) {
	switch len(args) {
	case 0:
		return Signature{Result: types.TInt8, Retractable: true}, true
	case 1:
		return one(args, args[0], types.TInt8)
	}
	return Signature{}, false
}

func sumSig(args []types.Type) (Signature, bool) {
	if len(args) != 1 {
		return Signature{}, false
	}
	switch args[0].ID {
	case types.Int2, types.Int4:
		return one(args, args[0], types.TInt8)
	case types.Int8:
		return one(args, args[0], types.TNumeric)
	case types.Numeric, types.Float4, types.Float8, types.Interval:
		return one(args, args[0].Base(), args[0].Base())
	case types.Unknown:
		return one(args, types.TFloat8, types.TFloat8)
	}
	return Signature{}, false
}

func avgSig(args []types.Type) (Signature, bool) {
	if len(args) != 1 {
		return Signature{}, false
	}
	switch args[0].ID {
	case types.Int2, types.Int4, types.Int8:
		return one(args, args[0], types.TNumeric)
	case types.Numeric, types.Float8, types.Interval:
		return one(args, args[0].Base(), args[0].Base())
	case types.Float4, types.Unknown:
		return one(args, types.TFloat8, types.TFloat8)
	}
	return Signature{}, false
}

func extremeSig(args []types.Type) (Signature, bool) {
	if len(args) != 1 {
		return Signature{}, false
	}
	t := args[0].Base()
	switch t.ID {
	case types.Unknown, types.Varchar, types.Name:
		t = types.TText
	case types.Bool, types.JSON, types.JSONB, types.UUID, types.Bytea, types.Struct, types.Void, types.Char,
		types.Regclass, types.Regtype, types.Regproc, types.Regnamespace:
		return Signature{}, false
	}
	return one(args, t, t)
}

func boolSig(args []types.Type) (Signature, bool) {
	if len(args) != 1 || args[0].ID != types.Bool && args[0].ID != types.Unknown {
		return Signature{}, false
	}
	return one(args, types.TBool, types.TBool)
}

func anySig(args []types.Type) (Signature, bool) {
	if len(args) != 1 {
		return Signature{}, false
	}
	s, ok := one(args, args[0], args[0])
	s.Retractable = false
	return s, ok
}

func varianceSig(args []types.Type) (Signature, bool) {
	if len(args) != 1 {
		return Signature{}, false
	}
	switch args[0].ID {
	case types.Int2, types.Int4, types.Int8, types.Numeric:
		return one(args, types.TNumeric, types.TNumeric)
	case types.Float4, types.Float8, types.Unknown:
		s, ok := one(args, types.TFloat8, types.TFloat8)
		s.Retractable = false
		return s, ok
	}
	return Signature{}, false
}

func arraySig(args []types.Type) (Signature, bool) {
	if len(args) != 1 || args[0].ID == types.Array {
		return Signature{}, false
	}
	t := args[0]
	if t.ID == types.Unknown {
		t = types.TText
	}
	return one(args, t, types.ArrayOf(t))
}

func stringSig(args []types.Type) (Signature, bool) {
	if len(args) != 2 {
		return Signature{}, false
	}
	t := types.TText
	if args[0].ID == types.Bytea {
		t = types.TBytea
	} else if !args[0].IsString() && args[0].ID != types.Char {
		return Signature{}, false
	}
	return Signature{Args: []types.Type{t, t}, Result: t, Retractable: true}, true
}

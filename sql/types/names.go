package types

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// spellings maps every name of a type, in lower case with single blanks, to it.
var spellings = func() map[string]ID {
	m := map[string]ID{
		"int": Int4, "decimal": Numeric, "dec": Numeric, "float": Float8, "bool": Bool, "varchar": Varchar,
		"char varying": Varchar, "national character varying": Varchar, "national char varying": Varchar,
		"nchar varying": Varchar, "national character": Bpchar, "national char": Bpchar, "nchar": Bpchar,
		"char": Bpchar, "time": Time, "timestamp": Timestamp, "timestamptz": Timestamptz,
	}
	for id := range numIDs {
		if id == Array || id == Struct {
			continue
		}
		m[infos[id].name] = id
		if id != Char {
			m[infos[id].pgName] = id
		}
	}
	m["record"] = Struct
	return m
}()

// Names returns all spellings of the simple types, in order.
func Names() []string {
	names := make([]string, 0, len(spellings))
	for n := range spellings {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Parse returns the type of a name as SQL spells it, in any letter case, with
// modifiers and array brackets: "int4", "double precision", "numeric(10,2)",
// "timestamp(3) with time zone", "text[]", "_int4". ok is false for an unknown
// name and for modifiers that the type does not take.
func Parse(name string) (t Type, ok bool) {
	name = strings.Join(strings.Fields(lowerName(name)), " ")
	array := false
	for strings.HasSuffix(name, "]") {
		at := strings.LastIndexByte(name, '[')
		if at < 0 || array {
			return Type{}, false
		}
		array = true
		name = strings.TrimRight(name[:at], " ")
	}
	name = strings.TrimPrefix(name, "pg_catalog.")
	var mods []int
	if open := strings.IndexByte(name, '('); open >= 0 {
		end := strings.IndexByte(name, ')')
		if end < open {
			return Type{}, false
		}
		for _, m := range strings.Split(name[open+1:end], ",") {
			n, err := strconv.Atoi(strings.TrimSpace(m))
			if err != nil {
				return Type{}, false
			}
			mods = append(mods, n)
		}
		name = strings.TrimRight(name[:open], " ") + name[end+1:]
	}
	id, ok := spellings[name]
	if !ok && strings.HasPrefix(name, "_") && !array {
		array = true
		if name == "_char" {
			name = `_"char"`
		}
		id, ok = spellings[name[1:]]
	}
	if !ok {
		return Type{}, false
	}
	t = Type{ID: id}
	if len(mods) > 0 {
		var err error
		if t, err = WithMods(t, mods); err != nil {
			return Type{}, false
		}
	}
	if array {
		return ArrayOf(t), true
	}
	return t, true
}

// maxLength is the longest varchar(n) and char(n): what Mod holds.
const maxLength = 1<<15 - 1

// WithMods returns t with the modifiers in parentheses behind its name; 22023
// for one out of range, 42601 where the type takes none. A precision of times
// above six counts as six.
func WithMods(t Type, mods []int) (Type, error) {
	bad := func(format string, args ...any) (Type, error) {
		return t, sqlerr.New(sqlerr.InvalidParameterValue, format, args...)
	}
	switch t.ID {
	case Numeric:
		if len(mods) > 2 {
			return bad("invalid NUMERIC type modifier")
		}
		if mods[0] < 1 || mods[0] > 1000 {
			return bad("NUMERIC precision %d must be between 1 and 1000", mods[0])
		}
		t.Mod, t.Scale = int16(mods[0]), 0
		if len(mods) == 2 {
			if mods[1] < -1000 || mods[1] > 1000 {
				return bad("NUMERIC scale %d must be between -1000 and 1000", mods[1])
			}
			t.Scale = int16(mods[1])
		}
	case Varchar, Bpchar:
		name := map[ID]string{Varchar: "varchar", Bpchar: "char"}[t.ID]
		switch {
		case len(mods) != 1:
			return bad("invalid type modifier")
		case mods[0] < 1:
			return bad("length for type %s must be at least 1", name)
		case mods[0] > maxLength:
			return bad("length for type %s cannot exceed %d", name, maxLength)
		}
		t.Mod = int16(mods[0])
	case Time, Timestamp, Timestamptz, Interval:
		if len(mods) != 1 {
			return bad("invalid type modifier")
		}
		if mods[0] < 0 {
			return bad("%s precision must not be negative", precisionName(t.ID, mods[0]))
		}
		t.Mod = int16(min(mods[0], 6))
		if mods[0] == 0 {
			t.Mod = -1
		}
	default:
		return t, sqlerr.New(sqlerr.SyntaxError, `type modifier is not allowed for type "%s"`, t.PGName())
	}
	return t, nil
}

func precisionName(id ID, p int) string {
	n := "(" + strconv.Itoa(p) + ")"
	switch id {
	case Time:
		return "TIME" + n
	case Interval:
		return "INTERVAL" + n
	case Timestamptz:
		return "TIMESTAMP" + n + " WITH TIME ZONE"
	}
	return "TIMESTAMP" + n
}

// Precision returns the digits after the second of a time type with a modifier.
func (t Type) Precision() (p int, ok bool) {
	switch t.ID {
	case Time, Timestamp, Timestamptz, Interval:
		return int(max(t.Mod, 0)), t.Mod != 0
	}
	return 0, false
}

package operator

import (
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr/scalar"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func badJSON(format string, args ...any) error {
	return sqlerr.New(sqlerr.InvalidParameterValue, format, args...)
}

// openElements is json[b]_array_elements[_text].
func openElements(c *setCall, args []*arrowbatch.Vec, i int) (rowSeq, error) {
	s := string(args[0].BytesAt(i))
	kind := scalar.JSONKind(s)
	isObject := kind == '{'
	switch {
	case kind == '[':
	case strings.HasPrefix(c.Name, "jsonb"):
		if isObject {
			return nil, badJSON("cannot extract elements from an object")
		}
		return nil, badJSON("cannot extract elements from a scalar")
	case isObject:
		return nil, badJSON("cannot call %s on a non-array", c.Name)
	default:
		return nil, badJSON("cannot call %s on a scalar", c.Name)
	}
	return &jsonValues{vals: scalar.JSONElements(s), text: strings.HasSuffix(c.Name, "_text")}, nil
}

// jsonValues gives values, with text as ->> does.
type jsonValues struct {
	vals []string
	text bool
	buf  []byte
}

func (j *jsonValues) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	n := min(limit, len(j.vals))
	for _, v := range j.vals[:n] {
		j.append(cols[0], v)
	}
	j.vals = j.vals[n:]
	return n, nil
}

func (j *jsonValues) append(out *arrowbatch.Vec, v string) {
	if !j.text {
		out.AppendString(v)
		return
	}
	var ok bool
	if j.buf, ok = scalar.AppendJSONText(j.buf[:0], v); ok {
		out.AppendBytes(j.buf)
	} else {
		out.AppendNull()
	}
}

// openEach is json[b]_each[_text].
func openEach(c *setCall, args []*arrowbatch.Vec, i int) (rowSeq, error) {
	s := string(args[0].BytesAt(i))
	kind := scalar.JSONKind(s)
	switch {
	case kind == '{':
	case strings.HasPrefix(c.Name, "jsonb"):
		return nil, badJSON("cannot call %s on a non-object", c.Name)
	case kind == '[':
		return nil, badJSON("cannot deconstruct an array as an object")
	default:
		return nil, badJSON("cannot deconstruct a scalar")
	}
	return &jsonMembers{scalar.JSONMembers(s), jsonValues{text: strings.HasSuffix(c.Name, "_text")}}, nil
}

type jsonMembers struct {
	list []scalar.JSONMember
	vals jsonValues
}

func (j *jsonMembers) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	n := min(limit, len(j.list))
	for _, m := range j.list[:n] {
		cols[0].AppendString(m.Key)
		j.vals.append(cols[1], m.Value)
	}
	j.list = j.list[n:]
	return n, nil
}

// openKeys is json[b]_object_keys.
func openKeys(c *setCall, args []*arrowbatch.Vec, i int) (rowSeq, error) {
	s := string(args[0].BytesAt(i))
	switch scalar.JSONKind(s) {
	case '{':
	case '[':
		return nil, badJSON("cannot call %s on an array", c.Name)
	default:
		return nil, badJSON("cannot call %s on a scalar", c.Name)
	}
	t := &texts{}
	for _, m := range scalar.JSONMembers(s) {
		t.rows = append(t.rows, []string{m.Key})
	}
	return t, nil
}

// texts gives rows of text; the columns after the last text of a row are NULL.
type texts struct{ rows [][]string }

func (t *texts) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	n := min(limit, len(t.rows))
	for _, row := range t.rows[:n] {
		for k, c := range cols {
			if k < len(row) {
				c.AppendString(row[k])
			} else {
				c.AppendNull()
			}
		}
	}
	t.rows = t.rows[n:]
	return n, nil
}

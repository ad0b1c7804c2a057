package scalar

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// appendParts writes the parts of an object or array in canonical form.
func appendParts(dst []byte, kind byte, ps []part) []byte {
	dst = append(dst, kind)
	for i, p := range ps {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if kind == '{' {
			dst = append(dst, '"')
			dst = append(dst, p.key...)
			dst = append(dst, `": `...)
		}
		dst = append(dst, p.val...)
	}
	if kind == '{' {
		return append(dst, '}')
	}
	return append(dst, ']')
}

// lessKey is the order of keys in an object: by length, then by bytes, of the
// text that they stand for.
func cmpKey(a, b part) int {
	x, y := a.key, b.key
	if strings.IndexByte(x, '\\') >= 0 || strings.IndexByte(y, '\\') >= 0 {
		x, y = string(appendUnquoted(nil, x)), string(appendUnquoted(nil, y))
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(x, y)
}

// sortParts orders members; of equal keys the last stays.
func sortParts(ps []part) []part {
	slices.SortStableFunc(ps, cmpKey)
	out := ps[:0]
	for i, p := range ps {
		if i+1 < len(ps) && ps[i+1].key == p.key {
			continue
		}
		out = append(out, p)
	}
	return out
}

// AppendJSONBConcat is a || b.
func AppendJSONBConcat(dst []byte, a, b string) []byte {
	ka, kb := JSONKind(a), JSONKind(b)
	if ka == '{' && kb == '{' {
		return appendParts(dst, '{', sortParts(append(parts('{', a), parts('{', b)...)))
	}
	list := func(kind byte, s string) []part {
		if kind == '[' {
			return parts('[', s)
		}
		return []part{{"", s}}
	}
	return appendParts(dst, '[', append(list(ka, a), list(kb, b)...))
}

// AppendJSONBDelete is doc - keys: members of these names, or string elements.
func AppendJSONBDelete(dst []byte, doc string, keys []string) ([]byte, error) {
	kind := JSONKind(doc)
	if kind != '{' && kind != '[' {
		return dst, sqlerr.New(sqlerr.InvalidParameterValue, "cannot delete from scalar")
	}
	ps := slices.DeleteFunc(parts(kind, doc), func(p part) bool {
		for _, k := range keys {
			if kind == '{' && keyIs(p.key, k) || kind == '[' && JSONKind(p.val) == '"' && keyIs(p.val[1:len(p.val)-1], k) {
				return true
			}
		}
		return false
	})
	return appendParts(dst, kind, ps), nil
}

// AppendJSONBDeleteIndex is doc - n.
func AppendJSONBDeleteIndex(dst []byte, doc string, n int) ([]byte, error) {
	switch JSONKind(doc) {
	case '{':
		return dst, sqlerr.New(sqlerr.InvalidParameterValue, "cannot delete from object using integer index")
	case '[':
	default:
		return dst, sqlerr.New(sqlerr.InvalidParameterValue, "cannot delete from scalar")
	}
	ps := parts('[', doc)
	if n < 0 {
		n += len(ps)
	}
	if n >= 0 && n < len(ps) {
		ps = slices.Delete(ps, n, n+1)
	}
	return appendParts(dst, '[', ps), nil
}

// EditMode says what JSONBEdit does at the end of a path.
type EditMode uint8

// The edits: jsonb_set with and without create, jsonb_insert before and after,
// and #-.
const (
	EditSet EditMode = iota
	EditReplace
	EditInsertBefore
	EditInsertAfter
	EditDelete
)

// AppendJSONBEdit changes a document at a path.
func AppendJSONBEdit(dst []byte, doc string, path []string, val string, mode EditMode) ([]byte, error) {
	if k := JSONKind(doc); k != '{' && k != '[' {
		if mode == EditDelete {
			return dst, sqlerr.New(sqlerr.InvalidParameterValue, "cannot delete path in scalar")
		}
		return dst, sqlerr.New(sqlerr.InvalidParameterValue, "cannot set path in scalar")
	}
	empty := len(doc) == 2 // {} or []
	if len(path) == 0 || empty && (mode == EditDelete || mode == EditReplace) {
		return append(dst, doc...), nil
	}
	out, err := edit(doc, path, 0, val, mode)
	return append(dst, out...), err
}

func edit(doc string, path []string, at int, val string, mode EditMode) (string, error) {
	kind := JSONKind(doc)
	if kind != '{' && kind != '[' {
		return doc, nil
	}
	ps := parts(kind, doc)
	n, found, err := locate(kind, ps, path[at], at)
	if err != nil {
		return "", err
	}
	last := at == len(path)-1
	switch {
	case found && !last:
		inner, err := edit(ps[n].val, path, at+1, val, mode)
		if err != nil {
			return "", err
		}
		ps[n].val = inner
	case !last: // nothing there to go into
	case found && mode == EditDelete:
		ps = slices.Delete(ps, n, n+1)
	case found && (mode == EditSet || mode == EditReplace):
		ps[n].val = val
	case found && kind == '{':
		return "", sqlerr.New(sqlerr.InvalidParameterValue, "cannot replace existing key").
			WithHint("Try using the function jsonb_set to replace key value.")
	case found && mode == EditInsertBefore:
		ps = slices.Insert(ps, n, part{"", val})
	case found:
		ps = slices.Insert(ps, n+1, part{"", val})
	case mode == EditReplace || mode == EditDelete:
	case kind == '{':
		key := types.AppendJSONString(nil, path[at])
		ps = sortParts(append(ps, part{string(key[1 : len(key)-1]), val}))
	case n < 0:
		ps = slices.Insert(ps, 0, part{"", val})
	default:
		ps = append(ps, part{"", val})
	}
	return string(appendParts(nil, kind, ps)), nil
}

// locate finds a step of a path. For an array index out of range n tells on which
// side.
func locate(kind byte, ps []part, step string, at int) (n int, found bool, err error) {
	if kind == '{' {
		for i, p := range ps {
			if keyIs(p.key, step) {
				return i, true, nil
			}
		}
		return 0, false, nil
	}
	idx, e := strconv.ParseInt(strings.TrimSpace(step), 10, 32)
	if e != nil {
		return 0, false, sqlerr.New(sqlerr.InvalidTextRepresentation,
			"path element at position %d is not an integer: \"%s\"", at+1, step)
	}
	if idx < 0 {
		idx += int64(len(ps))
	}
	return int(idx), idx >= 0 && idx < int64(len(ps)), nil
}

// AppendStripNulls drops the members that are null, at every depth.
func AppendStripNulls(dst []byte, s string, canonical bool) []byte {
	kind := JSONKind(s)
	if kind != '{' && kind != '[' {
		return append(dst, strings.Trim(s, " \t\n\r")...)
	}
	var ps []part
	for _, p := range parts(kind, s) {
		if kind == '{' && JSONKind(p.val) == 'n' {
			continue
		}
		ps = append(ps, part{p.key, string(AppendStripNulls(nil, p.val, canonical))})
	}
	if canonical {
		return appendParts(dst, kind, ps)
	}
	return appendTight(dst, kind, ps)
}

// appendTight writes parts without blanks, as json functions do.
func appendTight(dst []byte, kind byte, ps []part) []byte {
	dst = append(dst, kind)
	for i, p := range ps {
		if i > 0 {
			dst = append(dst, ',')
		}
		if kind == '{' {
			dst = append(dst, '"')
			dst = append(dst, p.key...)
			dst = append(dst, `":`...)
		}
		dst = append(dst, p.val...)
	}
	if kind == '{' {
		return append(dst, '}')
	}
	return append(dst, ']')
}

// AppendPretty is jsonb_pretty: four blanks a level.
func AppendPretty(dst []byte, s string, depth int) []byte {
	kind := JSONKind(s)
	if kind != '{' && kind != '[' {
		return append(dst, s...)
	}
	newline := func(n int) {
		dst = append(dst, '\n')
		for range n {
			dst = append(dst, "    "...)
		}
	}
	dst = append(dst, kind)
	for i, p := range parts(kind, s) {
		if i > 0 {
			dst = append(dst, ',')
		}
		newline(depth + 1)
		if kind == '{' {
			dst = append(dst, '"')
			dst = append(dst, p.key...)
			dst = append(dst, `": `...)
		}
		dst = AppendPretty(dst, p.val, depth+1)
	}
	newline(depth)
	if kind == '{' {
		return append(dst, '}')
	}
	return append(dst, ']')
}

package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr/scalar"
	"github.com/streamsql/streamsql/sql/types"
)

// openUnnest is unnest(array, …): the arrays side by side. Of one array of
// structs it gives the fields where the caller wants columns.
func openUnnest(c *setCall, args []*arrowbatch.Vec, i int) (rowSeq, error) {
	if len(args) > 1 {
		s := &sideBySide{}
		for _, a := range args {
			s.lists = append(s.lists, newList(a, i))
		}
		return s, nil
	}
	l := newList(args[0], i)
	if e := c.Args[0].Type().Elem; e != nil && e.ID == types.Struct && !c.Types[0].Equal(*e) {
		return &fieldsOf{l}, nil
	}
	return &l, nil
}

// list gives the elements of an array.
type list struct {
	elems  *arrowbatch.Vec
	at, hi int
}

func newList(v *arrowbatch.Vec, i int) list {
	if v.IsNull(i) {
		return list{}
	}
	lo, hi := v.ListAt(i)
	return list{v.Kids[0], lo, hi}
}

func (l *list) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	n := min(limit, l.hi-l.at)
	for range n {
		cols[0].AppendFrom(l.elems, l.at)
		l.at++
	}
	return n, nil
}

// sideBySide pads the shorter arrays with NULL.
type sideBySide struct{ lists []list }

func (s *sideBySide) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	n := 0
	for _, l := range s.lists {
		n = max(n, min(limit, l.hi-l.at))
	}
	for k := range s.lists {
		l := &s.lists[k]
		have, _ := l.next(cols[k:], n)
		for range n - have {
			cols[k].AppendNull()
		}
	}
	return n, nil
}

// fieldsOf gives the fields of structs as columns.
type fieldsOf struct{ list }

func (f *fieldsOf) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	n := min(limit, f.hi-f.at)
	for range n {
		for k, c := range cols {
			if f.elems.IsNull(f.at) {
				c.AppendNull()
			} else {
				c.AppendFrom(f.elems.Kids[k], f.at)
			}
		}
		f.at++
	}
	return n, nil
}

// openSubscripts is generate_subscripts(array, dimension [, reverse]); arrays
// have one dimension.
func openSubscripts(_ *setCall, args []*arrowbatch.Vec, i int) (rowSeq, error) {
	lo, hi := args[0].ListAt(i)
	if args[1].I32[i] != 1 || lo == hi {
		return nil, nil
	}
	n := int64(hi - lo)
	if len(args) > 2 && args[2].Bits.Get(i) {
		return &intSeries{cur: n, stop: 1, step: -1, narrow: true}, nil
	}
	return &intSeries{cur: 1, stop: n, step: 1, narrow: true}, nil
}

// openExpand is information_schema._pg_expandarray: elements and their numbers.
func openExpand(_ *setCall, args []*arrowbatch.Vec, i int) (rowSeq, error) {
	l := newList(args[0], i)
	return &numbered{l, l.at}, nil
}

type numbered struct {
	list
	lo int
}

func (x *numbered) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	from := x.at
	n, _ := x.list.next(cols, limit)
	for k := range n {
		cols[1].AppendInt32(int32(from - x.lo + k + 1))
	}
	return n, nil
}

// openMatches is regexp_matches(text, pattern [, flags]): the groups of the first
// match, of every match with the flag g.
func openMatches(c *setCall, args []*arrowbatch.Vec, i int) (rowSeq, error) {
	flags := ""
	if len(args) > 2 {
		flags = string(args[2].BytesAt(i))
	}
	re, err := scalar.CompileRegex(string(args[1].BytesAt(i)), flags, true)
	if err != nil {
		return nil, err
	}
	limit := 1
	if re.Global {
		limit = -1
	}
	s := string(args[0].BytesAt(i))
	return &matches{s, re.FindAllStringSubmatchIndex(s, limit)}, nil
}

type matches struct {
	s    string
	locs [][]int
}

func (m *matches) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	n := min(limit, len(m.locs))
	out := cols[0]
	for _, loc := range m.locs[:n] {
		if len(loc) > 2 {
			loc = loc[2:] // without groups the whole match is the one
		}
		for g := 0; g < len(loc); g += 2 {
			if loc[g] < 0 {
				out.Kids[0].AppendNull()
			} else {
				out.Kids[0].AppendString(m.s[loc[g]:loc[g+1]])
			}
		}
		out.EndList()
	}
	m.locs = m.locs[n:]
	return n, nil
}

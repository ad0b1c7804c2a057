package nexmark

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// leaf is a column of one kind of event: how to read it from an Event.
type leaf struct {
	name string
	t    types.Type
	num  func(*Event) int64
	text func(*Event) []byte
}

func number(name string, f func(*Event) int64) leaf { return leaf{name: name, t: types.TInt8, num: f} }

func text(name string, f func(*Event) []byte) leaf {
	return leaf{name: name, t: types.TVarchar, text: f}
}

func moment(name string, f func(*Event) int64) leaf {
	return leaf{name: name, t: types.TTimestamp, num: func(e *Event) int64 { return f(e) * 1000 }}
}

var (
	dateTime = moment("date_time", func(e *Event) int64 { return e.Time })
	extra    = text("extra", func(e *Event) []byte { return e.Extra })
)

// leaves are the columns of each kind.
var leaves = [3][]leaf{
	Person: {
		number("id", func(e *Event) int64 { return e.ID }),
		text("name", func(e *Event) []byte { return e.Name }),
		text("email_address", func(e *Event) []byte { return e.Email }),
		text("credit_card", func(e *Event) []byte { return e.Card }),
		text("city", func(e *Event) []byte { return e.City }),
		text("state", func(e *Event) []byte { return e.State }),
		dateTime, extra,
	},
	Auction: {
		number("id", func(e *Event) int64 { return e.ID }),
		text("item_name", func(e *Event) []byte { return e.Item }),
		text("description", func(e *Event) []byte { return e.Description }),
		number("initial_bid", func(e *Event) int64 { return e.InitialBid }),
		number("reserve", func(e *Event) int64 { return e.Reserve }),
		dateTime,
		moment("expires", func(e *Event) int64 { return e.Expires }),
		number("seller", func(e *Event) int64 { return e.Seller }),
		number("category", func(e *Event) int64 { return e.Cate }),
		extra,
	},
	Bid: {
		number("auction", func(e *Event) int64 { return e.Auction }),
		number("bidder", func(e *Event) int64 { return e.Bidder }),
		number("price", func(e *Event) int64 { return e.Price }),
		text("channel", func(e *Event) []byte { return e.Channel }),
		text("url", func(e *Event) []byte { return e.URL }),
		dateTime, extra,
	},
}

var kindNames = [3]string{"person", "auction", "bid"}

// all marks the stream of every kind.
const all Kind = -1

// columnsOf returns the columns of a stream of one kind, or of all.
func columnsOf(k Kind) []connector.Column {
	var out []connector.Column
	if k != all {
		for _, l := range leaves[k] {
			out = append(out, connector.Column{Name: l.name, Type: l.t})
		}
		return out
	}
	out = append(out, connector.Column{Name: "event_type", Type: types.TInt8})
	for k, name := range kindNames {
		var fields []types.Field
		for _, l := range leaves[k] {
			fields = append(fields, types.Field{Name: l.name, Type: l.t})
		}
		out = append(out, connector.Column{Name: name, Type: types.StructOf(fields...)})
	}
	return append(out, connector.Column{Name: "date_time", Type: types.TTimestamp})
}

// checkColumns tells whether every column is one of the stream's.
func checkColumns(cols []connector.Column, k Kind) error {
	known := columnsOf(k)
	var names []string
	for _, c := range known {
		names = append(names, c.Name)
	}
next:
	for _, c := range cols {
		if c.Meta != "" {
			return sqlerr.New(sqlerr.FeatureNotSupported, `connector "nexmark" has no metadata "%s"`, c.Meta)
		}
		for _, n := range known {
			if n.Name != c.Name {
				continue
			}
			if !compatible(c.Type, n.Type) {
				return sqlerr.New(sqlerr.DatatypeMismatch, `column "%s" of connector "nexmark" is of type %s, not %s`,
					c.Name, n.Type, c.Type)
			}
			continue next
		}
		return sqlerr.New(sqlerr.UndefinedColumn, `connector "nexmark" has no column "%s"`, c.Name).
			WithHint("%s", sqlerr.Suggest(c.Name, names))
	}
	return nil
}

// compatible tells whether a column declared as t can take values of want: text
// for varchar, and timestamps of millisecond precision or better.
func compatible(t, want types.Type) bool {
	switch {
	case want.ID == types.Varchar:
		return t.ID == types.Text || t.ID == types.Varchar && t.Mod == 0
	case want.ID == types.Timestamp:
		return t.ID == types.Timestamp && (t.Mod == 0 || t.Mod >= 3)
	case want.ID != types.Struct:
		return t.Equal(want)
	case t.ID != types.Struct || len(t.Fields) != len(want.Fields):
		return false
	}
	for i, f := range t.Fields {
		if f.Name != want.Fields[i].Name || !compatible(f.Type, want.Fields[i].Type) {
			return false
		}
	}
	return true
}

// writer fills the columns of batches.
type writer struct {
	gen  *Generator
	kind Kind
	cols []connector.Column
	ev   Event

	// Of the batch in work: every leaf that is wanted of each kind, and the
	// structs with what rows they have.
	leaves  [3][]target
	structs [3][]*arrowbatch.Vec
	shared  []target // of every kind
	present [3]arrowbatch.Bitmap
}

type target struct {
	leaf *leaf
	v    *arrowbatch.Vec
}

var eventType = leaf{name: "event_type", num: func(e *Event) int64 { return int64(e.Kind) }}

// make makes the events first, first+step, … (n of them), without those of other
// kinds.
func (w *writer) make(first, step, n int64) *arrowbatch.Batch {
	b := w.begin(int(n))
	rows := 0
	for ; n > 0; n-- {
		if w.kind == all || w.gen.KindOf(first) == w.kind {
			w.gen.Event(first, &w.ev)
			w.row(rows)
			rows++
		}
		first += step
	}
	w.finish(b, rows)
	return b
}

func (w *writer) begin(n int) *arrowbatch.Batch {
	for k := range 3 {
		w.leaves[k], w.structs[k] = w.leaves[k][:0], w.structs[k][:0]
		w.present[k] = arrowbatch.NewBitmap(n)
	}
	w.shared = w.shared[:0]
	b := &arrowbatch.Batch{Cols: make([]*arrowbatch.Vec, len(w.cols))}
	for i, c := range w.cols {
		if c.Unused {
			continue
		}
		v := arrowbatch.NewVec(c.Type.Shape(), 0)
		v.Grow(n)
		b.Cols[i] = v
		switch {
		case w.kind != all:
			w.leaves[w.kind] = append(w.leaves[w.kind], target{find(w.kind, c.Name), v})
		case c.Name == "event_type":
			w.shared = append(w.shared, target{&eventType, v})
		case c.Name == "date_time":
			w.shared = append(w.shared, target{&dateTime, v})
		default:
			k := kindOf(c.Name)
			w.structs[k] = append(w.structs[k], v)
			for j := range leaves[k] {
				w.leaves[k] = append(w.leaves[k], target{&leaves[k][j], v.Kids[j]})
			}
		}
	}
	return b
}

func find(k Kind, name string) *leaf {
	for j := range leaves[k] {
		if leaves[k][j].name == name {
			return &leaves[k][j]
		}
	}
	return nil
}

func kindOf(name string) Kind {
	for k, n := range kindNames {
		if n == name {
			return Kind(k)
		}
	}
	return all
}

// row writes the event into row i.
func (w *writer) row(i int) {
	w.present[w.ev.Kind].Set(i)
	for _, t := range w.leaves[w.ev.Kind] {
		w.put(t, i)
	}
	for _, t := range w.shared {
		w.put(t, i)
	}
}

// put writes one value; rows before it that the column lacks are left empty.
func (w *writer) put(t target, i int) {
	v := t.v
	if t.leaf.num != nil {
		for len(v.I64) < i {
			v.I64 = append(v.I64, 0)
		}
		v.I64 = append(v.I64, t.leaf.num(&w.ev))
		return
	}
	for len(v.Off) <= i {
		v.Off = append(v.Off, int32(len(v.Data)))
	}
	v.Data = append(v.Data, t.leaf.text(&w.ev)...)
	v.Off = append(v.Off, int32(len(v.Data)))
}

// finish evens the columns out to n rows and marks the NULLs.
func (w *writer) finish(b *arrowbatch.Batch, n int) {
	b.Len = n
	for _, t := range w.shared {
		even(t.v, n)
	}
	for k := range w.leaves {
		for _, t := range w.leaves[k] {
			even(t.v, n)
			if w.kind == all {
				t.v.Valid = append(arrowbatch.Bitmap(nil), w.present[k]...)
			}
		}
		for _, v := range w.structs[k] {
			v.N = n
			v.Valid = append(arrowbatch.Bitmap(nil), w.present[k]...)
		}
	}
	for i, c := range w.cols {
		if c.Unused {
			b.Cols[i] = format.Nulls(c.Type, n)
		}
	}
}

func even(v *arrowbatch.Vec, n int) {
	v.N = n
	if v.Layout == arrowbatch.Int64 {
		for len(v.I64) < n {
			v.I64 = append(v.I64, 0)
		}
		return
	}
	for len(v.Off) <= n {
		v.Off = append(v.Off, int32(len(v.Data)))
	}
}

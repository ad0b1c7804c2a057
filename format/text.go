package format

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// textCodec gives a line, or a message, to the one column.
type textCodec struct {
	rows  *rows
	node  *node
	name  string
	raw   bool // the bytes as they are
	lines bool // files: a record is a line, not the whole file
	in    textInput
}

func newText(r *rows, lines bool, o Options) (*textCodec, error) {
	c := &textCodec{rows: r, lines: lines, in: newTextInput(o)}
	for i, col := range r.cols {
		if col.Meta != "" {
			continue
		}
		if c.node != nil {
			return nil, tooManyText(lines)
		}
		c.node, c.name = r.nodes[i], col.Name
		c.raw = col.Type.ID == types.Bytea
	}
	if c.node == nil {
		return nil, tooManyText(lines)
	}
	if k := c.node.t.ID; k == types.Array || k == types.Struct {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, `column "%s" of type %s cannot take a record's text`,
			c.name, c.node.t)
	}
	return c, nil
}

func tooManyText(lines bool) error {
	enc := Bytes
	if lines {
		enc = Text
	}
	return sqlerr.New(sqlerr.InvalidColumnDef, "ENCODE %s fills exactly one column besides metadata columns", enc)
}

func (c *textCodec) begin(head []byte, final, _ bool) (int, error) {
	if !c.lines {
		return 0, nil
	}
	i, ok := skipBOM(head, final)
	if !ok {
		return -1, nil
	}
	return i, nil
}

func (c *textCodec) end() error { return nil }

func (c *textCodec) next(b []byte, final bool) (int, bool, *RecordError) {
	end := len(b)
	if c.lines {
		if j := bytes.IndexByte(b, '\n'); j >= 0 {
			end = j + 1
		} else if !final {
			return 0, false, nil
		}
	} else if !final {
		return 0, false, nil
	}
	s := b[:end]
	if c.lines {
		s = trimLineEnd(s)
	}
	bad := c.record(s)
	if bad == nil {
		bad = c.rows.endRow(0, 0)
	}
	if bad != nil {
		bad.End = len(s)
		return end, false, bad
	}
	return end, true, nil
}

func trimLineEnd(s []byte) []byte {
	if n := len(s); n > 0 && s[n-1] == '\n' {
		s = s[:n-1]
		if n > 1 && s[n-2] == '\r' {
			s = s[:n-2]
		}
	}
	return s
}

func (c *textCodec) record(s []byte) *RecordError {
	n := c.node
	if n.kind == kindSkip {
		n.seen = c.rows.n + 1
		return nil
	}
	if c.raw {
		n.place(c.rows.n)
		n.v.AppendBytes(s)
		return nil
	}
	if err := c.in.put(n, c.rows.n, s); err != nil {
		return &RecordError{Column: c.name, Err: err}
	}
	return nil
}

// textInput reads whole texts by their types' input syntax.
type textInput struct {
	env  *types.Env
	utc  bool
	date dateCache
}

func newTextInput(o Options) textInput { return textInput{env: o.Env, utc: isUTC(o.Env)} }

// isUTC tells whether times without a zone are UTC's.
func isUTC(env *types.Env) bool {
	return env == nil || env.TimeZone == nil || env.TimeZone == time.UTC
}

// put reads s into row row of the node's column; the usual forms of the frequent
// types are read here.
func (in *textInput) put(n *node, row int, s []byte) *sqlerr.Error {
	if n.kind == kindSkip {
		n.seen = row + 1
		return nil
	}
	if n.v.N != row {
		n.place(row)
	}
	switch n.kind {
	case kindText:
		if err := checkText(s); err != nil {
			return err
		}
		n.v.AppendBytes(s)
		return nil
	case kindInt8, kindInt4:
		x, ok := wholeNumber(s)
		if ok && n.kind == kindInt8 {
			n.v.AppendInt64(x)
			return nil
		}
		if ok && x == int64(int32(x)) {
			n.v.AppendInt32(int32(x))
			return nil
		}
	case kindTimestamp, kindTimestamptz:
		us, e := in.date.parseTime(s)
		if e > 0 && (utc(s[e:]) || e == len(s) && (in.utc || n.kind == kindTimestamp)) {
			if n.t.Mod != 0 {
				us = types.RoundTime(n.t, us)
			}
			n.v.AppendInt64(us)
			return nil
		}
	}
	if err := checkText(s); err != nil {
		return err
	}
	if err := types.ParseText(n.t, s, n.v, in.env); err != nil {
		return sqlerr.From(err)
	}
	return nil
}

// wholeNumber reads up to 18 digits with an optional minus.
func wholeNumber(s []byte) (x int64, ok bool) {
	neg := len(s) > 0 && s[0] == '-'
	if neg {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 18 {
		return 0, false
	}
	for _, c := range s {
		if c -= '0'; c > 9 {
			return 0, false
		}
		x = x*10 + int64(c)
	}
	if neg {
		x = -x
	}
	return x, true
}

// checkText tells what a text value may not hold.
func checkText(s []byte) *sqlerr.Error {
	if !utf8.Valid(s) {
		return badUTF8()
	}
	if bytes.IndexByte(s, 0) >= 0 {
		return sqlerr.New(sqlerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0x00`)
	}
	return nil
}

package format

import (
	"bytes"
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
	env   *types.Env
}

func newText(r *rows, lines bool, o Options) (*textCodec, error) {
	c := &textCodec{rows: r, lines: lines, env: o.Env}
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
	if bad := c.record(s); bad != nil {
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
	n.place(c.rows.n)
	if c.raw {
		n.v.AppendBytes(s)
		return nil
	}
	if err := checkText(s); err != nil {
		return &RecordError{Column: c.name, Err: err}
	}
	if n.kind == kindText {
		n.v.AppendBytes(s)
		return nil
	}
	if err := types.ParseText(n.t, s, n.v, c.env); err != nil {
		return &RecordError{Column: c.name, Err: sqlerr.From(err)}
	}
	return nil
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

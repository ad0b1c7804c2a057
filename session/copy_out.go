package session

import (
	"encoding/binary"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql/types"
)

// copyEncoder writes the rows of COPY TO.
type copyEncoder struct {
	f    *copyOptions
	cols []pgwire.Column
	env  *types.Env
	tmp  []byte
}

// header is what comes before the rows.
func (e *copyEncoder) header() []byte {
	switch {
	case e.f.binary:
		return append([]byte(nil), append(copySignature, 0, 0, 0, 0, 0, 0, 0, 0)...)
	case !e.f.header:
		return nil
	}
	var out []byte
	for i, c := range e.cols {
		if i > 0 {
			out = append(out, e.f.delimiter)
		}
		if e.f.format == "csv" {
			out = e.csv(out, []byte(c.Name), false)
		} else {
			out = e.text(out, []byte(c.Name))
		}
	}
	return append(out, '\n')
}

// trailer is what comes after the rows.
func (e *copyEncoder) trailer() []byte {
	if e.f.binary {
		return []byte{0xff, 0xff}
	}
	return nil
}

// row appends row i of b.
func (e *copyEncoder) row(out []byte, b *arrowbatch.Batch, i int) []byte {
	if e.f.binary {
		return e.tuple(out, b, i)
	}
	for k, c := range e.cols {
		if k > 0 {
			out = append(out, e.f.delimiter)
		}
		if b.Cols[k].IsNull(i) {
			out = append(out, e.f.null...)
			continue
		}
		e.tmp = types.AppendText(e.tmp[:0], c.Type, b.Cols[k], i, e.env)
		if e.f.format == "csv" {
			out = e.csv(out, e.tmp, e.f.forceQuote[k])
		} else {
			out = e.text(out, e.tmp)
		}
	}
	return append(out, '\n')
}

func (e *copyEncoder) tuple(out []byte, b *arrowbatch.Batch, i int) []byte {
	out = binary.BigEndian.AppendUint16(out, uint16(len(e.cols)))
	for k, c := range e.cols {
		if b.Cols[k].IsNull(i) {
			out = append(out, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		e.tmp = types.AppendBinary(e.tmp[:0], c.Type, b.Cols[k], i)
		out = binary.BigEndian.AppendUint32(out, uint32(len(e.tmp)))
		out = append(out, e.tmp...)
	}
	return out
}

func (e *copyEncoder) text(out, v []byte) []byte {
	for _, c := range v {
		switch c {
		case '\b':
			out = append(out, '\\', 'b')
		case '\f':
			out = append(out, '\\', 'f')
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		case '\t':
			out = append(out, '\\', 't')
		case '\v':
			out = append(out, '\\', 'v')
		case '\\', e.f.delimiter:
			out = append(out, '\\', c)
		default:
			out = append(out, c)
		}
	}
	return out
}

// csv appends a value, in quotes where it could be taken for something else.
func (e *copyEncoder) csv(out, v []byte, force bool) []byte {
	s := string(v)
	if !force && s != e.f.null && s != `\.` && !strings.ContainsAny(s, string(e.f.delimiter)+string(e.f.quote)+"\r\n") {
		return append(out, v...)
	}
	out = append(out, e.f.quote)
	for _, c := range v {
		if c == e.f.quote || c == e.f.escape {
			out = append(out, e.f.escape)
		}
		out = append(out, c)
	}
	return append(out, e.f.quote)
}

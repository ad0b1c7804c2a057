package session

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql/types"
)

// maxCopyLine bounds one line or tuple of a COPY.
const maxCopyLine = 256 << 20

// copyParser cuts the stream of a COPY FROM into rows.
type copyParser interface {
	// parse takes bytes of chunk until the batch has max rows and returns how many
	// it took.
	parse(chunk []byte, b *arrowbatch.Batch, max int) (int, error)
	// finish takes the end of the stream.
	finish(b *arrowbatch.Batch) error
	// line is the number of the line or row read last.
	line() int64
}

func newCopyParser(o *copyOptions, cols []pgwire.Column, env *types.Env) copyParser {
	if o.binary {
		return &binaryParser{cols: cols}
	}
	return &lineParser{o: o, cols: cols, env: env, csv: o.format == "csv", skip: o.header}
}

// lineParser reads the text and csv formats.
type lineParser struct {
	o    *copyOptions
	cols []pgwire.Column
	env  *types.Env
	csv  bool
	skip bool // the next line is the header

	pending []byte // the beginning of a line that the last chunk cut
	quoted  bool   // csv: inside quotes at the end of pending
	escaped bool   // text: pending ends in a backslash that escapes what follows
	ended   bool   // \. was met
	n       int64

	parts []fieldText
	text  []byte // what parts point into
}

// fieldText is a field of a line: a range of lineParser.text.
type fieldText struct {
	lo, hi int
	quoted bool
	null   bool
}

func (p *lineParser) line() int64 { return p.n }

func (p *lineParser) parse(chunk []byte, b *arrowbatch.Batch, max int) (int, error) {
	at := 0
	for at < len(chunk) && b.Len < max {
		if p.ended {
			return len(chunk), nil
		}
		end := p.lineEnd(chunk[at:])
		if end < 0 {
			p.pending = append(p.pending, chunk[at:]...)
			if len(p.pending) > maxCopyLine {
				return 0, sqlerr.New(sqlerr.ProgramLimitExceeded, "a line of COPY is longer than %d bytes", maxCopyLine)
			}
			return len(chunk), nil
		}
		line := chunk[at : at+end]
		if len(p.pending) > 0 {
			p.pending = append(p.pending, line...)
			line = p.pending
		}
		at += end + 1
		err := p.row(bytes.TrimSuffix(line, []byte{'\r'}), b)
		p.pending = p.pending[:0]
		if err != nil {
			return 0, err
		}
	}
	return at, nil
}

// lineEnd returns the position of the newline that ends the line, -1 if s has
// none; what is to be known of a cut line is kept.
func (p *lineParser) lineEnd(s []byte) int {
	if !p.csv {
		return p.textEnd(s)
	}
	for i, c := range s {
		switch {
		case p.escaped:
			p.escaped = false
		case p.quoted && c == p.o.escape && p.o.escape != p.o.quote:
			p.escaped = true
		case c == p.o.quote:
			p.quoted = !p.quoted
		case c == '\n' && !p.quoted:
			return i
		}
	}
	return -1
}

func (p *lineParser) textEnd(s []byte) int {
	for i := 0; i < len(s); {
		if p.escaped {
			p.escaped = false
			i++
			continue
		}
		k := bytes.IndexAny(s[i:], "\\\n")
		if k < 0 {
			return -1
		}
		i += k
		if s[i] == '\n' {
			return i
		}
		p.escaped = true
		i++
	}
	return -1
}

func (p *lineParser) finish(b *arrowbatch.Batch) error {
	if p.ended {
		return nil
	}
	if p.quoted {
		p.n++
		return sqlerr.New(sqlerr.BadCopyFileFormat, "unterminated CSV quoted field")
	}
	if len(p.pending) == 0 {
		return nil
	}
	line := p.pending
	p.pending = nil
	return p.row(bytes.TrimSuffix(line, []byte{'\r'}), b)
}

// row adds one line to the batch.
func (p *lineParser) row(line []byte, b *arrowbatch.Batch) error {
	p.n++
	if string(line) == `\.` {
		p.ended = true
		return nil
	}
	if !utf8.Valid(line) {
		return badUTF8(line)
	}
	p.parts, p.text = p.parts[:0], p.text[:0]
	var err error
	if p.csv {
		err = p.splitCSV(line)
	} else {
		err = p.splitText(line)
	}
	if err != nil {
		return err
	}
	if p.skip {
		p.skip = false
		return p.checkHeader()
	}
	if len(p.cols) == 0 && len(line) == 0 {
		b.AppendOp(arrowbatch.Insert)
		return nil
	}
	for i, c := range p.cols {
		if i >= len(p.parts) {
			return sqlerr.New(sqlerr.BadCopyFileFormat, "missing data for column %q", c.Name)
		}
		f := p.parts[i]
		if p.csv && p.o.forceNull[i] && string(p.text[f.lo:f.hi]) == p.o.null {
			f.null = true
		}
		if f.null && !(p.csv && p.o.forceNotNull[i]) {
			b.Cols[i].AppendNull()
			continue
		}
		if err := types.ParseText(c.Type, p.text[f.lo:f.hi], b.Cols[i], p.env); err != nil {
			e := *sqlerr.From(err)
			e.Where = fmt.Sprintf("line %d, column %s: %q", p.n, c.Name, p.text[f.lo:f.hi])
			return &e
		}
	}
	if len(p.parts) > len(p.cols) {
		return sqlerr.New(sqlerr.BadCopyFileFormat, "extra data after last expected column")
	}
	b.AppendOp(arrowbatch.Insert)
	return nil
}

func badUTF8(s []byte) error {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		if r == utf8.RuneError && n == 1 {
			return sqlerr.New(sqlerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x%02x", s[0])
		}
		s = s[n:]
	}
	return nil
}

// checkHeader compares the header with the columns, with HEADER MATCH.
func (p *lineParser) checkHeader() error {
	if !p.o.match {
		return nil
	}
	if len(p.parts) != len(p.cols) {
		return sqlerr.New(sqlerr.BadCopyFileFormat, "wrong number of fields in header line: got %d, expected %d",
			len(p.parts), len(p.cols))
	}
	for i, c := range p.cols {
		if got := string(p.text[p.parts[i].lo:p.parts[i].hi]); got != c.Name {
			return sqlerr.New(sqlerr.BadCopyFileFormat, "column name mismatch in header line field %d: got %q, expected %q",
				i+1, got, c.Name)
		}
	}
	return nil
}

func (p *lineParser) end(lo int, raw []byte, quoted bool) {
	p.parts = append(p.parts, fieldText{lo: lo, hi: len(p.text), quoted: quoted,
		null: !quoted && string(raw) == p.o.null})
}

func (p *lineParser) splitText(line []byte) error {
	lo, raw := 0, 0
	for i := 0; i <= len(line); i++ {
		if i == len(line) || line[i] == p.o.delimiter {
			p.end(lo, line[raw:i], false)
			lo, raw = len(p.text), i+1
			continue
		}
		if line[i] != '\\' || i+1 == len(line) {
			p.text = append(p.text, line[i])
			continue
		}
		i++
		i = p.escape(line, i)
	}
	return nil
}

// escape reads the escape whose letter is at i and returns its last position.
func (p *lineParser) escape(line []byte, i int) int {
	c := line[i]
	switch c {
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'v':
		c = '\v'
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n := 0
		for k := 0; k < 3 && i < len(line) && line[i] >= '0' && line[i] <= '7'; k++ {
			n = n*8 + int(line[i]-'0')
			i++
		}
		p.text = append(p.text, byte(n))
		return i - 1
	case 'x':
		n, k := 0, i+1
		for ; k < len(line) && k < i+3; k++ {
			d := hexDigit(line[k])
			if d < 0 {
				break
			}
			n = n*16 + d
		}
		if k > i+1 {
			p.text = append(p.text, byte(n))
			return k - 1
		}
	}
	p.text = append(p.text, c)
	return i
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func (p *lineParser) splitCSV(line []byte) error {
	lo, raw, inside, quoted := 0, 0, false, false
	for i := 0; i <= len(line); i++ {
		switch {
		case i == len(line) && inside:
			return sqlerr.New(sqlerr.BadCopyFileFormat, "unterminated CSV quoted field")
		case i == len(line), !inside && line[i] == p.o.delimiter:
			p.end(lo, line[raw:i], quoted)
			lo, raw, quoted = len(p.text), i+1, false
		case inside && line[i] == p.o.escape && i+1 < len(line) && (line[i+1] == p.o.escape || line[i+1] == p.o.quote):
			i++
			p.text = append(p.text, line[i])
		case line[i] == p.o.quote:
			inside, quoted = !inside, true
		default:
			p.text = append(p.text, line[i])
		}
	}
	return nil
}

// binaryParser reads the binary format.
type binaryParser struct {
	cols    []pgwire.Column
	buf     []byte
	started bool
	ended   bool
	n       int64
}

var copySignature = []byte("PGCOPY\n\xff\r\n\x00")

func (p *binaryParser) line() int64 { return p.n }

func badBinary(format string, args ...any) error {
	return sqlerr.New(sqlerr.BadCopyFileFormat, format, args...)
}

func (p *binaryParser) parse(chunk []byte, b *arrowbatch.Batch, max int) (int, error) {
	p.buf = append(p.buf, chunk...)
	if len(p.buf) > maxCopyLine {
		return 0, sqlerr.New(sqlerr.ProgramLimitExceeded, "a row of COPY is longer than %d bytes", maxCopyLine)
	}
	// All rows of a chunk go to one batch: a chunk is a message, which is bounded.
	return len(chunk), p.rows(b)
}

func (p *binaryParser) rows(b *arrowbatch.Batch) error {
	in := p.buf
	defer func() { p.buf = append(p.buf[:0], in...) }()
	if !p.started {
		n, err := copyHeader(in)
		if n == 0 || err != nil {
			return err
		}
		in, p.started = in[n:], true
	}
	for !p.ended && len(in) >= 2 {
		n, err := p.tuple(in, b)
		if n == 0 || err != nil {
			return err
		}
		in = in[n:]
	}
	return nil
}

// copyHeader returns the length of the header, 0 if there is not all of it.
func copyHeader(in []byte) (int, error) {
	const fixed = 11 + 4 + 4
	if k := min(len(in), len(copySignature)); !bytes.Equal(in[:k], copySignature[:k]) {
		return 0, badBinary("COPY file signature not recognized")
	}
	if len(in) < fixed {
		return 0, nil
	}
	flags, ext := binary.BigEndian.Uint32(in[11:]), binary.BigEndian.Uint32(in[15:])
	if flags&^0xffff != 0 {
		return 0, badBinary("unrecognized critical flags in COPY file header")
	}
	if ext > 1<<20 {
		return 0, badBinary("invalid COPY file header (wrong length)")
	}
	if len(in) < fixed+int(ext) {
		return 0, nil
	}
	return fixed + int(ext), nil
}

// tuple reads one row and returns its length, 0 if there is not all of it.
func (p *binaryParser) tuple(in []byte, b *arrowbatch.Batch) (int, error) {
	fields := int16(binary.BigEndian.Uint16(in))
	if fields == -1 {
		p.ended = true
		return 2, nil
	}
	if int(fields) != len(p.cols) {
		p.n++
		return 0, badBinary("row field count is %d, expected %d", fields, len(p.cols))
	}
	at := 2
	for range p.cols { // is all of it there?
		if len(in) < at+4 {
			return 0, nil
		}
		n := int32(binary.BigEndian.Uint32(in[at:]))
		if n < -1 {
			p.n++
			return 0, badBinary("invalid field size")
		}
		at += 4 + max(int(n), 0)
		if len(in) < at {
			return 0, nil
		}
	}
	p.n++
	at = 2
	for i, c := range p.cols {
		n := int32(binary.BigEndian.Uint32(in[at:]))
		at += 4
		if n < 0 {
			b.Cols[i].AppendNull()
			continue
		}
		if err := types.ParseBinary(c.Type, in[at:at+int(n)], b.Cols[i]); err != nil {
			e := *sqlerr.From(err)
			e.Where = fmt.Sprintf("line %d, column %s", p.n, c.Name)
			return 0, &e
		}
		at += int(n)
	}
	b.AppendOp(arrowbatch.Insert)
	return at, nil
}

func (p *binaryParser) finish(b *arrowbatch.Batch) error {
	if !p.started || len(p.buf) > 0 && !p.ended {
		return badBinary("unexpected EOF in COPY data")
	}
	return nil
}

package format

import (
	"bytes"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// csvCodec decodes RFC 4180 and its relatives.
type csvCodec struct {
	rows *rows
	opts CSVOptions
	in   textInput
	// cols are the record's columns, fields where they stand in a line: fields[k]
	// is the column of field k, -1 for one that nobody wants.
	cols   []int
	fields []int
	quoted []byte
}

func newCSV(r *rows, o Options) (*csvCodec, error) {
	c := &csvCodec{rows: r, opts: o.CSV, in: newTextInput(o)}
	q := c.opts
	if q.Delimiter == 0 || q.Quote == 0 || q.Escape == 0 {
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, "CSV delimiter, quote and escape must be given")
	}
	if q.Delimiter == q.Quote {
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, "CSV delimiter and quote must be different")
	}
	if strings.IndexByte("\r\n", q.Delimiter) >= 0 || strings.IndexByte("\r\n", q.Quote) >= 0 {
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, "CSV delimiter and quote cannot be newline or carriage return")
	}
	if strings.ContainsAny(q.Null, "\r\n") || strings.IndexByte(q.Null, q.Delimiter) >= 0 {
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, "CSV null text cannot hold the delimiter or a line end")
	}
	for i, col := range r.cols {
		if col.Meta != "" {
			continue
		}
		if r.nodes[i].kind == kindStruct {
			return nil, sqlerr.New(sqlerr.DatatypeMismatch, `column "%s" of type %s cannot be read from CSV`,
				col.Name, col.Type)
		}
		c.cols = append(c.cols, i)
	}
	c.fields = c.cols
	return c, nil
}

func (c *csvCodec) begin(head []byte, final, _ bool) (int, error) {
	at, ok := skipBOM(head, final)
	if !ok {
		return -1, nil
	}
	c.fields = c.cols
	if !c.opts.Header || final && at == len(head) {
		return at, nil
	}
	end, state := c.line(head[at:])
	if state != lineWhole && !final {
		return -1, nil
	}
	if state == lineOpen {
		return 0, &RecordError{End: len(head), Err: csvOpen()}
	}
	var names []string
	for i := 0; i >= 0; {
		var f csvField
		f, i = c.field(head[at:at+end], i)
		if f.err != nil {
			return 0, &RecordError{End: at + end, Err: f.err}
		}
		names = append(names, strings.TrimSpace(string(f.text)))
	}
	if err := c.header(names); err != nil {
		return 0, &RecordError{End: at + end, Err: err}
	}
	return at + end, nil
}

// header finds the columns among the names of the first line: by the very name,
// else by the name in any letter case.
func (c *csvCodec) header(names []string) *sqlerr.Error {
	c.fields = make([]int, len(names))
	for k := range c.fields {
		c.fields[k] = -1
	}
	for _, i := range c.cols {
		name, at := c.rows.cols[i].Name, -1
		for k, n := range names {
			if c.fields[k] >= 0 {
				continue
			}
			if n == name {
				at = k
				break
			}
			if at < 0 && strings.ToLower(n) == name {
				at = k
			}
		}
		if at < 0 {
			return sqlerr.New(sqlerr.UndefinedColumn, `column "%s" is not in the header of the file`, name).
				WithDetail("The header is: %s.", strings.Join(names, ", ")).
				WithHint("%s", sqlerr.Suggest(name, names))
		}
		c.fields[at] = i
	}
	return nil
}

func (c *csvCodec) end() error { return nil }

type lineState uint8

const (
	lineWhole lineState = iota // a line end was met
	lineLast                   // the input ends, outside quotes
	lineOpen                   // the input ends within quotes
)

// line returns the length of the record at the front of b, its line end included.
func (c *csvCodec) line(b []byte) (end int, state lineState) {
	nl := bytes.IndexByte(b, '\n')
	first := b
	if nl >= 0 {
		first = b[:nl]
	}
	if bytes.IndexByte(first, c.opts.Quote) < 0 {
		if nl < 0 {
			return len(b), lineLast
		}
		return nl + 1, lineWhole
	}
	start, in := true, false // at a field's first byte; within quotes
	for i := 0; i < len(b); i++ {
		switch ch := b[i]; {
		case in && ch == c.opts.Escape && i+1 < len(b) && c.escapable(b[i+1]):
			i++
		case in && ch == c.opts.Escape && ch != c.opts.Quote:
		case in:
			in = ch != c.opts.Quote
		case start && ch == c.opts.Quote:
			in, start = true, false
		case ch == '\n':
			return i + 1, lineWhole
		default:
			start = ch == c.opts.Delimiter
		}
	}
	if in {
		return len(b), lineOpen
	}
	return len(b), lineLast
}

func (c *csvCodec) escapable(ch byte) bool { return ch == c.opts.Quote || ch == c.opts.Escape }

func csvOpen() *sqlerr.Error {
	return sqlerr.New(sqlerr.BadCopyFileFormat, "unterminated CSV quoted field")
}

func (c *csvCodec) next(b []byte, final bool) (int, bool, *RecordError) {
	end, state := c.line(b)
	if state != lineWhole && !final {
		return 0, false, nil
	}
	if state == lineOpen {
		// The stray quote is in the first line: the lines behind it are read.
		if j := bytes.IndexByte(b, '\n'); j >= 0 {
			end = j + 1
		}
		return end, false, &RecordError{End: len(trimLineEnd(b[:end])), Err: csvOpen()}
	}
	s := trimLineEnd(b[:end])
	if len(s) == 0 && len(c.fields) > 1 {
		return end, false, nil
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

func (c *csvCodec) record(s []byte) *RecordError {
	k := 0
	for i := 0; i >= 0; k++ {
		var f csvField
		f, i = c.field(s, i)
		if f.err != nil {
			return &RecordError{Err: f.err}
		}
		if k == len(c.fields) {
			return &RecordError{Err: sqlerr.New(sqlerr.BadCopyFileFormat, "extra data after last expected column")}
		}
		col := c.fields[k]
		if col < 0 || !f.quoted && string(f.text) == c.opts.Null {
			continue
		}
		if err := c.in.put(c.rows.nodes[col], c.rows.n, f.text); err != nil {
			return &RecordError{Column: c.rows.cols[col].Name, Err: err}
		}
	}
	if k < len(c.fields) {
		return &RecordError{Err: sqlerr.New(sqlerr.BadCopyFileFormat, "missing data for %s", c.missing(k))}
	}
	return nil
}

func (c *csvCodec) missing(k int) string {
	if i := c.fields[k]; i >= 0 {
		return `column "` + c.rows.cols[i].Name + `"`
	}
	return "a column of the header"
}

type csvField struct {
	text   []byte
	quoted bool
	err    *sqlerr.Error
}

// field reads the field of line s at byte i; next is where the next one begins,
// -1 behind the last.
func (c *csvCodec) field(s []byte, i int) (f csvField, next int) {
	s = trimLineEnd(s)
	if i < len(s) && s[i] == c.opts.Quote {
		return c.quotedField(s, i+1)
	}
	if j := bytes.IndexByte(s[i:], c.opts.Delimiter); j >= 0 {
		return csvField{text: s[i : i+j]}, i + j + 1
	}
	return csvField{text: s[i:]}, -1
}

func (c *csvCodec) quotedField(s []byte, i int) (f csvField, next int) {
	f.quoted = true
	c.quoted = c.quoted[:0]
	for start := i; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == c.opts.Escape && i+1 < len(s) && c.escapable(s[i+1]):
			c.quoted = append(c.quoted, s[start:i]...)
			i++
			start = i
		case ch == c.opts.Quote:
			f.text = s[start:i]
			if len(c.quoted) > 0 {
				c.quoted = append(c.quoted, f.text...)
				f.text = c.quoted
			}
			switch {
			case i+1 == len(s):
				return f, -1
			case s[i+1] == c.opts.Delimiter:
				return f, i + 2
			}
			f.err = sqlerr.New(sqlerr.BadCopyFileFormat, "data after the closing quote of a CSV field")
			return f, -1
		}
	}
	f.err = csvOpen()
	return f, -1
}

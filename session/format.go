package session

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql/types"
)

// resultRows writes the rows of one result.
type resultRows interface {
	rows(b *arrowbatch.Batch, env *types.Env) error
	end() error
}

// writeResult begins a result; live ones come over time and are written row by
// row.
type writeResult func(cols []pgwire.Column, live bool) resultRows

func resultWriter(format string, out io.Writer) (writeResult, error) {
	switch format {
	case "", "aligned", "table":
		return func(cols []pgwire.Column, live bool) resultRows {
			return &alignedRows{out: out, cols: cols, live: live}
		}, nil
	case "csv":
		return func(cols []pgwire.Column, _ bool) resultRows { return newCSVRows(out, cols) }, nil
	case "json":
		return func(cols []pgwire.Column, _ bool) resultRows { return &jsonRows{out: out, cols: cols} }, nil
	}
	e := sqlerr.New(sqlerr.InvalidParameterValue, "unknown output format %q", format)
	e.Hint = "Formats are aligned, csv and json."
	return nil, e
}

// rightAligned tells whether psql writes the type's values at the right.
func rightAligned(t types.Type) bool { return t.IsNumber() && t.ID < types.OID || t.ID == types.OID }

// alignedRows writes like psql: all rows are kept to find the widths; a live
// result is written as it comes, with the widths of its first rows.
type alignedRows struct {
	out    io.Writer
	cols   []pgwire.Column
	live   bool
	cells  [][][]string // rows, columns, lines of a cell
	widths []int
	count  int
	headed bool
}

func (a *alignedRows) rows(b *arrowbatch.Batch, env *types.Env) error {
	for i := range b.Len {
		row := make([][]string, len(a.cols))
		for k, c := range a.cols {
			if !b.Cols[k].IsNull(i) {
				row[k] = strings.Split(string(types.AppendText(nil, c.Type, b.Cols[k], i, env)), "\n")
			}
		}
		a.cells = append(a.cells, row)
		a.count++
	}
	if !a.live {
		return nil
	}
	return a.flush()
}

func (a *alignedRows) flush() error {
	var w strings.Builder
	if !a.headed {
		a.measure()
		a.header(&w)
		a.headed = true
	}
	for _, row := range a.cells {
		a.row(&w, row)
	}
	a.cells = nil
	_, err := io.WriteString(a.out, w.String())
	return err
}

func (a *alignedRows) end() error {
	if err := a.flush(); err != nil {
		return err
	}
	plural := "s"
	if a.count == 1 {
		plural = ""
	}
	_, err := fmt.Fprintf(a.out, "(%d row%s)\n\n", a.count, plural)
	return err
}

func (a *alignedRows) measure() {
	a.widths = make([]int, len(a.cols))
	for k, c := range a.cols {
		a.widths[k] = utf8.RuneCountInString(c.Name)
	}
	for _, row := range a.cells {
		for k, lines := range row {
			for _, l := range lines {
				a.widths[k] = max(a.widths[k], utf8.RuneCountInString(l))
			}
		}
	}
}

func (a *alignedRows) header(w *strings.Builder) {
	for k, c := range a.cols {
		if k > 0 {
			w.WriteByte('|')
		}
		left := (a.widths[k] - utf8.RuneCountInString(c.Name)) / 2
		right := a.widths[k] - utf8.RuneCountInString(c.Name) - left
		w.WriteString(" " + strings.Repeat(" ", left) + c.Name + strings.Repeat(" ", right) + " ")
	}
	w.WriteByte('\n')
	for k, n := range a.widths {
		if k > 0 {
			w.WriteByte('+')
		}
		w.WriteString(strings.Repeat("-", n+2))
	}
	if len(a.cols) == 0 {
		w.WriteString("--")
	}
	w.WriteByte('\n')
}

// row writes a row; cells of several lines continue with a + at the end, as in
// psql.
func (a *alignedRows) row(w *strings.Builder, row [][]string) {
	height := 1
	for _, lines := range row {
		height = max(height, len(lines))
	}
	if len(row) == 0 {
		return
	}
	for line := range height {
		for k, c := range a.cols {
			if k > 0 {
				w.WriteByte('|')
			}
			text, more := "", false
			if line < len(row[k]) {
				text, more = row[k][line], line+1 < len(row[k])
			}
			pad := strings.Repeat(" ", max(a.widths[k]-utf8.RuneCountInString(text), 0))
			last := k == len(a.cols)-1
			switch {
			case rightAligned(c.Type):
				w.WriteString(" " + pad + text)
			case last && !more:
				w.WriteString(" " + text)
			default:
				w.WriteString(" " + text + pad)
			}
			switch {
			case more:
				w.WriteByte('+')
			case !last:
				w.WriteByte(' ')
			}
		}
		w.WriteByte('\n')
	}
}

type csvRows struct {
	w    *csv.Writer
	cols []pgwire.Column
}

func newCSVRows(out io.Writer, cols []pgwire.Column) *csvRows {
	c := &csvRows{csv.NewWriter(out), cols}
	names := make([]string, len(cols))
	for i, col := range cols {
		names[i] = col.Name
	}
	// An error stays in the writer until Flush, whose error end and rows return.
	_ = c.w.Write(names)
	return c
}

func (c *csvRows) rows(b *arrowbatch.Batch, env *types.Env) error {
	rec := make([]string, len(c.cols))
	for i := range b.Len {
		for k, col := range c.cols {
			rec[k] = ""
			if !b.Cols[k].IsNull(i) {
				rec[k] = string(types.AppendText(nil, col.Type, b.Cols[k], i, env))
			}
		}
		if err := c.w.Write(rec); err != nil {
			return err
		}
	}
	c.w.Flush()
	return c.w.Error()
}

func (c *csvRows) end() error {
	c.w.Flush()
	return c.w.Error()
}

// jsonRows writes one object a line.
type jsonRows struct {
	out  io.Writer
	cols []pgwire.Column
}

func (j *jsonRows) rows(b *arrowbatch.Batch, env *types.Env) error {
	var buf []byte
	for i := range b.Len {
		buf = append(buf, '{')
		for k, c := range j.cols {
			if k > 0 {
				buf = append(buf, ',')
			}
			buf = appendJSON(buf, c.Name)
			buf = append(buf, ':')
			buf = appendJSONValue(buf, c.Type, b.Cols[k], i, env)
		}
		buf = append(buf, '}', '\n')
	}
	_, err := j.out.Write(buf)
	return err
}

func (j *jsonRows) end() error { return nil }

func appendJSON(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return append(dst, `""`...)
	}
	return append(dst, b...)
}

func appendJSONValue(dst []byte, t types.Type, v *arrowbatch.Vec, i int, env *types.Env) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	switch t.ID {
	case types.Bool:
		if v.Bits.Get(i) {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case types.Array:
		dst = append(dst, '[')
		lo, hi := v.ListAt(i)
		for k := lo; k < hi; k++ {
			if k > lo {
				dst = append(dst, ',')
			}
			dst = appendJSONValue(dst, *t.Elem, v.Kids[0], k, env)
		}
		return append(dst, ']')
	case types.Struct:
		dst = append(dst, '{')
		for k, f := range t.Fields {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendJSON(dst, f.Name), ':')
			dst = appendJSONValue(dst, f.Type, v.Kids[k], i, env)
		}
		return append(dst, '}')
	}
	text := types.AppendText(nil, t, v, i, env)
	if t.ID == types.JSON || t.ID == types.JSONB || t.IsNumber() && json.Valid(text) {
		return append(dst, text...)
	}
	return appendJSON(dst, string(text))
}

// rawRows writes the lines of COPY TO STDOUT.
type rawRows struct{ out io.Writer }

func (r *rawRows) rows(b *arrowbatch.Batch, _ *types.Env) error {
	for i := range b.Len {
		if _, err := r.out.Write(b.Cols[0].BytesAt(i)); err != nil {
			return err
		}
	}
	return nil
}

func (r *rawRows) end() error { return nil }

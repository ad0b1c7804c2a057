package format

import (
	"bytes"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// maxDepth bounds how deeply values may nest.
const maxDepth = 512

// arrayState is where a file that is one JSON array stands.
type arrayState uint8

const (
	noArray  arrayState = iota // the file is a sequence of objects
	atFirst                    // behind the opening bracket
	atNext                     // behind an element
	atResume                   // behind an element or the closing bracket
	atEnd                      // behind the closing bracket
)

// jsonCodec decodes objects: one a line, several a line, pretty-printed, or the
// elements of one array.
type jsonCodec struct {
	rows  *rows
	root  object
	opts  Options
	epoch int // digits of a second in a numeric timestamp; -1: refused

	utc     bool // times without a zone are UTC's
	array   arrayState
	scratch []byte
	date    dateCache

	// wrap is there where records may carry their schema. null: the record in work says
	// that it has no value. alone takes a record that is no object.
	wrap  *wrapping
	null  bool
	alone *node
	own   []byte

	// The fault of the record in work. short: it is merely cut off, if more may come.
	err   *sqlerr.Error
	path  string
	short bool
}

func newJSON(r *rows, o Options) (*jsonCodec, error) {
	d := &jsonCodec{rows: r, opts: o, epoch: -1, utc: isUTC(o.Env)}
	switch o.TimestampFormat {
	case "":
	case "epoch_s":
		d.epoch = 0
	case "epoch_ms":
		d.epoch = 3
	case "epoch_us":
		d.epoch = 6
	default:
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, `timestamp_format "%s" is not known`, o.TimestampFormat).
			WithHint("Valid values are: epoch_s, epoch_ms, epoch_us.")
	}
	var names []string
	var nodes []*node
	for i, c := range r.cols {
		if c.Meta == "" {
			names, nodes = append(names, c.Name), append(nodes, r.nodes[i])
		}
	}
	d.root.init(names, nodes)
	if o.alone {
		d.alone = nodes[0]
	}
	if o.wrapped {
		d.initWrapping(names)
	}
	return d, nil
}

func (d *jsonCodec) begin(head []byte, final, resume bool) (int, error) {
	i, ok := skipBOM(head, final)
	if !ok {
		return -1, nil
	}
	d.array = noArray
	if i = skipSpace(head, i); i == len(head) {
		if final {
			return i, nil
		}
		return -1, nil
	}
	if head[i] == '[' {
		i++
		d.array = atFirst
		if resume {
			d.array = atResume
		}
	}
	return i, nil
}

// end tells whether a file may end here.
func (d *jsonCodec) end() error {
	if d.array == atFirst || d.array == atNext {
		return &RecordError{Err: jsonError("The array is not closed.")}
	}
	return nil
}

func (d *jsonCodec) next(b []byte, final bool) (end int, row bool, bad *RecordError) {
	d.reset()
	i := skipSpace(b, 0)
	if i == len(b) {
		return i, false, nil
	}
	if d.array != noArray {
		var stop bool
		if i, stop = d.separator(b, i); stop {
			if d.err == nil {
				return i, false, nil // the closing bracket, or more is needed
			}
			return d.refuse(b, i, final)
		}
	}
	if b[i] != '{' {
		d.unexpected(b, i, "an object")
		return d.refuse(b, i, final)
	}
	e := d.element(b, i)
	if e < 0 {
		return d.refuse(b, i, final)
	}
	if d.array != noArray {
		d.array = atNext
	}
	if d.null {
		return e, false, nil
	}
	if bad := d.rows.endRow(i, e); bad != nil {
		return e, false, bad
	}
	return e, true, nil
}

// element reads the object at byte i of a file and returns the place behind it, or -1.
func (d *jsonCodec) element(b []byte, i int) int {
	if d.wrap == nil {
		return d.object(&d.root, b, i+1, d.rows.n)
	}
	e := d.skip(b, i, 0)
	if e < 0 {
		return -1
	}
	if d.message(b[i:e]) < 0 {
		d.short = false // the object is whole
		return -1
	}
	return e
}

// separator reads what stands before an element of the array. With stop, no
// element follows: i is then what was consumed, or d.err is set.
func (d *jsonCodec) separator(b []byte, i int) (_ int, stop bool) {
	switch {
	case d.array == atEnd:
		d.unexpected(b, i, "nothing behind the array")
		return i, true
	case b[i] == ']':
		d.array = atEnd
		return i + 1, true
	case d.array == atFirst:
		return i, false
	case b[i] != ',':
		d.unexpected(b, i, `"," or "]"`)
		return i, true
	}
	e := skipSpace(b, i+1)
	if e == len(b) {
		d.cut()
		return i, true
	}
	return e, false
}

// refuse tells what to do about d.err in a record that begins at start: wait for
// the rest of it, or leave it out. A well-formed value that does not fit the
// columns ends where it ends; of a malformed one it is not known, so reading goes
// on at the next line that can begin a record.
func (d *jsonCodec) refuse(b []byte, start int, final bool) (int, bool, *RecordError) {
	if d.short && !final {
		return 0, false, nil
	}
	bad := d.fault()
	end := -1
	if b[start] == '{' {
		d.reset()
		if end = d.skip(b, start, 0); end < 0 {
			if d.short && !final {
				return 0, false, nil
			}
			bad = d.fault() // worse than a value that does not fit
		}
	}
	if end < 0 {
		if end = resync(b, start, final); end == 0 {
			return 0, false, nil
		}
	}
	switch {
	case d.array == noArray || d.array == atEnd:
	case final && end == len(b):
		d.array = atEnd // one fault is enough
	default:
		d.array = atNext
	}
	bad.Start, bad.End = start, end
	for bad.End > start && isSpace(b[bad.End-1]) {
		bad.End--
	}
	return end, false, bad
}

// resync returns where the next record may begin after a malformed one at start:
// at a line that is not indented and does not begin with a closing bracket. 0:
// more input is needed to tell.
func resync(b []byte, start int, final bool) int {
	for i := start; ; {
		j := bytes.IndexByte(b[i:], '\n')
		if j < 0 || i+j+1 == len(b) {
			if final {
				return len(b)
			}
			return 0
		}
		i += j + 1
		if c := b[i]; !isSpace(c) && c != '}' && c != ']' {
			return i
		}
	}
}

func (d *jsonCodec) record(b []byte) *RecordError {
	d.reset()
	if d.message(b) < 0 {
		return d.fault()
	}
	return nil
}

// message reads all of b as one record; -1: it is bad.
func (d *jsonCodec) message(b []byte) int {
	i := skipSpace(b, 0)
	if d.wrap != nil && i < len(b) && b[i] == '{' {
		var ok bool
		switch b, ok = d.unwrap(b[i:]); {
		case !ok:
			return -1
		case d.null:
			return 0
		}
		i = skipSpace(b, 0)
	}
	switch {
	case i == len(b):
		return d.fail(jsonError("The record is empty."))
	case b[i] == 'n' && d.alone != nil:
		if i = d.literal(b, i, "null"); i > 0 {
			d.null = true
		}
	case b[i] == '{':
		i = d.object(&d.root, b, i+1, d.rows.n)
	case d.alone != nil:
		// What ends with the text might go on: behind a blank it does not.
		b = append(append(d.own[:0], b[i:]...), ' ')
		d.own, i = b, d.value(d.alone, b, 0, d.rows.n)
	default:
		return d.unexpected(b, i, "an object")
	}
	if i < 0 {
		return -1
	}
	if i = skipSpace(b, i); i < len(b) {
		return d.unexpected(b, i, "the end of the record")
	}
	return i
}

func (d *jsonCodec) reset() { d.err, d.path, d.short, d.null = nil, "", false, false }

// fault returns the error of the record in work.
func (d *jsonCodec) fault() *RecordError {
	return &RecordError{Column: d.path, Err: d.err}
}

// fail notes the fault of the record and returns -1, as the reading functions do
// then.
func (d *jsonCodec) fail(err *sqlerr.Error) int {
	d.err = err
	return -1
}

// cut notes that the input ends within a value.
func (d *jsonCodec) cut() int {
	d.short = true
	return d.fail(jsonError("The input string ended unexpectedly."))
}

// unexpected notes that something else than want stands at byte i.
func (d *jsonCodec) unexpected(b []byte, i int, want string) int {
	if i >= len(b) {
		return d.cut()
	}
	e := tokenEnd(b, i)
	d.short = e == len(b) // with more input it may be told in full
	return d.fail(jsonError(`Expected %s, but found "%s".`, want, clean(b[i:e])))
}

func jsonError(detail string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.InvalidTextRepresentation, "invalid input syntax for type json").
		WithDetail(detail, args...)
}

// token returns what stands at byte i, for messages.
func token(b []byte, i int) string { return clean(b[i:tokenEnd(b, i)]) }

func clean(b []byte) string { return string(bytes.ToValidUTF8(b, []byte("?"))) }

// tokenEnd returns the end of what stands at byte i, some twenty bytes at most.
func tokenEnd(b []byte, i int) int {
	const stops = `,:{}[]"`
	e := i + 1
	if strings.IndexByte(stops, b[i]) >= 0 {
		return e
	}
	for e < len(b) && e-i < 20 && !isSpace(b[e]) && strings.IndexByte(stops, b[e]) < 0 {
		e++
	}
	return e
}

var bom = []byte("\xef\xbb\xbf")

// skipBOM returns where the text of a file begins; ok is false if head is too
// short to tell.
func skipBOM(head []byte, final bool) (i int, ok bool) {
	if bytes.HasPrefix(head, bom) {
		return len(bom), true
	}
	return 0, final || len(head) >= len(bom) || !bytes.HasPrefix(bom, head)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

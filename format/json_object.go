package format

import (
	"encoding/binary"
	"strings"

	"github.com/streamsql/streamsql/sql/types"
)

// object finds the members that are wanted among those of a JSON object.
type object struct {
	fields []field
	exact  map[string]*field
	folded map[string]*field
	// guesses[k] is how member k began in the last object. Objects of one source
	// look alike: nearly always one comparison finds the member.
	guesses []guess
	rare    guess // of a member that is not remembered
}

type field struct {
	name string
	node *node
}

// guess is how a member began: the text from the end of the member before to the
// beginning of the value, as in `,"price":`.
type guess struct {
	text []byte
	// head is the text's first word, of the bytes in mask; tail is its last word
	// where it is longer.
	head, mask, tail uint64
	f                *field // nil: not wanted
	// inexact: the name differs from the field's in letter case.
	inexact bool
}

// at tells whether the text stands at byte i and returns the place behind it.
func (g *guess) at(b []byte, i int) (int, bool) {
	n := len(g.text)
	e := i + n
	if i+8 > len(b) || e > len(b) {
		return i, false // so near the end the slow way does no harm
	}
	if binary.LittleEndian.Uint64(b[i:])&g.mask != g.head {
		return i, false
	}
	if n <= 8 {
		return e, n > 0
	}
	if binary.LittleEndian.Uint64(b[e-8:e]) != g.tail {
		return i, false
	}
	return e, n <= 16 || string(b[i+8:e-8]) == string(g.text[8:n-8])
}

// set makes the guess of a text; g's memory is used again.
func (g *guess) set(text []byte) {
	g.text = append(g.text[:0], text...)
	var w [8]byte
	copy(w[:], text)
	g.head, g.mask, g.tail = binary.LittleEndian.Uint64(w[:]), ^uint64(0), 0
	if n := len(text); n < 8 {
		g.mask = 1<<(8*n) - 1
	} else {
		g.tail = binary.LittleEndian.Uint64(text[n-8:])
	}
}

// What is remembered of a huge object is bounded.
const (
	maxGuesses   = 512
	maxGuessText = 256
)

func (o *object) init(names []string, nodes []*node) {
	o.exact, o.folded = map[string]*field{}, map[string]*field{}
	o.fields = make([]field, len(names))
	for i, name := range names {
		f := &o.fields[i]
		f.name, f.node = name, nodes[i]
		if o.exact[name] == nil {
			o.exact[name] = f
		}
		// A name with capitals was quoted in SQL and is meant exactly.
		if l := strings.ToLower(name); l == name && o.folded[l] == nil {
			o.folded[l] = f
		}
		nodes[i].initObject()
	}
}

// initObject readies a struct, or the structs in an array. An unused struct has
// no fields that are wanted, but its members are skipped faster when guessed.
func (n *node) initObject() {
	for n.kind == kindList {
		n = n.kids[0]
	}
	if n.t.ID != types.Struct {
		return
	}
	n.obj = &object{}
	if n.kind == kindSkip {
		return
	}
	names := make([]string, len(n.kids))
	for k, f := range n.t.Fields {
		names[k] = f.Name
	}
	n.obj.init(names, n.kids)
}

func (o *object) find(key []byte) (f *field, inexact bool) {
	if f := o.exact[string(key)]; f != nil {
		return f, false
	}
	return o.folded[strings.ToLower(string(key))], true
}

// object reads the members from byte i, behind the opening brace, into row row
// of the fields' columns and returns the place behind the closing brace, or -1.
func (d *jsonCodec) object(o *object, b []byte, i, row int) int {
	for k := 0; ; k++ {
		var g *guess
		ok := false
		if k < len(o.guesses) {
			g = &o.guesses[k]
			i, ok = g.at(b, i)
		}
		if !ok {
			if i, g = d.member(o, b, i, k); g == nil {
				return i // the closing brace, or -1
			}
		}
		f := g.f
		switch {
		case i+4 < len(b) && string(b[i:i+4]) == "null" && delimiter(b[i+4]) && (f == nil || f.node.lacks(row)):
			i += 4
		case f == nil:
			i = d.skip(b, i, 0)
		case g.inexact:
			i = d.loose(f.node, b, i, row)
		case f.node.kind == kindSkip:
			i = d.pass(f.node, b, i, row)
		default:
			i = d.value(f.node, b, i, row)
		}
		if i < 0 {
			return d.within(f)
		}
		if i < len(b) && b[i] == '}' {
			return i + 1
		}
	}
}

// lacks tells whether nothing was read into the row: a null leaves it so.
func (n *node) lacks(row int) bool { return n.v.N <= row && n.seen <= row }

// loose is value for a member whose name has other letter case than the field.
func (d *jsonCodec) loose(n *node, b []byte, i, row int) int {
	switch {
	case n.kind == kindSkip:
		return d.pass(n, b, i, row)
	case n.v.N > row && n.loose != row+1:
		return d.skip(b, i, 0) // the member of the very name was there
	}
	i = d.value(n, b, i, row)
	n.loose = row + 1
	return i
}

// within adds the field's name to the path of a fault in its value.
func (d *jsonCodec) within(f *field) int {
	if f != nil && d.err.Message != malformed {
		if d.path != "" {
			d.path = "." + d.path
		}
		d.path = f.name + d.path
	}
	return -1
}

// pass skips the value of an unused column and notes whether there is one.
func (d *jsonCodec) pass(n *node, b []byte, i, row int) int {
	i = skipSpace(b, i)
	n.seen = row + 1
	if i < len(b) && b[i] == 'n' {
		n.seen = 0
	}
	if i < len(b) && b[i] == '{' && n.obj != nil {
		return d.object(n.obj, b, i+1, row)
	}
	return d.skip(b, i, 0)
}

// member reads the separator, name and colon of member k at byte i, and
// remembers them. It returns the place of the value with what is known of the
// member; behind the closing brace, and for a fault (-1), that is nil.
func (d *jsonCodec) member(o *object, b []byte, i, k int) (int, *guess) {
	start := i
	i = skipSpace(b, i)
	if i >= len(b) {
		return d.cut(), nil
	}
	switch {
	case b[i] == '}':
		return i + 1, nil
	case k == 0:
	case b[i] != ',':
		return d.unexpected(b, i, `"," or "}"`), nil
	default:
		i = skipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '"' {
		return d.unexpected(b, i, "string"), nil
	}
	keyAt := i + 1
	e, flags := scanString(b, keyAt)
	if e < 0 {
		return d.badString(flags), nil
	}
	key := b[keyAt:e]
	if flags != 0 {
		var ok bool
		if key, ok = d.text(b, keyAt, e, flags); !ok {
			return -1, nil
		}
	}
	i = skipSpace(b, e+1)
	if i >= len(b) || b[i] != ':' {
		return d.unexpected(b, i, `":"`), nil
	}
	i = skipSpace(b, i+1)
	g := &o.rare
	if k < maxGuesses && i-start <= maxGuessText {
		for len(o.guesses) <= k {
			o.guesses = append(o.guesses, guess{})
		}
		g = &o.guesses[k]
		g.set(b[start:i])
	}
	g.f, g.inexact = o.find(key)
	return i, g
}

package format

import "strings"

// object finds the members that are wanted among those of a JSON object.
type object struct {
	fields []field
	exact  map[string]*field
	folded map[string]*field
	// guesses[k] is how member k began in the last object. Objects of one source
	// look alike: nearly always one comparison finds the member.
	guesses []guess
}

type field struct {
	name string
	node *node
}

// guess is the text from the end of the member before to the beginning of the
// value: `,"price":`.
type guess struct {
	text []byte
	f    *field // nil: not wanted
	// inexact: the name differs from the field's in letter case.
	inexact bool
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
		if n := nodes[i]; n.kind == kindStruct {
			n.obj = &object{}
			kids := make([]string, len(n.kids))
			for k, kf := range n.t.Fields {
				kids[k] = kf.Name
			}
			n.obj.init(kids, n.kids)
		} else {
			n.initElems()
		}
	}
}

// initElems readies the structs in an array.
func (n *node) initElems() {
	for n.kind == kindList {
		n = n.kids[0]
	}
	if n.kind != kindStruct {
		return
	}
	names := make([]string, len(n.kids))
	for k, f := range n.t.Fields {
		names[k] = f.Name
	}
	n.obj = &object{}
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
		var g guess
		if k < len(o.guesses) {
			p := &o.guesses[k]
			if e := i + len(p.text); e <= len(b) && string(b[i:e]) == string(p.text) {
				i, g = e, *p
			} else if i, g = d.member(o, b, i, k); i < 0 {
				return -1
			}
		} else if i, g = d.member(o, b, i, k); i < 0 {
			return -1
		}
		if g.text == nil { // no member: the closing brace
			return i
		}
		f := g.f
		if f != nil && g.inexact && f.node.v.N > row {
			f = nil // the member of the very name was there
		}
		switch {
		case f == nil:
			i = d.skip(b, i, 0)
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
	return d.skip(b, i, 0)
}

// member reads the separator, name and colon of member k at byte i, and
// remembers them. It returns the place of the value, or behind the closing brace
// with an empty guess, or -1.
func (d *jsonCodec) member(o *object, b []byte, i, k int) (int, guess) {
	start := i
	i = skipSpace(b, i)
	if i >= len(b) {
		return d.cut(), guess{}
	}
	switch {
	case b[i] == '}':
		return i + 1, guess{}
	case k == 0:
	case b[i] != ',':
		return d.unexpected(b, i, `"," or "}"`), guess{}
	default:
		i = skipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '"' {
		return d.unexpected(b, i, "string"), guess{}
	}
	keyAt := i + 1
	e, flags := scanString(b, keyAt)
	if e < 0 {
		return d.badString(flags), guess{}
	}
	key := b[keyAt:e]
	if flags != 0 {
		var ok bool
		if key, ok = d.text(b, keyAt, e, flags); !ok {
			return -1, guess{}
		}
	}
	i = skipSpace(b, e+1)
	if i >= len(b) || b[i] != ':' {
		return d.unexpected(b, i, `":"`), guess{}
	}
	i = skipSpace(b, i+1)
	g := guess{text: b[start:i]}
	g.f, g.inexact = o.find(key)
	if k < maxGuesses && len(g.text) <= maxGuessText {
		for len(o.guesses) <= k {
			o.guesses = append(o.guesses, guess{})
		}
		p := &o.guesses[k]
		p.text = append(p.text[:0], g.text...)
		p.f, p.inexact = g.f, g.inexact
	}
	return i, g
}

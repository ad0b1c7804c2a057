package plan

// Desc is how a node shows itself in EXPLAIN: its name and what it does.
type Desc struct {
	Op    string
	Attrs []Attr
}

// Attr is one named property of a node.
type Attr struct{ Key, Value string }

// Tree is what printing needs of a node.
type Tree[N any] interface {
	Describe() Desc
	Children() []N
}

// With returns d with one more property, or d itself when value is empty.
func (d Desc) With(key, value string) Desc {
	if value == "" {
		return d
	}
	d.Attrs = append(d.Attrs[:len(d.Attrs):len(d.Attrs)], Attr{key, value})
	return d
}

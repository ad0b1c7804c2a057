package scalar

// JSONElements returns the elements of an array.
func JSONElements(s string) []string {
	var out []string
	elements(s, func(v string) bool {
		out = append(out, v)
		return true
	})
	return out
}

// JSONMember is a member of an object.
type JSONMember struct{ Key, Value string }

// JSONMembers returns the members of an object in the order of its text.
func JSONMembers(s string) []JSONMember {
	var out []JSONMember
	members(s, func(key, v string) bool {
		out = append(out, JSONMember{string(appendUnquoted(nil, key)), v})
		return true
	})
	return out
}

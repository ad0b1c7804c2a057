package catalog

import (
	"strings"
)

// Lookup answers questions about names and oids, as functions like
// pg_get_userbyid and casts to regclass ask them. It implements
// expr.CatalogLookup.
type Lookup struct {
	snap  *Snapshot
	user  string
	procs []pgProc
}

// NewLookup returns the look-ups of a session's view of the catalog.
func NewLookup(snap *Snapshot, user string, functions *FunctionSet) *Lookup {
	return &Lookup{snap: snap, user: user, procs: functions.procs}
}

// OIDOf returns the oid of a name in one of the kinds "class", "type", "proc",
// "namespace", "role". The name may be qualified and quoted.
func (l *Lookup) OIDOf(kind, name string) (uint32, bool) {
	parts, ok := splitName(name)
	if !ok {
		return 0, false
	}
	schema, bare := "", parts[len(parts)-1]
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	switch kind {
	case "class":
		return l.classOID(schema, bare)
	case "type":
		return l.typeOID(schema, bare)
	case "proc":
		for _, p := range l.procs {
			if p.name == bare && (schema == "" || schema == SchemaPGCatalog) {
				return p.oid, true
			}
		}
	case "namespace":
		oid, ok := namespaceOIDs[bare]
		return oid, ok
	case "role":
		return ownerOID, bare == l.user
	}
	return 0, false
}

func (l *Lookup) classOID(schema, name string) (uint32, bool) {
	if o := l.snap.Get(schema, name); o != nil && o.Relation() {
		return o.ID.OID(), true
	}
	for _, o := range l.snap.Objects(KindTable) {
		if hasKeyIndex(o) && o.KeyName() == name && (schema == "" || schema == o.Name.Schema) {
			return o.ID.indexOID(), true
		}
	}
	return 0, false
}

func (l *Lookup) typeOID(schema, name string) (uint32, bool) {
	if schema == "" || schema == SchemaPGCatalog {
		for i := range l.snap.sys.types {
			if t := &l.snap.sys.types[i]; t.name == name {
				return t.oid, true
			}
		}
	}
	elem, isArray := strings.CutPrefix(name, "_")
	for _, n := range []string{name, elem} {
		o := l.snap.Get(schema, n)
		if o == nil || !o.Relation() || o.Kind == KindSystem {
			continue
		}
		if n == name {
			return o.ID.rowTypeOID(), true
		}
		if isArray {
			return o.ID.arrayTypeOID(), true
		}
	}
	return 0, false
}

// NameOf is the reverse of OIDOf; schema-qualified where the search path does
// not show the name. Names that need it are quoted.
func (l *Lookup) NameOf(kind string, oid uint32) (string, bool) {
	switch kind {
	case "class", "type":
		if kind == "type" {
			if t := l.snap.sys.typeByOID(oid); t != nil {
				return t.name, true
			}
		}
		o, name := l.member(oid)
		if o == nil {
			return "", false
		}
		return l.qualified(o, name), true
	case "proc":
		for _, p := range l.procs {
			if p.oid == oid {
				return p.name, true
			}
		}
	case "namespace":
		for n, o := range namespaceOIDs {
			if o == oid {
				return n, true
			}
		}
	case "role":
		if oid == ownerOID {
			return l.user, true
		}
	}
	return "", false
}

// member returns the relation that an oid belongs to and the name of what the
// oid stands for: the relation, its row type, its array type, its index.
func (l *Lookup) member(oid uint32) (*Object, string) {
	if o := l.snap.sys.byID[ObjectID(oid)|systemBit]; o != nil {
		return o, o.Name.Name
	}
	id, _, ok := IDOfOID(oid)
	if !ok {
		return nil, ""
	}
	o := l.snap.ByID(id)
	if o == nil || !o.Relation() {
		return nil, ""
	}
	switch oid {
	case id.OID(), id.rowTypeOID(), id.ruleOID():
		return o, o.Name.Name
	case id.arrayTypeOID():
		return o, "_" + o.Name.Name
	case id.indexOID(), id.constraintOID():
		if hasKeyIndex(o) {
			return o, o.KeyName()
		}
	}
	return nil, ""
}

func (l *Lookup) qualified(o *Object, name string) string {
	if l.snap.visible(o) {
		return QuoteIdent(name)
	}
	return QuoteIdent(o.Name.Schema) + "." + QuoteIdent(name)
}

// Visible tells whether the object is found by its bare name.
func (l *Lookup) Visible(kind string, oid uint32) bool {
	switch kind {
	case "class", "type":
		if kind == "type" && l.snap.sys.typeByOID(oid) != nil {
			return true
		}
		o, _ := l.member(oid)
		return o != nil && l.snap.visible(o)
	case "proc":
		_, ok := l.NameOf(kind, oid)
		return ok
	}
	return false
}

// Definition returns the SQL of a view, an index, a constraint or a rule by
// oid; of anything else (kind "class") the statement that made it.
func (l *Lookup) Definition(kind string, oid uint32) (string, bool) {
	o, _ := l.member(oid)
	if o == nil {
		return "", false
	}
	switch kind {
	case "view", "rule":
		if o.Query == "" {
			return "", false
		}
		return " " + o.Query + ";", true
	case "index":
		if oid == o.ID.indexOID() {
			return indexDefinition(o), true
		}
	case "constraint":
		if oid == o.ID.constraintOID() {
			return "PRIMARY KEY (" + quotedList(o.keyNames()) + ")", true
		}
	case "class":
		return o.SQL, o.SQL != ""
	}
	return "", false
}

func indexDefinition(o *Object) string {
	return "CREATE UNIQUE INDEX " + QuoteIdent(o.KeyName()) + " ON " + QuoteIdent(o.Name.Schema) + "." +
		QuoteIdent(o.Name.Name) + " USING btree (" + quotedList(o.keyNames()) + ")"
}

func quotedList(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = QuoteIdent(n)
	}
	return strings.Join(q, ", ")
}

// QuoteIdent returns name as it must be written in SQL.
func QuoteIdent(name string) string {
	plain := name != ""
	for i := 0; i < len(name) && plain; i++ {
		c := name[i]
		plain = c >= 'a' && c <= 'z' || c == '_' || i > 0 && (c >= '0' && c <= '9' || c == '$')
	}
	if plain && !reserved[name] {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// splitName cuts a dotted name; parts are folded unless quoted.
func splitName(s string) (parts []string, ok bool) {
	for {
		var part string
		s = strings.TrimSpace(s)
		if strings.HasPrefix(s, `"`) {
			end := 1
			for {
				i := strings.IndexByte(s[end:], '"')
				if i < 0 {
					return nil, false
				}
				end += i + 1
				if end < len(s) && s[end] == '"' {
					end++
					continue
				}
				break
			}
			part, s = strings.ReplaceAll(s[1:end-1], `""`, `"`), s[end:]
		} else {
			i := strings.IndexByte(s, '.')
			if i < 0 {
				i = len(s)
			}
			part, s = strings.ToLower(strings.TrimSpace(s[:i])), s[i:]
		}
		if part == "" {
			return nil, false
		}
		parts = append(parts, part)
		s = strings.TrimSpace(s)
		if s == "" {
			return parts, true
		}
		if s[0] != '.' {
			return nil, false
		}
		s = s[1:]
	}
}

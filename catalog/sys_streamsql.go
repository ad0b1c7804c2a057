package catalog

import (
	"sort"
	"strings"
)

// firstStreamsqlOID is where the oids of schema streamsql's relations begin.
const firstStreamsqlOID = 15000

// ownRelation declares a relation of schema streamsql: "column type[!]" each.
type ownRelation struct {
	name string
	cols []string
}

// ownRelations are the relations of schema streamsql. Their oids follow from
// their places: append only.
var ownRelations = []ownRelation{
	{"objects", []string{"id int8!", "schema name!", "name name!", "kind text!", "depends_on _text!", "sql text!",
		"comment text"}},
	{"sources", []string{"id int8!", "schema name!", "name name!", "connector text!", "format text", "encode text",
		"watermark_column name", "watermark text", "options json!", "sql text!"}},
	{"tables", []string{"id int8!", "schema name!", "name name!", "primary_key _text!", "append_only bool!",
		"connector text", "sql text!"}},
	{"views", []string{"id int8!", "schema name!", "name name!", "definition text!", "sql text!"}},
	{"materialized_views", []string{"id int8!", "schema name!", "name name!", "stream_key _text!",
		"append_only bool!", "definition text!", "options json!", "sql text!"}},
	{"sinks", []string{"id int8!", "schema name!", "name name!", "connector text!", "format text", "encode text",
		"definition text", "options json!", "sql text!"}},
	{"flows", []string{"id int8!", "schema name!", "name name!", "sink name!", "definition text!", "options json!",
		"sql text!"}},
	{"settings", []string{"name text!", "value text!", "reset_value text!", "description text!"}},
	{"queries", []string{"id int8!", "schema name!", "name name!", "kind text!", "state text!", "trigger text",
		"output_mode text", "pool text", "epoch int8", "watermark timestamptz", "started_at timestamptz",
		"restarts int8!", "rows_in int8!", "rows_out int8!", "late_rows int8!", "bad_rows int8!",
		"failed_rows int8!", "dead_letters int8!", "state_bytes int8!", "error_code text", "error text"}},
	{"progress", []string{"query_id int8!", "query name!", "run text!", "epoch int8!", "at timestamptz!", "idle bool!",
		"rows_in int8!", "bad_rows int8!", "dead_letters int8!", "rows_out int8!", "input_rows_per_second float8",
		"processed_rows_per_second float8!", "duration_ms float8!", "look_ms float8!", "work_ms float8!",
		"store_ms float8!", "deliver_ms float8!", "watermark timestamptz", "progress json!"}},
	{"operators", []string{"query_id int8!", "query name!", "operator int8!", "name text!", "rows_in int8!",
		"rows_out int8!", "late_rows int8!", "partly_late_rows int8!", "null_time_rows int8!",
		"duplicate_rows int8!", "failed_rows int8!", "dead_letters int8!", "state_rows int8!",
		"state_bytes int8!"}},
	{"splits", []string{"query_id int8!", "query name!", "source text!", "split text!", "\"offset\" text",
		"name text", "latest text", "lag int8", "held_back int8", "looked_at timestamptz"}},
	{"watermarks", []string{"query_id int8!", "query name!", "operator text!", "split text", "watermark timestamptz!"}},
	{"state", []string{"query_id int8!", "query name!", "operator int8!", "name text!", "rows int8!", "bytes int8!"}},
	{"bad_rows", []string{"query_id int8!", "query name!", "source text!", "split text!", "\"offset\" text!",
		"at timestamptz!", "reason text!", "bytes bytea", "code text"}},
	{"late_rows", []string{"query_id int8!", "query name!", "operator_id int8!", "operator text!", "at timestamptz!",
		"reason text!", "event_time timestamptz", "watermark timestamptz", "split text", "\"offset\" text",
		"end_offset text", "op text!", "\"row\" json!"}},
	{"failed_rows", []string{"query_id int8!", "query name!", "operator text!", "at timestamptz!", "op text!",
		"code text!", "error text!", "\"row\" text!"}},
	{"checkpoints", []string{"query_id int8!", "query name!", "epoch int8!", "plan text!", "finished bool!",
		"offsets json!", "watermarks json!"}},
	{"savepoints", []string{"name name!", "query_id int8!", "query name!", "kind text!", "epoch int8!",
		"created_at timestamptz!", "bytes int8!", "offsets json!", "definition text!"}},
	{"pools", []string{"name text!", "queries int8!", "running int8!"}},
	{"sessions", []string{"pid int4!", "\"user\" name!", "database name!", "application text!", "client text",
		"state text!", "query text!", "started_at timestamptz!"}},
	{"reads", []string{"query_id int8!", "query name!", "source text!", "name text!", "rows_in int8!",
		"bad_rows int8!", "dead_letters int8!", "lost_offsets int8!"}},
}

// OwnRelations returns the names of the relations of schema streamsql with those of
// their columns, in the order in which they are numbered.
func OwnRelations() (names []string, columns map[string][]string) {
	columns = map[string][]string{}
	for _, r := range ownRelations {
		names = append(names, r.name)
		for _, c := range r.cols {
			name, _, _ := strings.Cut(c, " ")
			columns[r.name] = append(columns[r.name], strings.Trim(name, `"`))
		}
	}
	return names, columns
}

func (s *System) addStreamsql() {
	for i, r := range ownRelations {
		o := &Object{ID: ObjectID(firstStreamsqlOID+i) | systemBit, Name: Name{SchemaStreamsql, r.name},
			Kind: KindSystem}
		for _, c := range r.cols {
			name, typ, _ := strings.Cut(c, " ")
			typ, notNull := strings.CutSuffix(typ, "!")
			t, _ := systemType(typ)
			o.Columns = append(o.Columns, Column{Name: strings.Trim(name, `"`), Type: t, NotNull: notNull})
		}
		s.add(o, true)
	}
}

// streamsqlRows adds the relations of schema streamsql that the catalog and the
// session fill.
func streamsqlRows(m map[Name]rowsFunc) {
	for name, fn := range map[string]rowsFunc{
		"objects":            ownObjects,
		"sources":            ownSources,
		"tables":             ownTables,
		"views":              ownViews,
		"materialized_views": ownMaterializedViews,
		"sinks":              ownSinks,
		"flows":              ownFlows,
		"settings":           ownSettings,
		"sessions":           ownSessions,
	} {
		m[Name{SchemaStreamsql, name}] = fn
	}
}

func ownObjects(c *SystemContext, r *Rows) error {
	for _, o := range c.Catalog.Objects() {
		v := c.ownRow(o)
		delete(v, "options")
		v["kind"], v["comment"] = o.Kind.String(), orNull(o.Comment)
		on := []string{}
		for _, d := range o.uses() {
			if d := c.Catalog.ByID(d); d != nil {
				on = append(on, d.Name.String())
			}
		}
		v["depends_on"] = on
		r.Row(v)
	}
	return nil
}

func ownSources(c *SystemContext, r *Rows) error {
	for _, o := range c.Catalog.Objects(KindSource) {
		v := c.ownRow(o)
		v["connector"], v["format"], v["encode"] = o.Options["connector"], orNull(o.Format), orNull(o.Encode)
		if o.Watermark != nil {
			v["watermark_column"], v["watermark"] = o.Watermark.Column, o.Watermark.Expr
		}
		r.Row(v)
	}
	return nil
}

func ownTables(c *SystemContext, r *Rows) error {
	for _, o := range c.Catalog.Objects(KindTable) {
		v := c.ownRow(o)
		delete(v, "options")
		v["primary_key"], v["append_only"], v["connector"] = o.keyNames(), o.AppendOnly, orNull(o.Options["connector"])
		r.Row(v)
	}
	return nil
}

func ownViews(c *SystemContext, r *Rows) error {
	for _, o := range c.Catalog.Objects(KindView) {
		v := c.ownRow(o)
		delete(v, "options")
		v["definition"] = o.Query
		r.Row(v)
	}
	return nil
}

func ownMaterializedViews(c *SystemContext, r *Rows) error {
	for _, o := range c.Catalog.Objects(KindMaterializedView) {
		v := c.ownRow(o)
		v["stream_key"], v["append_only"], v["definition"] = o.keyNames(), o.AppendOnly, o.Query
		r.Row(v)
	}
	return nil
}

func ownSinks(c *SystemContext, r *Rows) error {
	for _, o := range c.Catalog.Objects(KindSink) {
		v := c.ownRow(o)
		v["connector"], v["format"], v["encode"] = o.Options["connector"], orNull(o.Format), orNull(o.Encode)
		v["definition"] = orNull(o.Query)
		r.Row(v)
	}
	return nil
}

func ownFlows(c *SystemContext, r *Rows) error {
	for _, o := range c.Catalog.Objects(KindFlow) {
		v := c.ownRow(o)
		v["definition"] = o.Query
		if sink := c.Catalog.ByID(o.Into); sink != nil {
			v["sink"] = sink.Name.Name
		}
		r.Row(v)
	}
	return nil
}

func ownSettings(c *SystemContext, r *Rows) error {
	for _, s := range c.Settings {
		r.Row(Vals{"name": s.Name, "value": s.Value, "reset_value": s.Reset, "description": s.Description})
	}
	return nil
}

func ownSessions(c *SystemContext, r *Rows) error {
	for _, s := range c.Sessions {
		r.Row(Vals{"pid": s.PID, "user": s.User, "database": s.Database, "application": s.Application,
			"client": orNull(s.ClientAddr), "state": s.State, "query": s.Query, "started_at": s.Started})
	}
	return nil
}

// ownRow holds what the relations about objects have in common.
func (c *SystemContext) ownRow(o *Object) Vals {
	return Vals{"id": int64(o.ID), "schema": o.Name.Schema, "name": o.Name.Name, "sql": o.SQL,
		"options": optionsJSON(o.Options)}
}

// keyNames are the names of the key's columns, none for a hidden key.
func (o *Object) keyNames() []string {
	if hiddenKey(o) {
		return []string{}
	}
	out := make([]string, 0, len(o.Key))
	for _, k := range o.Key {
		out = append(out, o.Columns[k].Name)
	}
	return out
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// SecretOption tells whether an option's value must not be shown.
func SecretOption(name string) bool {
	for _, w := range []string{"password", "secret", "token", "private_key", "ssl_key", "jaas"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// hidden stands where a secret is.
const hidden = "********"

// Shown returns an option's value as it may be shown: a secret is hidden, and so is the
// password in a URL.
func Shown(name, value string) string {
	if SecretOption(name) {
		return hidden
	}
	scheme, rest, ok := strings.Cut(value, "://")
	if !ok {
		return value
	}
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		at = strings.LastIndexByte(rest, '@') // a password with a slash that should have been escaped
	}
	colon := strings.IndexByte(rest[:max(at, 0)], ':')
	if colon < 0 {
		return value
	}
	return scheme + "://" + rest[:colon+1] + hidden + rest[at:]
}

func optionsJSON(options map[string]string) string {
	names := make([]string, 0, len(options))
	for n := range options {
		names = append(names, n)
	}
	sort.Strings(names)
	var b strings.Builder
	b.WriteByte('{')
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.Write(quoteJSON(n))
		b.WriteString(": ")
		b.Write(quoteJSON(Shown(n, options[n])))
	}
	return b.String() + "}"
}

// StreamsqlColumns returns the columns of a relation of schema streamsql, nil if
// there is none of that name.
func StreamsqlColumns(name string) []Column {
	s, err := loadSystem()
	if err != nil {
		return nil
	}
	if o := s.byName[Name{SchemaStreamsql, name}]; o != nil {
		return o.Columns
	}
	return nil
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// wantError compares an error's code and tells whether its texts hold want.
func wantError(t *testing.T, what string, err error, code sqlerr.Code, want ...string) {
	t.Helper()
	e := sqlerr.From(err)
	if e == nil || e.Code != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
		return
	}
	text := e.Error() + "\n" + e.Detail + "\n" + e.Hint
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s:\n%s\ndoes not hold %q", what, text, w)
		}
	}
}

// TestRefusedRows: a row that the table does not take ends the query with an error that
// names it, and none of its epoch is there; once the table takes it, the epoch is.
func TestRefusedRows(t *testing.T) {
	for _, c := range []struct {
		table, format string
		columns       []string
		rows          []string
		code          sqlerr.Code
		want, mend    string
	}{
		{"id int, v int NOT NULL", formatPlain, []string{"id int", "v int"}, []string{"+1|1", "+2|NULL", "+3|3"}, sqlerr.NotNullViolation,
			`null value in column "v"`, "ALTER TABLE t ALTER v DROP NOT NULL"},
		{"id int, v int CONSTRAINT positive CHECK (v > 0)", formatPlain, []string{"id int", "v int"}, []string{"+1|1", "+2|-5"},
			sqlerr.CheckViolation, `"positive"`, "ALTER TABLE t DROP CONSTRAINT positive"},
		{"id int PRIMARY KEY, v int", formatPlain, []string{"id int", "v int"}, []string{"+1|1", "+1|2"}, sqlerr.UniqueViolation,
			"Key (id)=(1) already exists", "ALTER TABLE t DROP CONSTRAINT t_pkey"},
		{"id int, v numeric(4,1)", formatPlain, []string{"id int", "v numeric"}, []string{"+1|1", "+2|77777.7", "+3|3"},
			sqlerr.NumericValueOutOfRange, `Row: {"id": 2, "v": 77777.7}`, "ALTER TABLE t ALTER v TYPE numeric"},
		{"id int, v varchar(2)", formatPlain, []string{"id int", "v text"}, []string{"+1|ab", "+2|abc"}, sqlerr.StringRightTruncation,
			`Row: {"id": 2, "v": "abc"}`, "ALTER TABLE t ALTER v TYPE text"},
		{"id int, v smallint", formatPlain, []string{"id int", "v int"}, []string{"+1|1", "+2|2", "+3|70000", "+4|4"},
			sqlerr.NumericValueOutOfRange, `Row: {"id": 3, "v": 70000}`, "ALTER TABLE t ALTER v TYPE int"},
		{"id int PRIMARY KEY, v smallint", formatUpsert, []string{"id int", "v int"}, []string{"+1|1", "+2|2", "-1|1", "+3|70000", "+4|4"},
			sqlerr.NumericValueOutOfRange, `Row: {"id": 3, "v": 70000}`, "ALTER TABLE t ALTER v TYPE int"},
		{"id int PRIMARY KEY, v int UNIQUE", formatUpsert, []string{"id int", "v int"}, []string{"+1|1", "+2|1"},
			sqlerr.UniqueViolation, "Key (v)=(1) already exists", "ALTER TABLE t DROP CONSTRAINT t_v_key"},
		{"id int, v jsonb", formatPlain, []string{"id int", "v json"}, []string{"+1|1", `+2|"\u0000"`}, "22P05",
			`Row: {"id": 2, "v": "\u0000"}`, "ALTER TABLE t ALTER v TYPE json"},
	} {
		t.Run(strings.ReplaceAll(c.table, " ", "_")+"_"+c.format, func(t *testing.T) {
			p := newPlace(t)
			p.run("CREATE TABLE t (" + c.table + ")")
			s := p.spec(c.format, c.columns, []int{0})
			k, w := p.open(s, 0)
			epoch(t, k, w, 1, "+100|50")
			parts := prepare(t, w, 2, batch(t, s, c.rows...))
			err := k.Commit(t.Context(), 2, parts)
			wantError(t, "commit", err, c.code, `writing epoch 2 to table "`+p.schema+`.t" failed`, c.want, "RESTART")
			if !sqlerr.From(err).Permanent {
				t.Error("it would be tried again")
			}
			p.same("after the refusal", "SELECT count(*) FROM t", "1")
			p.same("progress", "SELECT epoch FROM streamsql_sinks", "1")
			p.run(c.mend)
			if err := k.Commit(t.Context(), 2, parts); err != nil {
				t.Error(err)
			}
			p.same("progress", "SELECT epoch FROM streamsql_sinks", "2")
		})
	}
}

// TestRefusedBefore: what can be seen of a row before its epoch is complete is refused
// then.
func TestRefusedBefore(t *testing.T) {
	p := newPlace(t)
	p.run("CREATE TABLE t (id int PRIMARY KEY, v text, a text[])")
	s := p.spec(formatUpsert, []string{"id int", "v text", "a text[]"}, []int{0})
	_, w := p.open(s, 0)
	wantError(t, "NULL key", w.Write(t.Context(), batch(t, s, "+1|a|{}", "+NULL|b|{}")), sqlerr.NotNullViolation,
		`NULL in key column "id"`, `Row: {"id": null, "v": "b", "a": []}`, "NULLS NOT DISTINCT")
	b := batch(t, s, "+1|abc|{x}", "+2|def|{x,y}")
	b.Cols[1].Data[4] = 0
	wantError(t, "zero byte", w.Write(t.Context(), b), sqlerr.CharacterNotInRepertoire, `column "v"`, `"id": 2`)
	b = batch(t, s, "+1|abc|{x}", "+2|def|{x,y}")
	b.Cols[2].Kids[0].Data[2] = 0
	wantError(t, "zero byte", w.Write(t.Context(), b), sqlerr.CharacterNotInRepertoire, `column "a"`, `"id": 2`)

	s = p.spec(formatUpsert, []string{"id int", "v text"}, []int{0})
	s.Identity = "dir-3"
	k, w := p.open(s, 0)
	k.cfg.outbox = 100
	big := strings.Repeat("x", 200)
	if err := w.Write(t.Context(), batch(t, s, "+1|"+big)); err != nil {
		t.Fatal(err)
	}
	_, err := w.Prepare(t.Context(), 1)
	wantError(t, "outbox", err, sqlerr.ProgramLimitExceeded, "outbox_max_bytes", "100 bytes")
}

// TestCheck: what does not fit the table is refused at CREATE, and nothing is left
// behind.
func TestCheck(t *testing.T) {
	p := newPlace(t)
	p.run(`CREATE TABLE t (id int PRIMARY KEY, name varchar(10), n numeric(10,2), g int GENERATED ALWAYS AS (id + 1) STORED,
			auto int GENERATED ALWAYS AS IDENTITY, made timestamptz NOT NULL DEFAULT now());
		CREATE TABLE strict (id int, other int NOT NULL); CREATE VIEW v AS SELECT 1 AS id; CREATE SEQUENCE seq;
		CREATE TABLE parts (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
		CREATE TABLE part (id int, ok bool); CREATE UNIQUE INDEX ON part (id) WHERE ok`)
	plain, upsert := formatPlain, formatUpsert
	for _, c := range []struct {
		what, format string
		columns      []string
		key          []int
		options      []string
		code         sqlerr.Code
		want         []string
	}{
		{"ok", plain, []string{"id int", "name text"}, nil, nil, "", nil},
		{"ok upsert", upsert, []string{"name text", "id int"}, []int{1}, nil, "", nil},
		{"ok partitions", upsert, []string{"id int", "day date"}, []int{0, 1}, []string{"table", "parts"}, "", nil},
		{"ok named key", upsert, []string{"id int"}, []int{}, []string{"key", "id"}, "", nil},
		{"ok create", upsert, []string{"id int"}, []int{0}, []string{"table", "fresh", "create_table", "on"}, "", nil},
		{"table", plain, []string{"id int"}, nil, []string{"table", "stric"}, sqlerr.UndefinedTable,
			[]string{p.schema + `.stric" does not exist in database "postgres" at 127.0.0.1:`, `"strict"`}},
		{"schema", plain, []string{"id int"}, nil, []string{"schema", "nowhere"}, sqlerr.InvalidSchemaName, []string{`"nowhere"`}},
		{"no table", plain, []string{"id int"}, nil, []string{"table", "seq"}, sqlerr.WrongObjectType, []string{"not a table"}},
		{"column", plain, []string{"id int", "nam text"}, nil, nil, sqlerr.UndefinedColumn, []string{`"nam" of sink`, `"name"`}},
		{"far column", plain, []string{"zzzzzzzz int"}, nil, nil, sqlerr.UndefinedColumn, []string{"id, name, n, g, auto, made"}},
		{"generated", plain, []string{"id int", "g int"}, nil, nil, sqlerr.FeatureNotSupported, []string{`"g"`, "Leave it out"}},
		{"identity", plain, []string{"id int", "auto int"}, nil, nil, sqlerr.FeatureNotSupported, []string{`"auto"`}},
		{"not null", plain, []string{"id int"}, nil, []string{"table", "strict"}, sqlerr.NotNullViolation, []string{`"other"`}},
		{"type", plain, []string{"id boolean"}, nil, nil, sqlerr.DatatypeMismatch,
			[]string{`column "id" is of type integer but expression is of type boolean`}},
		{"type number", plain, []string{"id text"}, nil, nil, sqlerr.DatatypeMismatch, []string{`column "id" is of type integer`}},
		{"no index", upsert, []string{"name text", "id int"}, []int{0}, nil, sqlerr.InvalidColumnReference,
			[]string{"no unique index on the key (name)", "CREATE UNIQUE INDEX"}},
		{"partial index", upsert, []string{"id int"}, []int{0}, []string{"table", "part"}, sqlerr.InvalidColumnReference, nil},
		{"part of a key", upsert, []string{"id int", "day date"}, []int{0}, []string{"table", "parts"}, sqlerr.InvalidColumnReference, nil},
		{"key type", upsert, []string{"id bigint"}, []int{0}, nil, sqlerr.DatatypeMismatch, []string{`key column "id" is bigint`}},
		{"view", upsert, []string{"id int"}, []int{0}, []string{"table", "v"}, sqlerr.WrongObjectType, []string{"view"}},
		{"view insert", plain, []string{"id int"}, nil, []string{"table", "v"}, sqlerr.ObjectNotInState, []string{"cannot insert into view"}},
		{"no key", upsert, []string{"id int"}, nil, nil, sqlerr.InvalidTableDefinition, []string{"needs a key"}},
		{"single row", upsert, []string{"id int"}, []int{}, nil, sqlerr.InvalidTableDefinition, []string{"SELECT 1 AS id"}},
		{"unknown key", upsert, []string{"id int"}, []int{0}, []string{"key", "idd"}, sqlerr.UndefinedColumn, []string{`"id"`}},
		{"small key", upsert, []string{"id int", "name text"}, []int{0, 1}, []string{"key", "id"}, sqlerr.InvalidTableDefinition,
			[]string{`lacks column "name"`}},
		{"debezium", "debezium", []string{"id int"}, nil, nil, sqlerr.InvalidParameterValue, []string{"PLAIN, UPSERT"}},
		{"key of plain", plain, []string{"id int"}, nil, []string{"key", "id"}, sqlerr.InvalidParameterValue, []string{`"key" needs`}},
		{"unknown option", plain, []string{"id int"}, nil, []string{"tabel", "x"}, sqlerr.InvalidParameterValue, []string{`"table"`}},
		{"outbox", plain, []string{"id int"}, nil, []string{"delivery", "at_least_once", "outbox_max_bytes", "1GB"},
			sqlerr.InvalidParameterValue, []string{"exactly_once"}},
		{"TLS", plain, []string{"id int"}, nil, []string{"url", strings.Replace(p.url, "disable", "require", 1)},
			sqlerr.ConnectionFailure, []string{"server refused TLS connection", "sslmode = 'disable'"}},
		{"database", plain, []string{"id int"}, nil, []string{"url", strings.Replace(p.url, "/postgres?", "/nowhere?", 1)},
			sqlerr.InvalidCatalogName, []string{`database "nowhere" does not exist`}},
	} {
		t.Run(strings.ReplaceAll(c.what, " ", "_"), func(t *testing.T) {
			s := p.spec(c.format, c.columns, c.key, c.options...)
			err := Factory().CheckSink(t.Context(), s)
			if c.code == "" && err != nil {
				t.Error(err, sqlerr.From(err).Detail)
			} else if c.code != "" {
				wantError(t, "check", err, c.code, c.want...)
			}
		})
	}
	p.same("tables", "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace("+literal(p.schema)+
		") AND relname IN ('fresh', 'streamsql_sinks')", "0")
	changing := p.spec(plain, []string{"id int"}, []int{0})
	changing.AppendOnly = false
	wantError(t, "changes", Factory().CheckSink(t.Context(), changing), sqlerr.FeatureNotSupported, "FORMAT UPSERT", "output_mode")
}

// TestRights: what the user may not do is said at CREATE.
func TestRights(t *testing.T) {
	p := newPlace(t)
	user := p.schema + "_user"
	p.run("CREATE ROLE " + user + " LOGIN; GRANT USAGE ON SCHEMA " + p.schema + " TO " + user +
		"; CREATE TABLE t (id int PRIMARY KEY)")
	t.Cleanup(func() {
		if err := run(context.Background(), p.pg, "DROP OWNED BY "+user+"; DROP ROLE "+user); err != nil {
			t.Error(err)
		}
	})
	s := p.spec(formatUpsert, []string{"id int"}, []int{0}, "url", strings.Replace(p.url, "postgres@", user+"@", 1))
	s.AppendOnly = false
	check := func(what string, want ...string) {
		t.Helper()
		wantError(t, what, Factory().CheckSink(t.Context(), s), sqlerr.InsufficientPrivilege, want...)
	}
	check("nothing", "permission denied for table t", "GRANT SELECT, INSERT, UPDATE, DELETE ON")
	p.run("GRANT SELECT, INSERT, UPDATE ON t TO " + user)
	check("no DELETE", "permission denied for table t")
	p.run("GRANT DELETE ON t TO " + user)
	check("no progress", "streamsql_sinks", "GRANT CREATE ON SCHEMA", "CREATE TABLE IF NOT EXISTS")
	p.run((&config{schema: p.schema}).createProgress())
	check("no right to it", "GRANT SELECT, INSERT, UPDATE ON")
	p.run("GRANT SELECT, INSERT, UPDATE ON streamsql_sinks TO " + user)
	if err := Factory().CheckSink(t.Context(), s); err != nil {
		t.Error(err)
	}
	k, w := p.open(s, 0)
	epoch(t, k, w, 1, "+1", "+2", "-1")
	p.same("rows", "SELECT id FROM t", "2")
}

// TestURL reads the forms of an address.
func TestURL(t *testing.T) {
	for raw, want := range map[string]string{
		"postgres://u@h/d":   "u||h|5432|d|",
		"postgresql://u:p@h": "u|p|h|5432||",
		"postgres://u%40:p%2Fw%3A@h:1,[::1]:2/d?sslmode=require": "u@|p/w:|h,::1|1,2|d|require",
		"http://u@h/d":                     "!postgres://user@host:5432/database",
		"postgres://u@h:x/d":               "!postgres://user@host:5432/database",
		"postgres://u@/d":                  "!postgres://user@host:5432/database",
		"postgres://u@h/d?sslmod=x":        "!sslmode",
		"postgres://u@h/d?password=geheim": "!stands before the host",
		"postgres://u:%zz@h/d":             "!hexadecimal",
	} {
		set := map[string]string{}
		fault := parseURL(raw, set)
		got := strings.Join([]string{set["user"], set["password"], set["host"], set["port"], set["dbname"], set["sslmode"]}, "|")
		if w, bad := strings.CutPrefix(want, "!"); bad {
			if !strings.Contains(fault, w) || strings.Contains(fault, "geheim") {
				t.Errorf("%s: %q", raw, fault)
			}
		} else if fault != "" || got != want {
			t.Errorf("%s: %q, %q", raw, got, fault)
		}
	}
	t.Setenv("PGUSER", "other")
	t.Setenv("PGHOST", "elsewhere")
	t.Setenv("PGPASSWORD", "geheim")
	t.Setenv("PGOPTIONS", "-c geqo=off")
	c, err := read(&connector.Spec{Name: "s", Options: map[string]string{"host": "h", "user": "u", "table": "t"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s %s %q %s %v", c.server.Host, c.server.User, c.server.Password, c.server.Database,
		c.server.RuntimeParams); got != `h u "" u map[application_name:streamsql sink s]` {
		t.Errorf("the environment has a say: %s", got)
	}
}

// TestAwayAtCreate: a server that is not there is an error at CREATE, and the check can
// be cancelled.
func TestAwayAtCreate(t *testing.T) {
	s := &connector.Spec{Name: "s", AppendOnly: true, Columns: []connector.Column{{Name: "a", Type: types.TInt4}},
		Options: map[string]string{"host": "127.0.0.1", "port": "1", "user": "u", "password": "geheim", "table": "t"}}
	err := Factory().CheckSink(t.Context(), s)
	wantError(t, "away", err, sqlerr.ConnectionFailure, "127.0.0.1:1: ", "connection refused", "the server must be there")
	if strings.Contains(err.Error(), "geheim") {
		t.Error("the password is shown")
	}
	s.Options["host"] = "192.0.2.1" // nobody answers there
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = Factory().CheckSink(ctx, s)
	if !errors.Is(err, context.DeadlineExceeded) && sqlerr.CodeOf(err) != sqlerr.ConnectionFailure {
		t.Error(err)
	}
}

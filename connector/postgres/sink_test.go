package postgres

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/sql/types"
)

func TestInsert(t *testing.T) {
	p := newPlace(t)
	p.run("CREATE TABLE t (id int, name text, at timestamptz DEFAULT '2026-01-01', n numeric(10,2))")
	s := p.spec(formatPlain, []string{"name text", "id int", "n numeric"}, nil)
	k, w := p.open(s, 0)
	if !k.sessions[0].t.direct {
		t.Error("rows are not copied directly")
	}
	epoch(t, k, w, 1, "+a|1|1.005", "+NULL|2|NULL")
	p.same("before the second epoch", "SELECT * FROM t ORDER BY id",
		"1|a|2026-01-01 00:00:00+00|1.01\n2|NULL|2026-01-01 00:00:00+00|NULL")
	epoch(t, k, w, 2)
	epoch(t, k, w, 3, "+c|3|7")
	p.same("at the end", "SELECT count(*), max(id) FROM t", "3|3")
	p.same("progress", "SELECT sink, part, epoch, name, target FROM streamsql_sinks", "dir-1|0|3|out|"+p.schema+".t")
}

// allTypes are columns of each type with values in PostgreSQL's input syntax.
var allTypes = map[string][]string{
	"boolean": {"t", "f"}, "smallint": {"-32768", "32767"}, "integer": {"-2147483648", "7"},
	"bigint": {"9223372036854775807", "-1"}, "real": {"1.5", "NaN", "-Infinity", "1e-40"},
	"double precision": {"0.1", "-0", "Infinity", "NaN", "1e308"},
	"numeric":          {"0", "-12345678901234567890.123456789", "NaN", "1.00", "0.0000000001", "100000000", "Infinity", "-Infinity"},
	"numeric(8,3)":     {"1.5", "-99999.999"}, "text": {"", "a", "Grüße 🙂", `q"'\,`}, "character varying(5)": {"abcde", ""},
	"bpchar": {"ab", "x  "}, "character(4)": {"ab", "abcd"}, "name": {"n"}, `"char"`: {"x"}, "bytea": {`\x`, `\x00ff10`},
	"date":                        {"2026-02-28", "infinity", "-infinity", "4713-01-01 BC", "0001-01-01"},
	"time without time zone":      {"00:00:00", "23:59:59.999999", "24:00:00"},
	"timestamp without time zone": {"2026-01-01 00:00:00.000001", "infinity", "-infinity", "1999-12-31 23:59:59"},
	"timestamp with time zone":    {"2026-01-01 00:00:00+05", "infinity", "-infinity", "0044-03-15 12:00:00+00 BC"},
	"timestamp(3) with time zone": {"2026-01-01 00:00:00.123+00"},
	"interval":                    {"1 year 2 mons -3 days 04:05:06.789", "-00:00:01", "0"},
	"json":                        {`{"b": 1, "a": [1, null, "x"]}`}, "jsonb": {`{"b": 1, "a": [1, 2.50, "é"]}`, "null"},
	"uuid": {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, "oid": {"4294967295"}, "regclass": {"1259"}, "regtype": {"23"},
	"integer[]": {"{}", "{1,NULL,3}"}, "text[]": {`{a,"b c",NULL,"x\"y"}`}, "numeric[]": {"{1.50,NaN}"},
	"timestamp with time zone[]": {"{infinity,2026-01-01 00:00:00+00}"}, "jsonb[]": {`{"{\"a\": 1}"}`}, "bytea[]": {`{"\\x01"}`},
	"boolean[]": {"{t,f}"}, "uuid[]": {"{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"}, "interval[]": {"{1 day}"},
	"date[]": {"{2026-01-01}"}, "character varying[]": {"{a}"}, "double precision[]": {"{0.1,-0}"},
}

// TestTypes: every value is what PostgreSQL itself makes of its text, copied into the
// table or by the stage, and create_table makes columns of the types.
func TestTypes(t *testing.T) {
	for _, format := range []string{formatPlain, formatUpsert} {
		t.Run(format, func(t *testing.T) {
			p := newPlace(t)
			cols, lines, want := []string{"id integer NOT NULL"}, make([]string, 9), make([]string, 9)
			for i := range lines {
				lines[i], want[i] = fmt.Sprintf("+%d", i), fmt.Sprintf("(%d", i)
			}
			names := slices.Sorted(maps.Keys(allTypes))
			for k, name := range names {
				cols = append(cols, fmt.Sprintf("v%d %s", k, name))
				values := allTypes[name]
				for i := range lines {
					if i == len(lines)-1 {
						lines[i], want[i] = lines[i]+"|NULL", want[i]+", NULL"
						continue
					}
					v := values[i%len(values)]
					lines[i], want[i] = lines[i]+"|"+v, want[i]+", "+literal(v)+"::"+name
				}
			}
			s := p.spec(format, cols, []int{0}, "create_table", "on")
			k, w := p.open(s, 0)
			if k.sessions[0].t.direct != (format == formatPlain) {
				t.Errorf("direct is %v", k.sessions[0].t.direct)
			}
			epoch(t, k, w, 1, lines...)
			list := strings.Join(want, "), ")
			for k, name := range names {
				p.same(name, fmt.Sprintf("SELECT v%d::text FROM t ORDER BY id", k),
					p.rows(fmt.Sprintf("SELECT column%d::text FROM (VALUES %s)) x ORDER BY column1", k+2, list)))
				p.same(name+": type", fmt.Sprintf("SELECT format_type(atttypid, atttypmod) FROM pg_attribute "+
					"WHERE attrelid = 't'::regclass AND attname = 'v%d'", k), name)
			}
		})
	}
}

// TestStructs: a struct goes into jsonb, json and a composite type.
func TestStructs(t *testing.T) {
	p := newPlace(t)
	p.run("CREATE TYPE spot AS (x int, label text, at timestamptz); CREATE TABLE t (id int, a jsonb, b json, c spot, d jsonb)")
	st := types.StructOf(types.Field{Name: "label", Type: types.TText}, types.Field{Name: "x", Type: types.TInt4})
	s := p.spec(formatPlain, []string{"id int"}, nil)
	for _, n := range []string{"a", "b", "c"} {
		s.Columns = append(s.Columns, connector.Column{Name: n, Type: st})
	}
	s.Columns = append(s.Columns, connector.Column{Name: "d", Type: types.ArrayOf(st)})
	k, w := p.open(s, 0)
	b := batch(t, s, `+1|(a,2)|("b ""c""",)|("x,y",-1)|{"(a,1)",NULL}`, "+2|NULL|NULL|NULL|NULL")
	if err := k.Commit(t.Context(), 1, prepare(t, w, 1, b)); err != nil {
		t.Fatal(err)
	}
	p.same("structs", "SELECT * FROM t ORDER BY id",
		`1|{"x": 2, "label": "a"}|{"label":"b \"c\"","x":null}|(-1,"x,y",)|[{"x": 1, "label": "a"}, null]`+"\n2|NULL|NULL|NULL|NULL")
}

// TestAssignment: values are turned into the columns' types by PostgreSQL's own casts.
func TestAssignment(t *testing.T) {
	p := newPlace(t)
	p.run(`CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE DOMAIN small AS int CHECK (value < 100);
		CREATE TABLE t (a bigint, b mood, c inet, d small, e date, f varchar(3), g text, h char(3))`)
	s := p.spec(formatPlain, []string{"a int", "b text", "c text", "d int", "e timestamp", "f text", "g int", "h text"}, nil)
	k, w := p.open(s, 0)
	epoch(t, k, w, 1, "+1|glad|10.0.0.1/8|99|2026-01-01 23:00|abc|5|x", "+NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL")
	p.same("values", "SELECT * FROM t WHERE a = 1", "1|glad|10.0.0.1/8|99|2026-01-01|abc|5|x  ")
}

// model is what a table must hold.
type model map[string]string

func (m model) apply(lines ...string) {
	for _, l := range lines {
		key, _, _ := strings.Cut(l[1:], "|")
		if l[0] == '+' {
			m[key] = l[1:]
		} else {
			delete(m, key)
		}
	}
}

func (m model) rows() string { return strings.Join(slices.Sorted(maps.Values(m)), "\n") }

// TestUpsert: after each epoch the table is what the changes say, however they are cut
// into batches and pieces.
func TestUpsert(t *testing.T) {
	p := newPlace(t)
	p.run("CREATE TABLE t (k int UNIQUE NULLS NOT DISTINCT, v text, keep int DEFAULT 5)")
	s := p.spec(formatUpsert, []string{"k int", "v text"}, []int{0})
	k, w := p.open(s, 0)
	k.cfg.piece = 300
	rng := rand.New(rand.NewPCG(1, 2))
	m := model{}
	for e := connector.Epoch(1); e <= 20; e++ {
		var batches []*arrowbatch.Batch
		for range rng.IntN(4) {
			var lines []string
			for range 1 + rng.IntN(60) {
				key := strconv.Itoa(rng.IntN(30))
				if rng.IntN(15) == 0 {
					key = "NULL"
				}
				if old, ok := m[key]; ok {
					lines = append(lines, "-"+old)
				}
				if rng.IntN(3) > 0 {
					lines = append(lines, fmt.Sprintf("+%s|v%d", key, rng.IntN(1000)))
				}
				m.apply(lines...)
			}
			if len(lines) > 0 {
				batches = append(batches, batch(t, s, lines...))
			}
		}
		if err := k.Commit(t.Context(), e, prepare(t, w, e, batches...)); err != nil {
			t.Fatal(err)
		}
		p.same(fmt.Sprintf("epoch %d", e), `SELECT k, v FROM t ORDER BY coalesce(k::text, 'NULL') || '|' || v COLLATE "C"`, m.rows())
	}
	p.same("the column beside", "SELECT DISTINCT keep FROM t", "5")
	p.same("the stage", "SELECT count(*) FROM pg_class WHERE relname = 'streamsql_stage' AND relpages > 0", "0")
}

// TestUpsertKeys: keys of several columns, with and without others.
func TestUpsertKeys(t *testing.T) {
	p := newPlace(t)
	p.run("CREATE TABLE t (b text, a bigint, PRIMARY KEY (b, a)); CREATE TABLE u (a int, b text, v int, UNIQUE NULLS NOT DISTINCT (b, a))")
	s := p.spec(formatUpsert, []string{"a int", "b text"}, []int{0, 1})
	k, w := p.open(s, 0)
	epoch(t, k, w, 1, "+1|x", "+1|y", "+2|x", "-1|x")
	epoch(t, k, w, 2, "-1|y", "+3|z", "-3|z", "+1|x", "+2|x")
	p.same("all columns are the key", "SELECT a, b FROM t ORDER BY 1, 2", "1|x\n2|x")

	s = p.spec(formatUpsert, []string{"a int", "b text", "v int"}, []int{0, 1}, "table", "u")
	s.Identity = "dir-2"
	k, w = p.open(s, 0)
	epoch(t, k, w, 1, "+1|NULL|1", "+NULL|x|2", "+NULL|NULL|3", "+1|x|4")
	epoch(t, k, w, 2, "-1|NULL|1", "+1|NULL|5", "-NULL|x|2", "-1|x|4", "+1|x|6")
	p.same("NULLs in keys", "SELECT a, b, v FROM u ORDER BY v", "NULL|NULL|3\n1|NULL|5\n1|x|6")
	epoch(t, k, w, 3, "-NULL|NULL|3", "-1|x|6")
	p.same("NULLs in keys", "SELECT a, b, v FROM u ORDER BY v", "1|NULL|5")
}

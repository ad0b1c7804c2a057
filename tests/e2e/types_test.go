package e2e

import (
	"context"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamsql/streamsql/tests/testenv"
)

// typeValues are the types that a table can store, with literals of their edges:
// numeric has 36 digits at most, arrays have one dimension.
var typeValues = []struct {
	typ    string
	values []string
}{
	{"boolean", []string{"true", "false", "'yes'", "'off'"}},
	{"smallint", []string{"0", "-32768", "32767"}},
	{"integer", []string{"0", "-2147483648", "2147483647"}},
	{"bigint", []string{"0", "-9223372036854775808", "9223372036854775807"}},
	{"real", []string{"0", "'-0'", "1.5", "3.4e38", "1e-45", "'NaN'", "'Infinity'", "'-Infinity'", "0.1", "123456.789"}},
	{"double precision", []string{"0", "'-0'", "1.5", "1.7976931348623157e308", "5e-324", "'NaN'", "'Infinity'", "0.1",
		"1e15", "1e16"}},
	{"numeric", []string{"0", "-1.50", "'NaN'", "123456789012345678901234567.123456789", "0.00000001", "1e20", "10000",
		"-0.0001"}},
	{"numeric(10,2)", []string{"0", "-1.505", "99999999.99", "'NaN'"}},
	{"numeric(36,0)", []string{"999999999999999999999999999999999999", "-1"}},
	{"text", []string{"''", "'x'", "'ünï©ødé \U0001F600'", "E'tab\\tnew\\nline'", "'it''s'"}},
	{"varchar", []string{"'abc'", "''"}},
	{"varchar(5)", []string{"'abc'", "'abcde   '"}},
	{"char(5)", []string{"'abc'", "'abcde'", "''"}},
	{"name", []string{"'abc'"}},
	{`"char"`, []string{"'a'", "''"}},
	{"bytea", []string{`'\x'`, `'\x00ff10'`, `'abc\\\000'`}},
	{"date", []string{"'2024-02-29'", "'0001-01-01'", "'4713-11-24 BC'", "'9999-12-31'", "'infinity'", "'-infinity'"}},
	{"time", []string{"'00:00'", "'23:59:59.999999'", "'24:00'", "'12:34:56.7'"}},
	{"time(3)", []string{"'12:34:56.7896'"}},
	{"timestamp", []string{"'2024-02-29 12:34:56.789'", "'1969-12-31 23:59:59.999999'", "'infinity'", "'0044-03-15 BC'"}},
	{"timestamp(0)", []string{"'2024-02-29 12:34:56.789'"}},
	{"timestamptz", []string{"'2024-02-29 12:34:56.789+05:30'", "'1969-12-31 23:59:59Z'", "'-infinity'",
		"'2024-07-01 00:00 Europe/Berlin'"}},
	{"interval", []string{"'0'", "'1 year -2 mons 3 days -04:05:06.789'", "'-178956970 years'", "'1 microsecond'",
		"'P1Y2M3DT4H5M6S'"}},
	{"uuid", []string{"'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'{00000000000000000000000000000000}'"}},
	{"json", []string{`'{"b": 1,  "a":[1, null, "x"]}'`, `'null'`, `'"x"'`, `'1.50'`}},
	{"jsonb", []string{`'{"b": 1,  "a":[1, null, "x"], "b": 2}'`, `'null'`, `'"é\u00e9"'`, `'1.50'`, `'[]'`, `'{}'`}},
	{"oid", []string{"0", "4294967295"}},
	{"boolean[]", []string{"'{t,f,NULL}'"}},
	{"smallint[]", []string{"'{1,-1}'"}},
	{"integer[]", []string{"'{}'", "'{1,NULL,3}'", "ARRAY[1,2]"}},
	{"bigint[]", []string{"'{1,9223372036854775807}'"}},
	{"real[]", []string{"'{1.5,NaN}'"}},
	{"double precision[]", []string{"'{1.5,NaN,-Infinity}'"}},
	{"numeric[]", []string{"'{1.50,NaN}'"}},
	{"text[]", []string{`'{a,"b c","d\"e",NULL,"NULL",""}'`, "ARRAY['x', NULL]"}},
	{"varchar[]", []string{"'{a,b}'"}},
	{"bytea[]", []string{`'{"\\x00ff",NULL}'`}},
	{"date[]", []string{"'{2024-02-29,infinity}'"}},
	{"time[]", []string{"'{12:34}'"}},
	{"timestamp[]", []string{"'{2024-02-29 12:34:56}'"}},
	{"timestamptz[]", []string{"'{2024-02-29 12:34:56+00}'"}},
	{"interval[]", []string{"'{1 day,-02:00}'"}},
	{"uuid[]", []string{"'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'"}},
	{"jsonb[]", []string{`'{"{\"a\": 1}",NULL}'`}},
	{"json[]", []string{`'{"{\"a\": 1}"}'`}},
}

// raw is a result as it came over the wire.
func (d *db) raw(sql string, format int16, params [][]byte, paramFormats []int16) (*pgconn.Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	defer cancel()
	r := d.PgConn().ExecParams(ctx, sql, params, nil, paramFormats, []int16{format}).Read()
	return r, r.Err
}

// TestTypes: what was stored comes back as from PostgreSQL, byte for byte, from a
// table and from a view, in text and in binary, and so does what is given as a
// binary parameter.
func TestTypes(t *testing.T) {
	pg := connect(t, testenv.Postgres(t))
	c := serve(t, t.TempDir()).connect()
	schema := testenv.Unique(t, "types")
	pg.exec("CREATE SCHEMA " + schema + "; SET search_path = " + schema)
	t.Cleanup(func() { pg.exec("DROP SCHEMA " + schema + " CASCADE") })
	for _, d := range []*db{pg, c} {
		d.exec("SET TIME ZONE 'Asia/Kolkata'")
	}
	for i, tv := range typeValues {
		table, view := fmt.Sprintf("t%d", i), fmt.Sprintf("v%d", i)
		for _, d := range []*db{pg, c} {
			d.exec(fmt.Sprintf("CREATE TABLE %s (id int PRIMARY KEY, v %s)", table, tv.typ))
			for k, v := range append(tv.values, "NULL") {
				if err := d.try(fmt.Sprintf("INSERT INTO %s VALUES (%d, %s)", table, k, v)); err != nil {
					t.Errorf("%s of type %s: %v", v, tv.typ, err)
				}
			}
		}
		pg.exec(fmt.Sprintf("CREATE VIEW %s AS SELECT * FROM %s", view, table))
		c.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW %s AS SELECT * FROM %s", view, table))
		copyBinary(t, pg, c, table, tv.typ, len(tv.values))
	}
	c.exec("FLUSH")
	for i, tv := range typeValues {
		for _, name := range []string{"t", "v"} {
			for _, format := range []int16{0, 1} {
				sql := fmt.Sprintf("SELECT id, v FROM %s%d ORDER BY id", name, i)
				sameRaw(t, fmt.Sprintf("%s, %s, format %d", tv.typ, sql, format), pg, c, sql, format)
			}
		}
	}
}

// copyBinary inserts again, into both, what PostgreSQL gives in binary.
func copyBinary(t *testing.T, pg, c *db, table, typ string, n int) {
	t.Helper()
	r, err := pg.raw(fmt.Sprintf("SELECT v FROM %s ORDER BY id", table), 1, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, row := range r.Rows {
		for _, d := range []*db{pg, c} {
			sql := fmt.Sprintf("INSERT INTO %s VALUES (%d, $1)", table, n+1+k)
			if _, err := d.raw(sql, 0, [][]byte{row[0]}, []int16{1}); err != nil {
				t.Errorf("%s as a binary parameter of type %s: %v", hex.EncodeToString(row[0]), typ, err)
			}
		}
	}
}

// sameRaw compares what two servers give for a query.
func sameRaw(t *testing.T, what string, pg, c *db, sql string, format int16) {
	t.Helper()
	want, err := pg.raw(sql, format, nil, nil)
	if err != nil {
		t.Fatal(what, err)
	}
	got, err := c.raw(sql, format, nil, nil)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	for k, f := range want.FieldDescriptions {
		if g := got.FieldDescriptions[k]; g.Name != f.Name || g.DataTypeOID != f.DataTypeOID ||
			g.TypeModifier != f.TypeModifier ||
			g.DataTypeSize != f.DataTypeSize || g.Format != f.Format {
			t.Errorf("%s: column %+v, not %+v", what, g, f)
		}
	}
	if len(got.Rows) != len(want.Rows) {
		t.Errorf("%s: %d rows, not %d", what, len(got.Rows), len(want.Rows))
		return
	}
	for k, row := range want.Rows {
		for col, v := range row {
			if g := got.Rows[k][col]; string(g) != string(v) || (g == nil) != (v == nil) {
				t.Errorf("%s, row %d: %q, not %q", what, k, g, v)
			}
		}
	}
}

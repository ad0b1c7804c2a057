package catalog

import (
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// memory is a Persister that can fail.
type memory struct {
	m    map[uint32][]byte
	fail error
}

func (p *memory) CommitObjects(puts map[uint32][]byte, deletes []uint32) error {
	if p.fail != nil {
		return p.fail
	}
	maps.Copy(p.m, puts)
	for _, d := range deletes {
		delete(p.m, d)
	}
	return nil
}

func (p *memory) Objects(fn func(uint32, []byte) error) error {
	for id, val := range p.m {
		if err := fn(id, val); err != nil {
			return err
		}
	}
	return nil
}

func open(t *testing.T, p Persister) *Catalog {
	t.Helper()
	c, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// add creates an object in a Tx of its own.
func add(t *testing.T, c *Catalog, o Object) *Object {
	t.Helper()
	id, err := c.NewID()
	if err != nil {
		t.Fatal(err)
	}
	o.ID = id
	if o.Name.Schema == "" {
		o.Name.Schema = SchemaPublic
	}
	if err := c.Update(func(tx *Tx) error { return tx.Create(&o) }); err != nil {
		t.Fatal(err)
	}
	return &o
}

func wantErr(t *testing.T, err error, code sqlerr.Code, message string) *sqlerr.Error {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", code)
	}
	e := sqlerr.From(err)
	if e.Code != code || !strings.Contains(e.Message, message) {
		t.Fatalf("error %s %q, want %s %q", e.Code, e.Message, code, message)
	}
	return e
}

// fixture is one object of each kind.
func fixture(t *testing.T, c *Catalog) (table, source, view, mv *Object) {
	cols := []Column{
		{Name: "id", Type: types.TInt8, NotNull: true},
		{Name: "price", Type: types.Type{ID: types.Numeric, Mod: 10, Scale: 2}, Default: "0", Comment: "net"},
		{Name: "tags", Type: types.ArrayOf(types.TText)},
		{Name: "at", Type: types.TTimestamptz},
	}
	table = add(t, c, Object{Name: Name{Name: "t"}, Kind: KindTable, Columns: cols, Key: []int{0},
		SQL: "CREATE TABLE t (…)", Comment: "a table"})
	source = add(t, c, Object{Name: Name{Name: "s"}, Kind: KindSource, Columns: cols, AppendOnly: true,
		Watermark: &WatermarkDef{"at", "at - INTERVAL '5 seconds'"}, Format: "plain", Encode: "json",
		Options: map[string]string{"connector": "kafka", "topic": "x", "sasl_password": "hush"}})
	view = add(t, c, Object{Name: Name{Name: "v"}, Kind: KindView, Columns: cols[:2], Query: "SELECT id, price FROM t",
		DependsOn: []ObjectID{table.ID}})
	mv = add(t, c, Object{Name: Name{Name: "mv"}, Kind: KindMaterializedView, Columns: cols[:2], Key: []int{0},
		Query: "SELECT id, price FROM v", DependsOn: []ObjectID{view.ID}})
	sink := add(t, c, Object{Name: Name{Name: "out"}, Kind: KindSink, Options: map[string]string{"connector": "file"}})
	add(t, c, Object{Name: Name{Name: "f"}, Kind: KindFlow, Query: "SELECT * FROM mv", Into: sink.ID,
		DependsOn: []ObjectID{mv.ID}})
	return table, source, view, mv
}

func TestResolve(t *testing.T) {
	c := open(t, nil)
	table, _, _, _ := fixture(t, c)
	s := c.Snapshot()
	for _, name := range [][2]string{{"", "t"}, {"public", "t"}} {
		if o, err := s.Resolve(name[0], name[1]); err != nil || o != table {
			t.Errorf("%v: %v, %v", name, o, err)
		}
	}
	for _, name := range [][2]string{{"", "pg_class"}, {"information_schema", "tables"}, {"streamsql", "queries"}} {
		o, err := s.Resolve(name[0], name[1])
		if err != nil || o.Kind != KindSystem || s.ByID(o.ID) != o {
			t.Errorf("%v: %v, %v", name, o, err)
		}
	}
	_, err := s.Resolve("", "queries")
	wantErr(t, err, sqlerr.UndefinedTable, `relation "queries" does not exist`)
	if o, err := s.WithPath([]string{"streamsql"}).Resolve("", "queries"); err != nil || o.Name.Schema != "streamsql" {
		t.Errorf("along the path: %v, %v", o, err)
	}
	_, err = s.Resolve("streamsql", "quereis")
	if e := wantErr(t, err, sqlerr.UndefinedTable, `relation "streamsql.quereis"`); !strings.Contains(e.Hint, "queries") {
		t.Errorf("hint %q", e.Hint)
	}
	_, err = s.Resolve("", "out")
	wantErr(t, err, sqlerr.WrongObjectType, `cannot read from sink "out"`)
	if _, err := s.WithPath([]string{"nowhere"}).CreationSchema(); sqlerr.CodeOf(err) != sqlerr.InvalidSchemaName {
		t.Errorf("creation schema of an empty path: %v", err)
	}
}

func TestCreateTaken(t *testing.T) {
	c := open(t, nil)
	fixture(t, c)
	tx := c.Begin()
	for _, n := range []string{"t", "v", "out", "f"} {
		err := tx.Create(&Object{ID: 99, Name: Name{SchemaPublic, n}, Kind: KindTable})
		wantErr(t, err, sqlerr.DuplicateTable, `relation "`+n+`" already exists`)
	}
	wantErr(t, tx.Free(Name{"pg_catalog", "x"}), sqlerr.InsufficientPrivilege, "permission denied")
	wantErr(t, tx.Free(Name{"nope", "x"}), sqlerr.InvalidSchemaName, `schema "nope" does not exist`)
}

func TestDropDependents(t *testing.T) {
	c := open(t, nil)
	table, _, _, _ := fixture(t, c)
	tx := c.Begin()
	_, err := tx.Drop([]ObjectID{table.ID}, false)
	e := wantErr(t, err, sqlerr.DependentObjects, "cannot drop table t because other objects depend on it")
	want := "view v depends on table t\nmaterialized view mv depends on view v\nflow f depends on materialized view mv"
	if e.Detail != want {
		t.Errorf("detail %q", e.Detail)
	}
	also, err := tx.Drop([]ObjectID{table.ID}, true)
	if err != nil || len(also) != 3 {
		t.Fatalf("cascade: %v, %v", also, err)
	}
	if c.Snapshot().Get("", "t") == nil {
		t.Error("others see an uncommitted drop")
	}
	if tx.Snapshot().Get("", "t") != nil {
		t.Error("the transaction does not see its own drop")
	}
	if got := tx.Dropped(); got[0].Name.Name != "f" || got[3] != table {
		t.Errorf("dropped order %v", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := c.Snapshot().Objects(); len(got) != 2 {
		t.Errorf("left over: %v", got)
	}
}

func TestRenameReplace(t *testing.T) {
	c := open(t, nil)
	table, _, _, _ := fixture(t, c)
	before := c.Snapshot()
	err := c.Update(func(tx *Tx) error {
		o, err := tx.Rename(table.ID, "t2")
		if err != nil {
			return err
		}
		n := *o
		n.Comment = "renamed"
		return tx.Replace(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := c.Snapshot().Get("", "t2"); o == nil || o.Comment != "renamed" || o.ID != table.ID {
		t.Errorf("renamed: %+v", o)
	}
	if c.Snapshot().Get("", "t") != nil || before.Get("", "t") != table {
		t.Error("old name: snapshots are not what they should be")
	}
}

func TestConcurrentChanges(t *testing.T) {
	c := open(t, nil)
	table, _, _, mv := fixture(t, c)
	a, b := c.Begin(), c.Begin()
	for _, tx := range []*Tx{a, b} {
		if _, err := tx.Rename(mv.ID, "mv2"); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Commit(); err != nil {
		t.Fatal(err)
	}
	wantErr(t, b.Commit(), sqlerr.SerializationFailure, "concurrent update")

	a = c.Begin()
	if err := a.Create(&Object{ID: 500, Name: Name{SchemaPublic, "late"}, Kind: KindView,
		DependsOn: []ObjectID{table.ID}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(func(tx *Tx) error { _, err := tx.Drop([]ObjectID{table.ID}, true); return err }); err != nil {
		t.Fatal(err)
	}
	wantErr(t, a.Commit(), sqlerr.SerializationFailure, "concurrent update")
}

func TestInverse(t *testing.T) {
	c := open(t, nil)
	table, _, _, mv := fixture(t, c)
	before := c.Snapshot().Objects()
	tx := c.Begin()
	if _, err := tx.Drop([]ObjectID{mv.ID}, true); err != nil {
		t.Fatal(err)
	}
	if err := tx.Create(&Object{ID: 500, Name: Name{SchemaPublic, "mv"}, Kind: KindTable}); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Rename(table.ID, "x"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := tx.Inverse().Commit(); err != nil {
		t.Fatal(err)
	}
	if after := c.Snapshot().Objects(); !reflect.DeepEqual(before, after) {
		t.Errorf("inverse left %v, want %v", after, before)
	}
}

func TestPersist(t *testing.T) {
	p := &memory{m: map[uint32][]byte{}}
	c := open(t, p)
	fixture(t, c)
	again := open(t, p)
	if a, b := c.Snapshot().Objects(), again.Snapshot().Objects(); !reflect.DeepEqual(a, b) {
		t.Errorf("loaded %+v, want %+v", b, a)
	}
	id1, _ := c.NewID()
	id2, err := again.NewID()
	if err != nil || id2 <= id1 {
		t.Errorf("id %d after a restart, %d was given before (%v)", id2, id1, err)
	}
	p.fail = errors.New("disk")
	err = again.Update(func(tx *Tx) error {
		return tx.Create(&Object{ID: 400, Name: Name{SchemaPublic, "n"}, Kind: KindView})
	})
	if err == nil || again.Snapshot().Get("", "n") != nil {
		t.Error("a change that was not stored is visible")
	}
	p.fail = nil
	p.m[0] = []byte(`{"version": 99, "next": 1}`)
	_, err = Open(p)
	wantErr(t, err, sqlerr.FeatureNotSupported, "format version 99")
	p.m[0], p.m[7] = []byte(`{"version": 1, "next": 1}`), []byte(`{"id": 7, "kind": "blob"}`)
	_, err = Open(p)
	wantErr(t, err, sqlerr.DataCorrupted, "unknown kind")
}

func TestTypeRoundTrip(t *testing.T) {
	list := append(types.All(),
		types.Type{ID: types.Numeric, Mod: 12, Scale: 3}, types.Type{ID: types.Varchar, Mod: 9},
		types.ArrayOf(types.Type{ID: types.Numeric, Mod: 5}),
		types.StructOf(types.Field{Name: "a", Type: types.TInt4},
			types.Field{Name: "b", Type: types.ArrayOf(types.StructOf(types.Field{Name: "c", Type: types.TText}))}))
	for _, typ := range list {
		data, err := EncodeObject(&Object{ID: 1, Kind: KindTable, Columns: []Column{{Name: "c", Type: typ}}})
		if err != nil {
			t.Fatal(err)
		}
		o, err := DecodeObject(data)
		if err != nil || !o.Columns[0].Type.Equal(typ) {
			t.Errorf("%s came back as %v (%v)", typ, o, err)
		}
	}
}

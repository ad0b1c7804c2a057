package expr

import (
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

type fakeSession struct{ set map[string]string }

func (s *fakeSession) Setting(n string) (string, bool) { v, ok := s.set[n]; return v, ok }
func (s *fakeSession) SetSetting(n, v string, _ bool) error {
	s.set[n] = v
	return nil
}
func (s *fakeSession) User() string           { return "alice" }
func (s *fakeSession) Database() string       { return "db" }
func (s *fakeSession) BackendPID() int32      { return 77 }
func (s *fakeSession) Catalog() CatalogLookup { return fakeCatalog{} }

type fakeCatalog struct{}

func (fakeCatalog) OIDOf(kind, name string) (uint32, bool) {
	oid, ok := map[string]uint32{"class bids": 16384, "namespace public": 2200, "proc length": 1317, "class s.My T": 16385}[kind+" "+name]
	return oid, ok
}
func (fakeCatalog) NameOf(kind string, oid uint32) (string, bool) {
	n, ok := map[uint32]string{16384: "bids", 2200: "public", 10: "alice"}[oid]
	return n, ok
}
func (fakeCatalog) Visible(_ string, oid uint32) bool { return oid == 16384 }
func (fakeCatalog) Definition(kind string, oid uint32) (string, bool) {
	return "SELECT 1", kind == "view" && oid == 16384
}

func TestSystemFunctions(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"current_user", "= alice"}, {"session_user", "= alice"}, {"current_database()", "= db"},
		{"current_schema", "= public"}, {"current_schemas(true)", "= {pg_catalog,public}"}, {"pg_backend_pid()", "= 77"},
		{"current_setting('TimeZone')", "= UTC"}, {"current_setting('nope')", "ERROR 42704"},
		{"current_setting('nope', true)", "NULL"}, {"set_config('x', 'y', false)", "= y"},
		{"pg_get_userbyid(10)", "= alice"}, {"pg_get_userbyid(11)", "= unknown (OID=11)"},
		{"pg_table_is_visible(16384)", "= t"}, {"pg_table_is_visible(5)", "= f"}, {"pg_type_is_visible(16384)", "= t"},
		{"'bids'::regclass", "= 16384"}, {"'bids'::regclass::text", "= bids"}, {"'nope'::regclass", "ERROR 42P01"},
		{"'16384'::regclass::oid", "= 16384"}, {"'bids'::regclass = 16384", "= t"}, {"to_regclass('nope')", "NULL"},
		{"'s.\"My T\"'::regclass::oid", "= 16385"}, {"'public'::regnamespace::text", "= public"},
		{"'nope'::regnamespace", "ERROR 3F000"}, {"'integer'::regtype::oid", "= 23"}, {"'int4[]'::regtype::text", "= integer[]"},
		{"1043::regtype::text", "= character varying"}, {"'nope'::regtype", "ERROR 42704"}, {"'length'::regproc::oid", "= 1317"},
		{"format_type(1043, 24)", "= character varying(20)"}, {"format_type(1700, 655366)", "= numeric(10,2)"},
		{"format_type(23, null)", "= integer"}, {"format_type(99999, -1)", "= ???"}, {"format_type(null, -1)", "NULL"},
		{"format_type(1114, 3)", "= timestamp(3) without time zone"}, {"format_type(30, -1)", "= oidvector"},
		{"pg_get_viewdef(16384)", "= SELECT 1"}, {"pg_get_viewdef('bids')", "= SELECT 1"}, {"pg_get_indexdef(16384)", "NULL"},
		{"pg_get_viewdef('bids'::regclass, true)", "= SELECT 1"}, {"pg_get_constraintdef(1, true)", "NULL"},
		{"pg_get_expr('a > 1', 16384)", "= a > 1"}, {"obj_description(1, 'pg_class')", "NULL"}, {"col_description(1, 2)", "NULL"},
		{"has_table_privilege('bids', 'SELECT')", "= t"}, {"has_schema_privilege(2200, 'USAGE')", "= t"},
		{"has_table_privilege('alice', 'bids', 'SELECT')", "= t"}, {"has_database_privilege('db', 'CONNECT')", "= t"},
		{"pg_table_size('bids')", "= 0"}, {"pg_total_relation_size(16384)", "= 0"}, {"pg_size_pretty(10240::bigint)", "= 10 kB"},
		{"pg_size_pretty(10239::bigint)", "= 10239 bytes"}, {"pg_size_pretty(123456789::bigint)", "= 118 MB"},
		{"pg_size_pretty(-1234567.5)", "= -1206 kB"}, {"pg_encoding_to_char(6)", "= UTF8"}, {"pg_is_in_recovery()", "= f"},
		{"inet_server_addr()", "NULL"}, {"pg_relation_is_publishable(16384)", "= f"}, {"pg_typeof(1.5)::text", "= numeric"},
		{"pg_typeof(array[1])::text", "= integer[]"}, {"parse_ident('a.\"B c\".D')", `= {a,"B c",d}`}, {"parse_ident('a b')", "ERROR 22023"},
		{"1::text::regtype", "= 1"}, {"pg_get_function_arguments(1)", "NULL"}, {"array_length(current_schemas(false), 1)", "= 1"},
		{"pg_client_encoding()", "= UTF8"}, {"'bids'::regclass in (16384, 5)", "= t"}, {"16384 = any('{16384,5}'::oid[])", "= t"},
	} {
		ctx := testCtx(t)
		ctx.Session = &fakeSession{set: map[string]string{"TimeZone": "UTC", "search_path": `"$user", public`}}
		e, err := parseExpr(c.src, nil)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		v, err := EvalConst(ctx, e)
		got := outcome(e.Type(), v, 0, sqlerr.From(err))
		if got != c.want {
			t.Errorf("%s: got %s want %s (%v)", c.src, got, c.want, err)
		}
	}
}

// TestNoSession evaluates session functions where there is none.
func TestNoSession(t *testing.T) {
	e := bind(t, "current_user")
	if _, err := EvalConst(testCtx(t), e); sqlerr.CodeOf(err) != sqlerr.FeatureNotSupported {
		t.Errorf("got %v", err)
	}
	if v, err := EvalConst(testCtx(t), bind(t, "current_setting('timezone')")); err != nil ||
		string(types.AppendText(nil, types.TText, v, 0, nil)) != testZone {
		t.Errorf("time zone: %v", err)
	}
}

package expr

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/expr/scalar"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// ServerVersion is the version of PostgreSQL whose behaviour clients may expect.
const ServerVersion = "15.10"

// addSystem adds the functions about the session and the catalog.
func addSystem(t *table) {
	sessionFunctions(t)
	settingFunctions(t)
	visibilityFunctions(t)
	definitionFunctions(t)
	privilegeFunctions(t)
	sizeFunctions(t)
	nameFunctions(t)
}

// session returns the session, or 0A000 in a continuous query, which has none.
func (f *frame) session() (Session, error) {
	if f.ctx.Session == nil {
		return nil, sqlerr.Unsupported("function %s() needs a session and cannot be used in a continuous query",
			f.call.fn.Name)
	}
	return f.ctx.Session, nil
}

// catalog returns the catalog; nil without a session.
func (c *Ctx) catalog() CatalogLookup {
	if c.Session == nil {
		return nil
	}
	return c.Session.Catalog()
}

func sessionFunctions(t *table) {
	text := func(name, res, desc string, get func(s Session) string) {
		t.fn(name, ":"+res, desc, func(f *frame, i int) error {
			s, err := f.session()
			if err != nil {
				return err
			}
			return f.setStr(get(s))
		}, stable)
	}
	t.fn("version", ":text", "version of the server", func(f *frame, i int) error {
		return f.setStr("PostgreSQL " + ServerVersion + " (streamsql)")
	}, stable)
	for _, name := range []string{"current_user", "session_user"} {
		text(name, "name", "name of the session's user", Session.User)
	}
	text("current_database", "name", "name of the database", Session.Database)
	t.fn("current_schema", ":name", "schema in which objects are made", func(f *frame, i int) error {
		return f.setStr(f.ctx.searchPath()[0])
	}, stable)
	t.fn("current_schemas", "bool:name[]", "search path", func(f *frame, i int) error {
		if f.boolean(0, i) {
			f.out.Kids[0].AppendString("pg_catalog")
		}
		for _, s := range f.ctx.searchPath() {
			f.out.Kids[0].AppendString(s)
		}
		return nil
	}, stable)
	t.fn("pg_backend_pid", ":int4", "number of the session", func(f *frame, i int) error {
		s, err := f.session()
		if err != nil {
			return err
		}
		return f.setI32(i, s.BackendPID())
	}, stable)
	fixed := func(name, sig, desc string, row rowFunc) { t.fn(name, sig, desc, row, stable) }
	utf8 := func(f *frame, _ int) error { return f.setStr("UTF8") }
	fixed("pg_client_encoding", ":name", "encoding of the client", utf8)
	fixed("getdatabaseencoding", ":name", "encoding of the database", utf8)
	no := func(f *frame, i int) error { return f.setBool(i, false) }
	fixed("pg_is_in_recovery", ":bool", "false: there is no standby", no)
	fixed("txid_current", ":int8", "number that stands for the statement", func(f *frame, i int) error {
		return f.setI64(i, f.ctx.Now)
	})
	fixed("pg_my_temp_schema", ":oid", "0: there are no temporary schemas",
		func(f *frame, i int) error { return f.setI64(i, 0) })
	fixed("pg_is_other_temp_schema", "oid:bool", "false: there are no temporary schemas", no)
	fixed("pg_postmaster_start_time", ":timestamptz", "NULL: not known here", nullRow)
	for _, name := range []string{"inet_server_addr", "inet_client_addr"} {
		fixed(name, ":text", "NULL: addresses are not shown", nullRow)
	}
	for _, name := range []string{"inet_server_port", "inet_client_port"} {
		fixed(name, ":int4", "NULL: ports are not shown", nullRow)
	}
	t.fn("pg_advisory_unlock_all", ":void", "nothing: there are no advisory locks",
		func(*frame, int) error { return nil }, volatileF)
}

func nullRow(f *frame, i int) error {
	f.null(i)
	return nil
}

// searchPath returns the schemas of the search path, "public" without a session.
func (c *Ctx) searchPath() []string {
	var path []string
	if c.Session != nil {
		if s, ok := c.Session.Setting("search_path"); ok {
			for _, p := range strings.Split(s, ",") {
				p = strings.Trim(strings.TrimSpace(p), `"`)
				if p == "$user" || p == "" {
					continue
				}
				path = append(path, p)
			}
		}
	}
	if path == nil {
		return []string{"public"}
	}
	return path
}

func settingFunctions(t *table) {
	setting := func(f *frame, i int, missingOK bool) error {
		name := strings.Clone(f.str(0, i))
		s, err := f.session()
		if err != nil {
			// A continuous query has the one setting that evaluation depends on.
			if strings.EqualFold(name, "timezone") {
				return f.setStr(f.ctx.zone().String())
			}
			return err
		}
		v, ok := s.Setting(name)
		switch {
		case ok:
			return f.setStr(v)
		case missingOK:
			f.null(i)
			return nil
		}
		return sqlerr.New(sqlerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", name)
	}
	t.fn("current_setting", "text:text", "value of a setting", func(f *frame, i int) error {
		return setting(f, i, false)
	}, stable)
	t.fn("current_setting", "text,bool:text", "value of a setting, NULL if there is none", func(f *frame, i int) error {
		return setting(f, i, f.boolean(1, i))
	}, stable)
	t.fn("set_config", "text,text,bool:text", "changes a setting", func(f *frame, i int) error {
		s, err := f.session()
		if err != nil {
			return err
		}
		if f.isNull(0, i) {
			return sqlerr.New(sqlerr.NullValueNotAllowed, "SET requires parameter name")
		}
		name, value := strings.Clone(f.str(0, i)), ""
		if !f.isNull(1, i) {
			value = strings.Clone(f.str(1, i))
		}
		local := !f.isNull(2, i) && f.boolean(2, i)
		if err := s.SetSetting(name, value, local); err != nil {
			return err
		}
		now, _ := s.Setting(name)
		return f.setStr(now)
	}, volatileF, calledOnNull)
}

func visibilityFunctions(t *table) {
	for name, kind := range map[string]string{"pg_table_is_visible": "class", "pg_type_is_visible": "type",
		"pg_function_is_visible": "proc", "pg_operator_is_visible": "", "pg_collation_is_visible": "",
		"pg_conversion_is_visible": "", "pg_opclass_is_visible": "", "pg_opfamily_is_visible": "",
		"pg_statistics_obj_is_visible": "", "pg_ts_config_is_visible": "", "pg_ts_dict_is_visible": "",
		"pg_ts_parser_is_visible": "", "pg_ts_template_is_visible": ""} {
		t.fn(name, "oid:bool", "object is found by its bare name", func(f *frame, i int) error {
			cat := f.ctx.catalog()
			return f.setBool(i, kind == "" || cat == nil || cat.Visible(kind, uint32(f.i64(0, i))))
		}, stable)
	}
	t.fn("pg_get_userbyid", "oid:name", "name of a role", func(f *frame, i int) error {
		oid := uint32(f.i64(0, i))
		if name, ok := f.ctx.nameOf("role", oid); ok {
			return f.setStr(name)
		}
		return f.setStr("unknown (OID=" + strconv.FormatUint(uint64(oid), 10) + ")")
	}, stable)
}

func definitionFunctions(t *table) {
	define := func(name, kind string, sigs ...string) {
		for _, sig := range sigs {
			t.fn(name, sig+":text", "SQL of an object", func(f *frame, i int) error {
				if cat := f.ctx.catalog(); cat != nil && f.args[0].v.I64 != nil {
					if s, ok := cat.Definition(kind, uint32(f.i64(0, i))); ok {
						return f.setStr(s)
					}
				}
				f.null(i)
				return nil
			}, stable)
		}
	}
	define("pg_get_viewdef", "view", "oid", "oid,bool", "oid,int4")
	define("pg_get_indexdef", "index", "oid")
	define("pg_get_constraintdef", "constraint", "oid", "oid,bool")
	define("pg_get_functiondef", "function", "oid")
	define("pg_get_triggerdef", "trigger", "oid", "oid,bool")
	define("pg_get_ruledef", "rule", "oid", "oid,bool")
	define("pg_get_partkeydef", "partition", "oid")
	define("pg_get_statisticsobjdef_columns", "statistics", "oid")
	define("pg_get_statisticsobjdef", "statistics", "oid")
	define("pg_get_function_result", "result", "oid")
	define("pg_get_function_arguments", "arguments", "oid")
	define("pg_get_function_identity_arguments", "arguments", "oid")
	t.fn("pg_get_viewdef", "text:text", "SQL of a view", func(f *frame, i int) error {
		oid, err := f.ctx.lookupReg(types.TRegclass, f.str(0, i))
		if err != nil {
			return err
		}
		if s, ok := f.ctx.catalog().Definition("view", uint32(oid)); ok {
			return f.setStr(s)
		}
		f.null(i)
		return nil
	}, stable)
	// Column n of an index is named after its definition: the expression itself.
	t.fn("pg_get_indexdef", "oid,int4,bool:text", "SQL of an index or one of its columns", func(f *frame, i int) error {
		cat := f.ctx.catalog()
		kind := "index"
		if n := f.i32(1, i); n > 0 {
			kind = "index column " + strconv.Itoa(int(n))
		}
		if cat != nil {
			if s, ok := cat.Definition(kind, uint32(f.i64(0, i))); ok {
				return f.setStr(s)
			}
		}
		f.null(i)
		return nil
	}, stable)
	expression := func(f *frame, i int) error { return f.setBytes(f.bytes(0, i)) }
	t.fn("pg_get_expr", "text,oid:text", "SQL of a stored expression", expression, stable)
	t.fn("pg_get_expr", "text,oid,bool:text", "SQL of a stored expression", expression, stable)
	for _, sig := range []string{"obj_description:oid", "obj_description:oid,name", "shobj_description:oid,name",
		"col_description:oid,int4"} {
		name, args, _ := strings.Cut(sig, ":")
		t.fn(name, args+":text", "NULL: objects have no comments", nullRow, stable)
	}
	t.fn("pg_get_serial_sequence", "text,text:text", "NULL: there are no sequences", nullRow, stable)
}

func privilegeFunctions(t *table) {
	yes := func(f *frame, i int) error { return f.setBool(i, true) }
	for _, kind := range []string{"table", "schema", "database", "function", "type", "sequence", "language",
		"tablespace", "any_column", "server", "foreign_data_wrapper"} {
		for _, sig := range []string{"text,text", "oid,text", "name,text,text", "name,oid,text", "oid,text,text",
			"oid,oid,text"} {
			t.fn("has_"+kind+"_privilege", sig+":bool", "true: every user may", yes, stable)
		}
	}
	for _, sig := range []string{"text,text,text", "text,int2,text", "oid,text,text", "oid,int2,text",
		"name,text,text,text", "name,oid,int2,text", "name,oid,text,text", "name,text,int2,text"} {
		t.fn("has_column_privilege", sig+":bool", "true: every user may", yes, stable)
	}
	for _, sig := range []string{"name,text", "oid,text", "name,name,text", "name,oid,text", "oid,oid,text"} {
		t.fn("pg_has_role", sig+":bool", "true: every user may", yes, stable)
	}
	t.fn("row_security_active", "oid:bool", "false: there is no row security",
		func(f *frame, i int) error { return f.setBool(i, false) }, stable)
	t.fn("pg_relation_is_publishable", "regclass:bool", "false: there are no publications",
		func(f *frame, i int) error { return f.setBool(i, false) }, stable)
	t.fn("pg_relation_is_updatable", "regclass,bool:int4", "events that change the relation",
		func(f *frame, i int) error { return f.setI32(i, 0) }, stable)
}

func sizeFunctions(t *table) {
	for _, name := range []string{"pg_table_size", "pg_relation_size", "pg_total_relation_size", "pg_indexes_size"} {
		t.fn(name, "regclass:int8", "0: rows of all relations share one store",
			func(f *frame, i int) error { return f.setI64(i, 0) }, stable)
	}
	t.fn("pg_relation_size", "regclass,text:int8", "0: rows of all relations share one store",
		func(f *frame, i int) error { return f.setI64(i, 0) }, stable)
	for _, sig := range []string{"name", "oid"} {
		t.fn("pg_database_size", sig+":int8", "0: the store is not measured",
			func(f *frame, i int) error { return f.setI64(i, 0) }, stable)
	}
	t.fn("pg_tablespace_location", "oid:text", "empty: there are no tablespaces",
		func(*frame, int) error { return nil }, stable)
	t.fn("pg_size_pretty", "int8:text", "size with a unit", func(f *frame, i int) error {
		return f.setStr(scalar.PrettySize(decimal.FromInt64(f.i64(0, i))))
	})
	t.fn("pg_size_pretty", "numeric:text", "size with a unit", func(f *frame, i int) error {
		return f.setStr(scalar.PrettySize(f.dec(0, i)))
	})
	t.fn("pg_encoding_to_char", "int4:name", "name of an encoding", func(f *frame, i int) error {
		switch f.i32(0, i) {
		case 0:
			return f.setStr("SQL_ASCII")
		case 6:
			return f.setStr("UTF8")
		}
		return nil
	}, stable)
	t.fn("pg_char_to_encoding", "name:int4", "number of an encoding", func(f *frame, i int) error {
		switch strings.ToLower(strings.ReplaceAll(f.str(0, i), "-", "")) {
		case "utf8", "unicode":
			return f.setI32(i, 6)
		case "sql_ascii":
			return f.setI32(i, 0)
		}
		return f.setI32(i, -1)
	}, stable)
}

func nameFunctions(t *table) {
	t.fn("format_type", "oid,int4:text", "name of a type", func(f *frame, i int) error {
		if f.isNull(0, i) {
			f.null(i)
			return nil
		}
		mod := int32(-1)
		if !f.isNull(1, i) {
			mod = f.i32(1, i)
		}
		return f.setStr(formatType(f.ctx, uint32(f.i64(0, i)), mod))
	}, calledOnNull, stable)
	t.fn("pg_typeof", `"any":regtype`, "type of a value", func(f *frame, i int) error {
		return f.setI64(i, int64(f.typ(0).OID()))
	}, calledOnNull, stable)
	for name, reg := range map[string]types.Type{"to_regclass": types.TRegclass, "to_regtype": types.TRegtype,
		"to_regproc": types.TRegproc, "to_regnamespace": types.TRegnamespace} {
		t.fn(name, "text:"+reg.PGName(), "object of a name, or NULL", func(f *frame, i int) error {
			if s := f.str(0, i); s != "" && s[0] >= '0' && s[0] <= '9' {
				f.null(i)
				return nil
			}
			oid, err := f.ctx.lookupReg(reg, f.str(0, i))
			if err != nil {
				f.null(i)
				return nil
			}
			return f.setI64(i, oid)
		}, stable)
	}
	ident := func(f *frame, i int, strict bool) error {
		parts, err := scalar.ParseIdent(f.str(0, i), strict)
		for _, p := range parts {
			f.out.Kids[0].AppendString(p)
		}
		return err
	}
	t.fn("parse_ident", "text:text[]", "parts of a qualified name", func(f *frame, i int) error {
		return ident(f, i, true)
	})
	t.fn("parse_ident", "text,bool:text[]", "parts of a qualified name", func(f *frame, i int) error {
		return ident(f, i, f.boolean(1, i))
	})
}

// otherTypes names PostgreSQL's types that no value here has but catalogs mention.
var otherTypes = map[uint32]string{22: "int2vector", 27: "tid", 28: "xid", 29: "cid", 30: "oidvector", 142: "xml",
	194: "pg_node_tree", 600: "point", 650: "cidr", 790: "money", 829: "macaddr", 869: "inet", 1033: "aclitem",
	1034: "aclitem[]", 1266: "time with time zone", 1560: "bit", 1562: "bit varying", 1790: "refcursor",
	2202: "regprocedure", 2203: "regoper", 2204: "regoperator", 2249: "record", 2275: "cstring", 2276: `"any"`,
	2277: "anyarray", 2279: "trigger", 2281: "internal", 2283: "anyelement", 2776: "anynonarray", 3500: "anyenum",
	3614: "tsvector", 3615: "tsquery", 3734: "regconfig", 3769: "regdictionary", 4072: "jsonpath", 4096: "regrole",
	5077: "anycompatible", 5078: "anycompatiblearray"}

// formatType is format_type(oid, typmod).
func formatType(ctx *Ctx, oid uint32, mod int32) string {
	if oid == 0 {
		return "-"
	}
	if t, ok := types.ByOID(oid); ok {
		return withTypMod(t, mod).String()
	}
	if s, ok := otherTypes[oid]; ok {
		return s
	}
	if s, ok := ctx.nameOf("type", oid); ok {
		return s
	}
	return "???"
}

// withTypMod puts PostgreSQL's atttypmod on a type.
func withTypMod(t types.Type, mod int32) types.Type {
	switch {
	case mod < 0:
	case t.ID == types.Array:
		e := withTypMod(*t.Elem, mod)
		return types.ArrayOf(e)
	case t.ID == types.Numeric && mod >= 4:
		t.Mod, t.Scale = int16((mod-4)>>16), int16((mod-4)&0x7ff)
	case (t.ID == types.Varchar || t.ID == types.Bpchar) && mod >= 4:
		t.Mod = int16(mod - 4)
	case t.ID == types.Interval:
		mod &= 0xffff
		fallthrough
	case t.ID == types.Time || t.IsTimestamp():
		if t.Mod = int16(mod); mod == 0 {
			t.Mod = -1
		}
	}
	return t
}

// nameOf returns the name of an object.
func (c *Ctx) nameOf(kind string, oid uint32) (string, bool) {
	if kind == "type" {
		if t, ok := types.ByOID(oid); ok {
			return t.String(), true
		}
		if s, ok := otherTypes[oid]; ok {
			return s, true
		}
	}
	if cat := c.catalog(); cat != nil {
		return cat.NameOf(kind, oid)
	}
	return "", false
}

// lookupReg is the input of regclass, regtype, regproc and regnamespace: a
// number, or the name of an object.
func (c *Ctx) lookupReg(t types.Type, s string) (int64, error) {
	in := strings.TrimSpace(s)
	if in == "-" {
		return 0, nil
	}
	if in != "" && in[0] >= '0' && in[0] <= '9' {
		return types.ParseOID(t, s)
	}
	kind := regKinds[t.ID]
	if t.ID == types.Regtype {
		if ty, ok := types.Parse(in); ok {
			return int64(ty.OID()), nil
		}
	}
	parts, err := scalar.ParseIdent(in, true)
	if err != nil {
		return 0, sqlerr.New(sqlerr.InvalidName, "invalid name syntax")
	}
	if len(parts) > 1 && parts[0] == "pg_catalog" && (kind == "type" || kind == "proc") {
		parts = parts[1:]
	}
	name := strings.Join(parts, ".")
	if cat := c.catalog(); cat != nil {
		if oid, ok := cat.OIDOf(kind, name); ok {
			return int64(oid), nil
		}
	}
	switch t.ID {
	case types.Regclass:
		return 0, sqlerr.New(sqlerr.UndefinedTable, "relation \"%s\" does not exist", name)
	case types.Regtype:
		return 0, sqlerr.New(sqlerr.UndefinedObject, "type \"%s\" does not exist", name)
	case types.Regproc:
		return 0, sqlerr.New(sqlerr.UndefinedFunction, "function \"%s\" does not exist", name)
	}
	return 0, sqlerr.New(sqlerr.InvalidSchemaName, "schema \"%s\" does not exist", name)
}

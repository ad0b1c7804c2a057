package catalog

import (
	"strconv"
	"strings"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
)

// rowsFunc makes the rows of one system relation.
type rowsFunc = func(*SystemContext, *Rows) error

// systemRows maps relations to their rows; those that are not here are empty.
func systemRows() map[Name]rowsFunc {
	m := map[Name]rowsFunc{}
	for name, fn := range map[string]rowsFunc{
		"pg_class": pgClass, "pg_attribute": pgAttribute, "pg_attrdef": pgAttrdef, "pg_index": pgIndex,
		"pg_constraint": pgConstraint, "pg_depend": pgDepend, "pg_description": pgDescription,
		"pg_rewrite": pgRewrite, "pg_foreign_table": pgForeignTable, "pg_type": pgTypeRows, "pg_proc": pgProcRows,
		"pg_collation": pgCollation, "pg_namespace": pgNamespace, "pg_am": pgAM, "pg_database": pgDatabase,
		"pg_roles": pgRoles, "pg_authid": pgRoles, "pg_user": pgUser, "pg_shadow": pgUser, "pg_language": pgLanguage,
		"pg_tablespace": pgTablespace, "pg_foreign_server": pgForeignServer,
		"pg_foreign_data_wrapper": pgForeignWrapper, "pg_settings": pgSettings,
		"pg_stat_activity": pgStatActivity, "pg_prepared_statements": pgPrepared, "pg_cursors": pgCursors,
		"pg_tables": pgTables, "pg_views": pgViews, "pg_matviews": pgMatviews, "pg_indexes": pgIndexes,
		"pg_timezone_names": pgTimezones,
	} {
		m[Name{SchemaPGCatalog, name}] = fn
	}
	streamsqlRows(m)
	infoRows(m)
	return m
}

func pgNamespace(_ *SystemContext, r *Rows) error {
	for _, s := range Schemas() {
		r.Row(Vals{"oid": namespaceOIDs[s], "nspname": s, "nspowner": ownerOID})
	}
	return nil
}

func pgAM(_ *SystemContext, r *Rows) error {
	r.Row(Vals{"oid": heapAM, "amname": "heap", "amhandler": 3, "amtype": "t"})
	r.Row(Vals{"oid": btreeAM, "amname": "btree", "amhandler": 330, "amtype": "i"})
	return nil
}

func pgDatabase(c *SystemContext, r *Rows) error {
	r.Row(Vals{"oid": databaseOID, "datname": c.Database, "datdba": ownerOID, "encoding": 6, "datlocprovider": "c",
		"datallowconn": true, "datconnlimit": -1, "dattablespace": tablespaceOID, "datcollate": "C.UTF-8",
		"datctype": "C.UTF-8"})
	return nil
}

// roleOID is the oid of the session's user: the owner of everything.
func pgRoles(c *SystemContext, r *Rows) error {
	v := Vals{"oid": ownerOID, "rolname": c.User, "rolsuper": true, "rolinherit": true, "rolcreaterole": true,
		"rolcreatedb": true, "rolcanlogin": true, "rolreplication": true, "rolbypassrls": true, "rolconnlimit": -1}
	r.Row(v)
	return nil
}

func pgUser(c *SystemContext, r *Rows) error {
	r.Row(Vals{"usename": c.User, "usesysid": ownerOID, "usecreatedb": true, "usesuper": true, "userepl": true,
		"usebypassrls": true, "passwd": "********"})
	return nil
}

func pgLanguage(_ *SystemContext, r *Rows) error {
	r.Row(Vals{"oid": 12, "lanname": "internal", "lanowner": ownerOID, "lanvalidator": 2246})
	r.Row(Vals{"oid": 14, "lanname": "sql", "lanowner": ownerOID, "lanpltrusted": true, "lanvalidator": 2248})
	return nil
}

func pgTablespace(_ *SystemContext, r *Rows) error {
	r.Row(Vals{"oid": tablespaceOID, "spcname": "pg_default", "spcowner": ownerOID})
	r.Row(Vals{"oid": 1664, "spcname": "pg_global", "spcowner": ownerOID})
	return nil
}

func pgForeignServer(c *SystemContext, r *Rows) error {
	if len(c.Catalog.Objects(KindSource)) > 0 {
		r.Row(Vals{"oid": serverOID, "srvname": "streamsql", "srvowner": ownerOID, "srvfdw": wrapperOID})
	}
	return nil
}

func pgForeignWrapper(c *SystemContext, r *Rows) error {
	if len(c.Catalog.Objects(KindSource)) > 0 {
		r.Row(Vals{"oid": wrapperOID, "fdwname": "connector", "fdwowner": ownerOID})
	}
	return nil
}

func pgSettings(c *SystemContext, r *Rows) error {
	for _, s := range c.Settings {
		v := Vals{"name": s.Name, "setting": s.Value, "unit": orNull(s.Unit), "category": s.Category,
			"short_desc": s.Description, "context": s.Context, "vartype": s.Type, "source": s.Source,
			"min_val": orNull(s.Min), "max_val": orNull(s.Max), "boot_val": s.Boot, "reset_val": s.Reset,
			"pending_restart": false}
		if s.Enum != nil {
			v["enumvals"] = s.Enum
		}
		r.Row(v)
	}
	return nil
}

func pgStatActivity(c *SystemContext, r *Rows) error {
	for _, s := range c.Sessions {
		v := Vals{"datid": databaseOID, "datname": s.Database, "pid": s.PID, "usesysid": ownerOID, "usename": s.User,
			"application_name": s.Application, "backend_start": s.Started, "query_start": s.StateChanged,
			"state_change": s.StateChanged, "state": s.State, "query": s.Query, "backend_type": "client backend"}
		if host, port, ok := cutHostPort(s.ClientAddr); ok {
			v["client_addr"], v["client_port"] = host, port
		}
		r.Row(v)
	}
	return nil
}

func cutHostPort(addr string) (host string, port int, ok bool) {
	i := strings.LastIndexByte(addr, ':')
	if i < 0 {
		return "", 0, false
	}
	port, err := strconv.Atoi(addr[i+1:])
	return strings.Trim(addr[:i], "[]"), port, err == nil
}

func pgPrepared(c *SystemContext, r *Rows) error {
	for _, p := range c.Prepared {
		r.Row(Vals{"name": p.Name, "statement": p.Statement, "prepare_time": p.Prepared, "from_sql": p.FromSQL,
			"parameter_types": []uint32{}, "generic_plans": 0, "custom_plans": 0})
	}
	return nil
}

func pgCursors(c *SystemContext, r *Rows) error {
	for _, p := range c.Cursors {
		r.Row(Vals{"name": p.Name, "statement": p.Statement, "is_holdable": p.Holdable, "is_binary": false,
			"is_scrollable": p.Scrollable, "creation_time": c.Now})
	}
	return nil
}

func pgTables(c *SystemContext, r *Rows) error {
	for _, o := range c.relations() {
		if c.relkind(o) == "r" {
			r.Row(Vals{"schemaname": o.Name.Schema, "tablename": o.Name.Name, "tableowner": c.User,
				"hasindexes": hasKeyIndex(o), "hasrules": false, "hastriggers": false, "rowsecurity": false})
		}
	}
	return nil
}

func pgViews(c *SystemContext, r *Rows) error {
	for _, o := range c.relations() {
		if c.relkind(o) == "v" {
			r.Row(Vals{"schemaname": o.Name.Schema, "viewname": o.Name.Name, "viewowner": c.User,
				"definition": o.Query})
		}
	}
	return nil
}

func pgMatviews(c *SystemContext, r *Rows) error {
	for _, o := range c.Catalog.Objects(KindMaterializedView) {
		r.Row(Vals{"schemaname": o.Name.Schema, "matviewname": o.Name.Name, "matviewowner": c.User,
			"hasindexes": false, "ispopulated": true, "definition": o.Query})
	}
	return nil
}

func pgIndexes(c *SystemContext, r *Rows) error {
	for _, o := range c.userRelations() {
		if hasKeyIndex(o) {
			r.Row(Vals{"schemaname": o.Name.Schema, "tablename": o.Name.Name, "indexname": o.KeyName(),
				"indexdef": indexDefinition(o)})
		}
	}
	return nil
}

// zoneNames are the time zones that are listed: the full database has six
// hundred, which are all accepted.
var zoneNames = []string{"UTC", "GMT", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "America/Chicago",
	"America/Denver", "America/Los_Angeles", "America/New_York", "America/Sao_Paulo", "Asia/Dubai",
	"Asia/Hong_Kong", "Asia/Kolkata", "Asia/Shanghai", "Asia/Singapore", "Asia/Tokyo", "Australia/Sydney",
	"Europe/Amsterdam", "Europe/Berlin", "Europe/Istanbul", "Europe/London", "Europe/Madrid", "Europe/Moscow",
	"Europe/Paris", "Europe/Rome", "Europe/Warsaw", "Pacific/Auckland"}

func pgTimezones(c *SystemContext, r *Rows) error {
	now := time.UnixMicro(c.Now)
	for _, n := range zoneNames {
		loc, err := time.LoadLocation(n)
		if err != nil {
			continue // the machine has no zone database
		}
		abbrev, off := now.In(loc).Zone()
		r.Row(Vals{"name": n, "abbrev": abbrev, "is_dst": now.In(loc).IsDST(),
			"utc_offset": arrowbatch.IntervalValue{Micros: int64(off) * 1e6}})
	}
	return nil
}

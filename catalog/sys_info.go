package catalog

import (
	"strings"

	"github.com/streamsql/streamsql/sql/types"
)

func infoRows(m map[Name]rowsFunc) {
	for name, fn := range map[string]rowsFunc{
		"schemata": infoSchemata, "tables": infoTables, "columns": infoColumns, "views": infoViews,
		"table_constraints": infoTableConstraints, "key_column_usage": infoKeyColumns,
		"constraint_column_usage": infoConstraintColumns, "information_schema_catalog_name": infoCatalogName,
		"foreign_tables": infoForeignTables, "enabled_roles": infoEnabledRoles,
		"applicable_roles": func(*SystemContext, *Rows) error { return nil },
		"character_sets":   infoCharacterSets, "table_privileges": infoTablePrivileges,
		"role_table_grants": infoTablePrivileges, "routines": infoRoutines,
	} {
		m[Name{SchemaInfo, name}] = fn
	}
}

func infoCatalogName(c *SystemContext, r *Rows) error {
	r.Row(Vals{"catalog_name": c.Database})
	return nil
}

func infoSchemata(c *SystemContext, r *Rows) error {
	for _, s := range Schemas() {
		r.Row(Vals{"catalog_name": c.Database, "schema_name": s, "schema_owner": c.User})
	}
	return nil
}

func infoEnabledRoles(c *SystemContext, r *Rows) error {
	r.Row(Vals{"role_name": c.User})
	return nil
}

func infoCharacterSets(c *SystemContext, r *Rows) error {
	r.Row(Vals{"character_set_name": "UTF8", "character_repertoire": "UCS", "form_of_use": "UTF8",
		"default_collate_catalog": c.Database, "default_collate_schema": SchemaPGCatalog,
		"default_collate_name": "default"})
	return nil
}

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

// place is the catalog, schema and name of o under the three column names.
func (c *SystemContext) place(o *Object, prefix string) Vals {
	return Vals{prefix + "_catalog": c.Database, prefix + "_schema": o.Name.Schema, prefix + "_name": o.Name.Name}
}

// writable tells whether INSERT takes the relation.
func writable(o *Object) bool { return o.Kind == KindTable && o.Options["connector"] == "" }

func infoTables(c *SystemContext, r *Rows) error {
	for _, o := range c.relations() {
		v := c.place(o, "table")
		// PostgreSQL leaves materialized views out of this list; tools that know
		// nothing else would not find the very thing streamsql is for.
		switch c.relkind(o) {
		case "r", "m":
			v["table_type"] = "BASE TABLE"
		case "v":
			v["table_type"] = "VIEW"
		case "f":
			v["table_type"] = "FOREIGN"
		}
		v["is_insertable_into"], v["is_typed"] = yesNo(writable(o)), "NO"
		r.Row(v)
	}
	return nil
}

func infoColumns(c *SystemContext, r *Rows) error {
	for _, o := range c.relations() {
		for i, col := range o.shownColumns() {
			v := c.place(o, "table")
			v["column_name"], v["ordinal_position"], v["dtd_identifier"] = col.Name, i+1, itoa(i+1)
			v["column_default"], v["is_nullable"] = orNull(col.Default), yesNo(!col.NotNull)
			v["is_self_referencing"], v["is_identity"], v["identity_cycle"] = "NO", "NO", "NO"
			v["is_generated"], v["generation_expression"] = "NEVER", orNull(col.Generated)
			if col.Generated != "" {
				v["is_generated"] = "ALWAYS"
			}
			v["is_updatable"] = yesNo(writable(o) && !o.AppendOnly)
			v["udt_catalog"], v["udt_schema"], v["udt_name"] = c.Database, SchemaPGCatalog, col.Type.PGName()
			describeType(v, col.Type)
			r.Row(v)
		}
	}
	return nil
}

// describeType fills the columns that tell about a type.
func describeType(v Vals, t types.Type) {
	v["data_type"] = t.Base().String()
	switch t.ID {
	case types.Array:
		v["data_type"] = "ARRAY"
	case types.Varchar, types.Bpchar:
		if t.Mod > 0 {
			v["character_maximum_length"], v["character_octet_length"] = t.Mod, int(t.Mod)*4
			return
		}
		v["character_octet_length"] = 1 << 30
	case types.Text:
		v["character_octet_length"] = 1 << 30
	case types.Int2:
		v["numeric_precision"], v["numeric_precision_radix"], v["numeric_scale"] = 16, 2, 0
	case types.Int4:
		v["numeric_precision"], v["numeric_precision_radix"], v["numeric_scale"] = 32, 2, 0
	case types.Int8:
		v["numeric_precision"], v["numeric_precision_radix"], v["numeric_scale"] = 64, 2, 0
	case types.Float4:
		v["numeric_precision"], v["numeric_precision_radix"] = 24, 2
	case types.Float8:
		v["numeric_precision"], v["numeric_precision_radix"] = 53, 2
	case types.Numeric:
		v["numeric_precision_radix"] = 10
		if t.Mod > 0 {
			v["numeric_precision"], v["numeric_scale"] = t.Mod, t.Scale
		}
	case types.Date:
		v["datetime_precision"] = 0
	case types.Time, types.Timestamp, types.Timestamptz, types.Interval:
		v["datetime_precision"] = 6
		if t.Mod > 0 {
			v["datetime_precision"] = t.Mod
		}
	}
}

func infoViews(c *SystemContext, r *Rows) error {
	for _, o := range c.relations() {
		if c.relkind(o) != "v" {
			continue
		}
		v := c.place(o, "table")
		v["view_definition"], v["check_option"] = " "+o.Query+";", "NONE"
		for _, n := range []string{"is_updatable", "is_insertable_into", "is_trigger_updatable",
			"is_trigger_deletable", "is_trigger_insertable_into"} {
			v[n] = "NO"
		}
		r.Row(v)
	}
	return nil
}

func (c *SystemContext) constraint(o *Object) Vals {
	v := c.place(o, "table")
	v["constraint_catalog"], v["constraint_schema"], v["constraint_name"] = c.Database, o.Name.Schema, o.KeyName()
	return v
}

func infoTableConstraints(c *SystemContext, r *Rows) error {
	for _, o := range c.userRelations() {
		if !hasKeyIndex(o) {
			continue
		}
		v := c.constraint(o)
		v["constraint_type"], v["is_deferrable"], v["initially_deferred"] = "PRIMARY KEY", "NO", "NO"
		v["enforced"] = "YES"
		r.Row(v)
	}
	return nil
}

func infoKeyColumns(c *SystemContext, r *Rows) error {
	for _, o := range c.userRelations() {
		if !hasKeyIndex(o) {
			continue
		}
		for i, n := range o.keyNames() {
			v := c.constraint(o)
			v["column_name"], v["ordinal_position"] = n, i+1
			r.Row(v)
		}
	}
	return nil
}

func infoConstraintColumns(c *SystemContext, r *Rows) error {
	for _, o := range c.userRelations() {
		if !hasKeyIndex(o) {
			continue
		}
		for _, n := range o.keyNames() {
			v := c.constraint(o)
			v["column_name"] = n
			r.Row(v)
		}
	}
	return nil
}

func infoForeignTables(c *SystemContext, r *Rows) error {
	for _, o := range c.Catalog.Objects(KindSource) {
		v := c.place(o, "foreign_table")
		v["foreign_server_catalog"], v["foreign_server_name"] = c.Database, "streamsql"
		r.Row(v)
	}
	return nil
}

func infoTablePrivileges(c *SystemContext, r *Rows) error {
	for _, o := range c.userRelations() {
		privileges := []string{"SELECT"}
		if writable(o) {
			privileges = []string{"INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE"}
		}
		for _, p := range privileges {
			v := c.place(o, "table")
			v["grantor"], v["grantee"], v["privilege_type"] = c.User, c.User, p
			v["is_grantable"], v["with_hierarchy"] = "YES", yesNo(p == "SELECT")
			r.Row(v)
		}
	}
	return nil
}

func infoRoutines(c *SystemContext, r *Rows) error {
	for _, p := range c.Functions.procs {
		v := Vals{"specific_catalog": c.Database, "specific_schema": SchemaPGCatalog,
			"specific_name": p.name + "_" + itoa(int(p.oid)), "routine_catalog": c.Database,
			"routine_schema": SchemaPGCatalog, "routine_name": p.name, "routine_body": "EXTERNAL",
			"external_language": "INTERNAL", "is_deterministic": yesNo(p.volatility == "i"),
			"is_null_call": yesNo(p.strict), "security_type": "INVOKER"}
		if p.kind == "f" {
			v["routine_type"] = "FUNCTION"
		}
		if t, ok := types.ByOID(p.ret); ok {
			v["data_type"] = strings.ToLower(t.String())
			v["type_udt_catalog"], v["type_udt_schema"], v["type_udt_name"] = c.Database, SchemaPGCatalog, t.PGName()
		}
		r.Row(v)
	}
	return nil
}

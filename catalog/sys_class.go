package catalog

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"

	"github.com/streamsql/streamsql/sql/types"
)

// Oids of PostgreSQL that rows refer to.
const (
	ownerOID      = 10 // the bootstrap superuser's
	heapAM        = 2
	btreeAM       = 403
	databaseOID   = 5
	tablespaceOID = 1663
	serverOID     = 16383 // pg_foreign_server: one for all sources
	wrapperOID    = 16382
	classClassOID = 1259
)

var namespaceOIDs = map[string]uint32{SchemaPGCatalog: 11, SchemaPublic: 2200, SchemaInfo: 13000,
	SchemaStreamsql: 14999}

// relations are the objects that pg_class shows: the users' relations, then the
// system's, by oid.
func (c *SystemContext) relations() []*Object {
	out := c.userRelations()
	for _, o := range c.Catalog.sys.byID {
		out = append(out, o)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID.OID() < out[j].ID.OID() })
	return out
}

func (c *SystemContext) userRelations() []*Object {
	return c.Catalog.Objects(KindTable, KindSource, KindView, KindMaterializedView)
}

// relkind is pg_class.relkind: a source reads like a foreign table.
func (c *SystemContext) relkind(o *Object) string {
	switch o.Kind {
	case KindSource:
		return "f"
	case KindView:
		return "v"
	case KindMaterializedView:
		return "m"
	case KindSystem:
		if c.Catalog.sys.view[o.ID] {
			return "v"
		}
	}
	return "r"
}

// hasKeyIndex tells whether the primary key of o is shown as an index. The
// stream key of a materialized view is not: users did not declare it.
func hasKeyIndex(o *Object) bool { return o.Kind == KindTable && len(o.Key) > 0 && !hiddenKey(o) }

func hiddenKey(o *Object) bool {
	return slices.ContainsFunc(o.Key, func(k int) bool { return o.Columns[k].Hidden })
}

// KeyName is the name of a table's primary key constraint and index.
func (o *Object) KeyName() string {
	if o.KeyConstraint != "" {
		return o.KeyConstraint
	}
	return truncateName(o.Name.Name, "pkey")
}

// truncateName makes base_suffix of at most 63 bytes, as PostgreSQL does.
func truncateName(base, suffix string) string {
	const limit = 63
	if over := len(base) + 1 + len(suffix) - limit; over > 0 {
		base = strings.ToValidUTF8(base[:len(base)-over], "")
	}
	return base + "_" + suffix
}

func pgClass(c *SystemContext, r *Rows) error {
	for _, o := range c.relations() {
		kind := c.relkind(o)
		v := Vals{"oid": o.ID.OID(), "relname": o.Name.Name, "relnamespace": namespaceOIDs[o.Name.Schema],
			"relkind": kind, "relowner": ownerOID, "relnatts": len(o.shownColumns()), "reltuples": float64(-1),
			"relhasindex": hasKeyIndex(o), "relhasrules": kind == "v", "relpersistence": "p", "relispopulated": true,
			"relreplident": "d", "relfilenode": o.ID.OID()}
		if o.Kind != KindSystem {
			v["reltype"] = o.ID.rowTypeOID()
		} else {
			v["relreplident"] = "n"
		}
		if kind == "r" || kind == "m" {
			v["relam"] = heapAM
		}
		r.Row(v)
		if hasKeyIndex(o) {
			r.Row(Vals{"oid": o.ID.indexOID(), "relname": o.KeyName(), "relnamespace": namespaceOIDs[o.Name.Schema],
				"relkind": "i", "relowner": ownerOID, "relam": btreeAM, "relnatts": len(o.Key), "relpersistence": "p",
				"relispopulated": true, "relreplident": "n", "relfilenode": o.ID.indexOID()})
		}
	}
	return nil
}

// shownColumns are the columns that * shows.
func (o *Object) shownColumns() []Column {
	out := make([]Column, 0, len(o.Columns))
	for _, c := range o.Columns {
		if !c.Hidden {
			out = append(out, c)
		}
	}
	return out
}

// attNums maps positions of Columns to attnums, 0 for hidden ones.
func (o *Object) attNums() []int16 {
	out := make([]int16, len(o.Columns))
	n := int16(0)
	for i, c := range o.Columns {
		if !c.Hidden {
			n++
			out[i] = n
		}
	}
	return out
}

// keyAtts are the attnums of the key.
func (o *Object) keyAtts() []int16 {
	nums := o.attNums()
	out := make([]int16, len(o.Key))
	for i, k := range o.Key {
		out[i] = nums[k]
	}
	return out
}

func (c *SystemContext) attribute(r *Rows, relid uint32, n int, col Column) {
	v := Vals{"attrelid": relid, "attname": col.Name, "atttypid": col.Type.OID(), "attstattarget": -1,
		"attlen": col.Type.Size(), "attnum": n, "attcacheoff": -1, "atttypmod": col.Type.TypMod(),
		"attnotnull": col.NotNull, "atthasdef": col.Default != "" || col.Generated != "", "attislocal": true,
		"attidentity": "", "attgenerated": "", "attcompression": "", "attalign": "i", "attstorage": "p"}
	if col.Generated != "" {
		v["attgenerated"] = "s"
	}
	if col.Type.ID == types.Array {
		v["attndims"] = 1
	}
	if t := c.Catalog.sys.typeByOID(col.Type.OID()); t != nil {
		v["attbyval"], v["attalign"], v["attstorage"], v["attcollation"] = t.byVal, t.align, t.storage, t.collation
	}
	r.Row(v)
}

func pgAttribute(c *SystemContext, r *Rows) error {
	for _, o := range c.relations() {
		for i, col := range o.shownColumns() {
			c.attribute(r, o.ID.OID(), i+1, col)
		}
		if hasKeyIndex(o) {
			for i, k := range o.Key {
				col := o.Columns[k]
				col.NotNull, col.Default, col.Generated = false, "", ""
				c.attribute(r, o.ID.indexOID(), i+1, col)
			}
		}
	}
	return nil
}

func pgAttrdef(c *SystemContext, r *Rows) error {
	for _, o := range c.userRelations() {
		for i, col := range o.shownColumns() {
			text := col.Default + col.Generated // never both
			if text != "" {
				r.Row(Vals{"oid": o.ID.attrdefOID(i + 1), "adrelid": o.ID.OID(), "adnum": i + 1, "adbin": text})
			}
		}
	}
	return nil
}

func pgIndex(c *SystemContext, r *Rows) error {
	for _, o := range c.userRelations() {
		if !hasKeyIndex(o) {
			continue
		}
		n := len(o.Key)
		colls := make([]uint32, n)
		for i, k := range o.Key {
			if t := c.Catalog.sys.typeByOID(o.Columns[k].Type.OID()); t != nil {
				colls[i] = t.collation
			}
		}
		r.Row(Vals{"indexrelid": o.ID.indexOID(), "indrelid": o.ID.OID(), "indnatts": n, "indnkeyatts": n,
			"indisunique": true, "indisprimary": true, "indimmediate": true, "indisvalid": true, "indisready": true,
			"indislive": true, "indkey": o.keyAtts(), "indcollation": colls, "indclass": make([]uint32, n),
			"indoption": make([]int16, n)})
	}
	return nil
}

func pgConstraint(c *SystemContext, r *Rows) error {
	for _, o := range c.userRelations() {
		if hasKeyIndex(o) {
			r.Row(Vals{"oid": o.ID.constraintOID(), "conname": o.KeyName(), "connamespace": namespaceOIDs[o.Name.Schema],
				"contype": "p", "convalidated": true, "conrelid": o.ID.OID(), "conindid": o.ID.indexOID(),
				"conislocal": true, "connoinherit": true, "conkey": o.keyAtts(), "confupdtype": " ", "confdeltype": " ",
				"confmatchtype": " "})
		}
	}
	return nil
}

func pgDepend(c *SystemContext, r *Rows) error {
	for _, o := range c.userRelations() {
		for _, d := range o.uses() {
			r.Row(Vals{"classid": classClassOID, "objid": o.ID.OID(), "refclassid": classClassOID,
				"refobjid": d.OID(), "deptype": "n"})
		}
	}
	return nil
}

func pgDescription(c *SystemContext, r *Rows) error {
	for _, o := range c.userRelations() {
		if o.Comment != "" {
			r.Row(Vals{"objoid": o.ID.OID(), "classoid": classClassOID, "description": o.Comment})
		}
		for i, col := range o.shownColumns() {
			if col.Comment != "" {
				r.Row(Vals{"objoid": o.ID.OID(), "classoid": classClassOID, "objsubid": i + 1,
					"description": col.Comment})
			}
		}
	}
	return nil
}

func pgRewrite(c *SystemContext, r *Rows) error {
	for _, o := range c.Catalog.Objects(KindView, KindMaterializedView) {
		r.Row(Vals{"oid": o.ID.ruleOID(), "rulename": "_RETURN", "ev_class": o.ID.OID(), "ev_type": "1",
			"ev_enabled": "O", "is_instead": true, "ev_qual": "<>", "ev_action": o.Query})
	}
	return nil
}

func pgForeignTable(c *SystemContext, r *Rows) error {
	for _, o := range c.Catalog.Objects(KindSource) {
		r.Row(Vals{"ftrelid": o.ID.OID(), "ftserver": serverOID, "ftoptions": optionList(o.Options)})
	}
	return nil
}

// optionList is name=value, as PostgreSQL stores options.
func optionList(options map[string]string) []string {
	out := make([]string, 0, len(options))
	for n, v := range options {
		out = append(out, n+"="+Shown(n, v))
	}
	sort.Strings(out)
	return out
}

func quoteJSON(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return []byte(`""`)
	}
	return b
}

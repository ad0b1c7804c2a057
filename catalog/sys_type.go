package catalog

func pgTypeRows(c *SystemContext, r *Rows) error {
	base := namespaceOIDs[SchemaPGCatalog]
	for _, t := range c.Catalog.sys.types {
		r.Row(Vals{"oid": t.oid, "typname": t.name, "typnamespace": base, "typowner": ownerOID, "typlen": t.len,
			"typbyval": t.byVal, "typtype": t.typ, "typcategory": t.category, "typispreferred": t.preferred,
			"typisdefined": true, "typdelim": t.delim, "typsubscript": t.subscript, "typelem": t.elem,
			"typarray": t.array, "typinput": t.input, "typoutput": t.output, "typreceive": t.receive,
			"typsend": t.send, "typmodin": t.modin, "typmodout": t.modout, "typanalyze": t.analyze,
			"typalign": t.align, "typstorage": t.storage, "typtypmod": -1, "typcollation": t.collation})
	}
	for _, o := range c.userRelations() {
		ns := namespaceOIDs[o.Name.Schema]
		r.Row(Vals{"oid": o.ID.rowTypeOID(), "typname": o.Name.Name, "typnamespace": ns, "typowner": ownerOID,
			"typlen": -1, "typtype": "c", "typcategory": "C", "typisdefined": true, "typdelim": ",",
			"typrelid": o.ID.OID(), "typarray": o.ID.arrayTypeOID(), "typinput": 2290, "typoutput": 2291,
			"typreceive": 2402, "typsend": 2403, "typalign": "d", "typstorage": "x", "typtypmod": -1})
		r.Row(Vals{"oid": o.ID.arrayTypeOID(), "typname": "_" + o.Name.Name, "typnamespace": ns,
			"typowner": ownerOID, "typlen": -1, "typtype": "b", "typcategory": "A", "typisdefined": true,
			"typdelim": ",", "typelem": o.ID.rowTypeOID(), "typsubscript": 6179, "typinput": 750, "typoutput": 751,
			"typreceive": 2400, "typsend": 2401, "typanalyze": 3816, "typalign": "d", "typstorage": "x",
			"typtypmod": -1})
	}
	return nil
}

func pgProcRows(c *SystemContext, r *Rows) error {
	for _, p := range c.Functions.procs {
		v := Vals{"oid": p.oid, "proname": p.name, "pronamespace": namespaceOIDs[SchemaPGCatalog],
			"proowner": ownerOID, "prolang": 12, "procost": float64(1), "provariadic": p.variadic, "prokind": p.kind,
			"proisstrict": p.strict, "proretset": p.retset, "provolatile": p.volatility, "proparallel": "s",
			"pronargs": len(p.args), "pronargdefaults": p.defaults, "prorettype": p.ret, "proargtypes": p.args,
			"prosrc": p.name}
		if p.retset {
			v["prorows"] = float64(1000)
		}
		if p.args == nil {
			v["proargtypes"] = []uint32{}
		}
		if p.argNames != nil {
			v["proargnames"] = p.argNames
		}
		r.Row(v)
	}
	return nil
}

func pgCollation(_ *SystemContext, r *Rows) error {
	for _, c := range []struct {
		oid            uint32
		name, provider string
		text           any
	}{{100, "default", "d", nil}, {950, "C", "c", "C"}, {951, "POSIX", "c", "POSIX"}} {
		r.Row(Vals{"oid": c.oid, "collname": c.name, "collnamespace": namespaceOIDs[SchemaPGCatalog],
			"collowner": ownerOID, "collprovider": c.provider, "collisdeterministic": true, "collencoding": -1,
			"collcollate": c.text, "collctype": c.text})
	}
	return nil
}

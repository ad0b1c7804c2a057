package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// formatVersion is the version of the stored encoding. A store with a newer one
// is refused.
const formatVersion = 1

// metaID is the id under which the catalog's own record is stored.
const metaID ObjectID = 0

type metaRecord struct {
	Version int      `json:"version"`
	Next    ObjectID `json:"next"` // no id from here on has been handed out
}

type objectRecord struct {
	ID            ObjectID          `json:"id"`
	Schema        string            `json:"schema"`
	Name          string            `json:"name"`
	Kind          string            `json:"kind"`
	Columns       []columnRecord    `json:"columns,omitempty"`
	Key           []int             `json:"key"`
	KeyConstraint string            `json:"key_constraint,omitempty"`
	AppendOnly    bool              `json:"append_only,omitempty"`
	Watermark     *watermarkRecord  `json:"watermark,omitempty"`
	Options       map[string]string `json:"options,omitempty"`
	Format        string            `json:"format,omitempty"`
	Encode        string            `json:"encode,omitempty"`
	FormatOptions map[string]string `json:"format_options,omitempty"`
	Query         string            `json:"query,omitempty"`
	TimeZone      string            `json:"time_zone,omitempty"`
	SQL           string            `json:"sql"`
	Into          ObjectID          `json:"into,omitempty"`
	DependsOn     []ObjectID        `json:"depends_on,omitempty"`
	Diverts       []ObjectID        `json:"diverts,omitempty"`
	Comment       string            `json:"comment,omitempty"`
	Origin        *Origin           `json:"origin,omitempty"`
	Layout        uint32            `json:"layout,omitempty"`
}

type columnRecord struct {
	Name      string     `json:"name"`
	Type      typeRecord `json:"type"`
	NotNull   bool       `json:"not_null,omitempty"`
	Default   string     `json:"default,omitempty"`
	Generated string     `json:"generated,omitempty"`
	Meta      string     `json:"meta,omitempty"`
	Hidden    bool       `json:"hidden,omitempty"`
	Comment   string     `json:"comment,omitempty"`
}

type watermarkRecord struct {
	Column string `json:"column"`
	Expr   string `json:"expr"`
}

// typeRecord is a type by PostgreSQL's name, so that the numbering of types may
// change between releases.
type typeRecord struct {
	Name   string        `json:"name"`
	Mod    int16         `json:"mod,omitempty"`
	Scale  int16         `json:"scale,omitempty"`
	Elem   *typeRecord   `json:"elem,omitempty"`
	Fields []fieldRecord `json:"fields,omitempty"`
}

type fieldRecord struct {
	Name string     `json:"name"`
	Type typeRecord `json:"type"`
}

var typesByName = func() map[string]types.ID {
	m := map[string]types.ID{"array": types.Array, "struct": types.Struct}
	for _, t := range types.All() {
		m[t.PGName()] = t.ID
	}
	return m
}()

var kindsByName = func() map[string]Kind {
	m := map[string]Kind{}
	for k, n := range kindNames {
		m[n] = k
	}
	return m
}()

func encodeType(t types.Type) typeRecord {
	r := typeRecord{Name: t.Base().PGName(), Mod: t.Mod, Scale: t.Scale}
	switch t.ID {
	case types.Array:
		e := encodeType(*t.Elem)
		r.Name, r.Elem = "array", &e
	case types.Struct:
		r.Name = "struct"
		for _, f := range t.Fields {
			r.Fields = append(r.Fields, fieldRecord{f.Name, encodeType(f.Type)})
		}
	}
	return r
}

func decodeType(r typeRecord) (types.Type, error) {
	id, ok := typesByName[r.Name]
	if !ok {
		return types.Type{}, fmt.Errorf("unknown type %q", r.Name)
	}
	t := types.Type{ID: id, Mod: r.Mod, Scale: r.Scale}
	if id == types.Array {
		if r.Elem == nil {
			return types.Type{}, fmt.Errorf("array without element type")
		}
		e, err := decodeType(*r.Elem)
		if err != nil {
			return types.Type{}, err
		}
		t.Elem = &e
	}
	for _, f := range r.Fields {
		ft, err := decodeType(f.Type)
		if err != nil {
			return types.Type{}, err
		}
		t.Fields = append(t.Fields, types.Field{Name: f.Name, Type: ft})
	}
	return t, nil
}

// EncodeObject returns the stored form of o.
func EncodeObject(o *Object) ([]byte, error) {
	r := objectRecord{ID: o.ID, Schema: o.Name.Schema, Name: o.Name.Name, Kind: o.Kind.String(), Key: o.Key,
		AppendOnly: o.AppendOnly, Options: o.Options, Format: o.Format, Encode: o.Encode,
		FormatOptions: o.FormatOptions, Query: o.Query, TimeZone: o.TimeZone, SQL: o.SQL, Into: o.Into,
		DependsOn: o.DependsOn, Comment: o.Comment, KeyConstraint: o.KeyConstraint, Diverts: o.Diverts,
		Origin: o.Origin, Layout: o.Layout}
	for _, c := range o.Columns {
		r.Columns = append(r.Columns, columnRecord{c.Name, encodeType(c.Type), c.NotNull, c.Default,
			c.Generated, c.Meta, c.Hidden, c.Comment})
	}
	if o.Watermark != nil {
		r.Watermark = &watermarkRecord{o.Watermark.Column, o.Watermark.Expr}
	}
	return json.Marshal(r)
}

// DecodeObject reads what EncodeObject wrote; XX001 if it cannot.
func DecodeObject(data []byte) (*Object, error) {
	var r objectRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, sqlerr.Wrap(err, sqlerr.DataCorrupted, "stored catalog object cannot be read")
	}
	o := &Object{ID: r.ID, Name: Name{r.Schema, r.Name}, Kind: kindsByName[r.Kind], Key: r.Key,
		AppendOnly: r.AppendOnly, Options: r.Options, Format: r.Format, Encode: r.Encode,
		FormatOptions: r.FormatOptions, Query: r.Query, TimeZone: r.TimeZone, SQL: r.SQL, Into: r.Into,
		DependsOn: r.DependsOn, Comment: r.Comment, KeyConstraint: r.KeyConstraint, Diverts: r.Diverts,
		Origin: r.Origin, Layout: r.Layout}
	if o.Kind == 0 {
		return nil, sqlerr.New(sqlerr.DataCorrupted, "stored catalog object %q has the unknown kind %q", r.Name, r.Kind)
	}
	for _, c := range r.Columns {
		t, err := decodeType(c.Type)
		if err != nil {
			return nil, sqlerr.Wrap(err, sqlerr.DataCorrupted, "column %q of stored catalog object %q", c.Name, r.Name)
		}
		o.Columns = append(o.Columns, Column{Name: c.Name, Type: t, NotNull: c.NotNull, Default: c.Default,
			Generated: c.Generated, Meta: c.Meta, Hidden: c.Hidden, Comment: c.Comment})
	}
	if r.Watermark != nil {
		o.Watermark = &WatermarkDef{r.Watermark.Column, r.Watermark.Expr}
	}
	return o, nil
}

package session

import (
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// checkChanging checks what a source, or a table that is fed, must have whose records
// change rows: a key by which rows are found, in the records themselves.
func checkChanging(o *catalog.Object) error {
	if !o.Changing() {
		return nil
	}
	format := "FORMAT " + strings.ToUpper(o.Format)
	if len(o.Key) == 0 {
		return sqlerr.New(sqlerr.InvalidTableDefinition, "%s %q with %s needs a primary key", o.Kind, o.Name.Name, format).
			WithHint("Its records are changes of rows: say by PRIMARY KEY (...) which columns identify a row.")
	}
	if o.Kind == catalog.KindTable && o.AppendOnly {
		return sqlerr.New(sqlerr.InvalidTableDefinition, "table %q cannot be APPEND ONLY: the records of %s change rows",
			o.Name.Name, format)
	}
	for _, k := range o.Key {
		switch c := o.Columns[k]; {
		case c.Generated != "":
			return sqlerr.New(sqlerr.InvalidTableDefinition,
				"column %q is generated and cannot be part of the key of %s", c.Name, format)
		case c.Meta != "":
			return sqlerr.New(sqlerr.InvalidTableDefinition,
				"column %q is the record's %s and cannot be part of the key of %s", c.Name, c.Meta, format).
				WithHint("With FORMAT UPSERT the columns of the primary key are read from the record's key.")
		}
	}
	return nil
}

package format

import "github.com/streamsql/streamsql/sql/types"

// kind says how a node's values are read.
type kind uint8

const (
	kindText kind = iota
	kindBool
	kindInt2
	kindInt4
	kindInt8
	kindFloat4
	kindFloat8
	kindNumeric
	kindTimestamp
	kindTimestamptz
	kindDate
	kindJSON
	kindJSONB
	kindStruct
	kindList
	kindInput // everything else: the type's input syntax
	kindSkip  // an unused column
	kindWire  // JSON whose values stand for something else than they look: see wire
)

// kindOf returns the kind of a type; types whose modifier must be applied are
// read by their input function.
func kindOf(t types.Type) kind {
	switch t.ID {
	case types.Text:
		return kindText
	case types.Varchar:
		if t.Mod == 0 {
			return kindText
		}
	case types.Bool:
		return kindBool
	case types.Int2:
		return kindInt2
	case types.Int4:
		return kindInt4
	case types.Int8:
		return kindInt8
	case types.Float4:
		return kindFloat4
	case types.Float8:
		return kindFloat8
	case types.Numeric:
		if t.Mod == 0 {
			return kindNumeric
		}
	case types.Timestamp:
		return kindTimestamp
	case types.Timestamptz:
		return kindTimestamptz
	case types.Date:
		return kindDate
	case types.JSON:
		return kindJSON
	case types.JSONB:
		return kindJSONB
	case types.Struct:
		return kindStruct
	case types.Array:
		return kindList
	}
	return kindInput
}

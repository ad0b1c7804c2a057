package state

import "encoding/binary"

// Key spaces: the first byte of every key.
const (
	spaceMeta       byte = 0x00 // format version, counters
	spaceCatalog    byte = 0x01 // | object id u32 → object
	spaceCheckpoint byte = 0x02 // | query u32 → Checkpoint
	spaceOperator   byte = 0x03 // | query u32 | operator u16 | table u8 | … → state
	spaceRows       byte = 0x04 // | relation u32 | row key → row
	spaceFeed       byte = 0x05 // | relation u32 | version u64 → changes
	spaceRelation   byte = 0x06 // | relation u32 → version, next row id
	spaceRecord     byte = 0x07 // | query u32 | kind u8 | sequence u64 → record
	spaceSavepoint  byte = 0x08 // | savepoint u32 → Savepoint
)

// TableID names one table of one operator of one query.
type TableID struct {
	Query    uint32
	Operator uint16
	Table    uint8
}

// Prefix returns the first bytes of the table's keys.
func (t TableID) Prefix() []byte {
	b := make([]byte, 0, 24)
	b = append(b, spaceOperator)
	b = binary.BigEndian.AppendUint32(b, t.Query)
	b = binary.BigEndian.AppendUint16(b, t.Operator)
	return append(b, t.Table)
}

func prefix32(space byte, id uint32) []byte {
	b := make([]byte, 0, 16)
	return binary.BigEndian.AppendUint32(append(b, space), id)
}

func feedKey(rel uint32, version uint64) []byte {
	return binary.BigEndian.AppendUint64(prefix32(spaceFeed, rel), version)
}

// After returns the first key that does not begin with p; nil when there is none.
func After(p []byte) []byte {
	e := append([]byte(nil), p...)
	for i := len(e) - 1; i >= 0; i-- {
		if e[i]++; e[i] != 0 {
			return e[:i+1]
		}
	}
	return nil
}

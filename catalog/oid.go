package catalog

// FirstOID is the first oid of a user's object, as in PostgreSQL.
const FirstOID = 16384

// systemBit marks the ids of system relations; the rest of such an id is the
// relation's oid.
const systemBit ObjectID = 1 << 31

// oidsPerObject is the distance between the oids of neighbouring ids.
const oidsPerObject = 8

// attrdefBase is where the oids of column defaults begin.
const attrdefBase = 1 << 30

// OID is the oid of the relation in pg_class.
func (id ObjectID) OID() uint32 {
	if id&systemBit != 0 {
		return uint32(id &^ systemBit)
	}
	return FirstOID + uint32(id)*oidsPerObject
}

// rowTypeOID, arrayTypeOID, indexOID and constraintOID are the oids of what
// belongs to a relation: its row type, the array of it, its primary key's index
// and constraint.
func (id ObjectID) rowTypeOID() uint32    { return id.OID() + 1 }
func (id ObjectID) arrayTypeOID() uint32  { return id.OID() + 2 }
func (id ObjectID) indexOID() uint32      { return id.OID() + 3 }
func (id ObjectID) constraintOID() uint32 { return id.OID() + 4 }
func (id ObjectID) ruleOID() uint32       { return id.OID() + 5 }

// attrdefOID is the oid of the default of column att (from 1).
func (id ObjectID) attrdefOID(att int) uint32 { return attrdefBase + uint32(id)*2048 + uint32(att) }

// IDOfOID returns the object that an oid at or above FirstOID belongs to and
// which of its oids it is; ok is false for others. Whether such an object
// exists only a snapshot knows.
func IDOfOID(oid uint32) (id ObjectID, part uint32, ok bool) {
	if oid < FirstOID || oid >= attrdefBase {
		return 0, 0, false
	}
	return ObjectID((oid - FirstOID) / oidsPerObject), (oid - FirstOID) % oidsPerObject, true
}

package catalog

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Tx is a change of the catalog in the making. Its own view shows it at once;
// others see it from Commit on. Not safe for concurrent use. Forgetting a Tx
// rolls it back.
type Tx struct {
	c       *Catalog
	view    *Snapshot // base with the changes
	base    uint64
	puts    map[ObjectID]*Object // new versions
	before  map[ObjectID]*Object // what was there when first touched; nil: nothing
	touched bool
}

// Begin starts a change over the version in force.
func (c *Catalog) Begin() *Tx {
	s := c.Snapshot()
	return &Tx{c: c, view: s, base: s.version, puts: map[ObjectID]*Object{}, before: map[ObjectID]*Object{}}
}

// Snapshot returns the catalog with the changes so far; while there are none,
// the version in force.
func (t *Tx) Snapshot() *Snapshot {
	if !t.touched {
		return t.c.Snapshot()
	}
	return t.view
}

// Changed tells whether there is anything to commit.
func (t *Tx) Changed() bool { return t.touched }

// Created returns the new objects in the order of their dependencies, and
// Dropped the removed ones in the reverse order.
func (t *Tx) Created() []*Object {
	var out []*Object
	for _, o := range t.view.InOrder() {
		if _, put := t.puts[o.ID]; put && t.before[o.ID] == nil {
			out = append(out, o)
		}
	}
	return out
}

// Dropped returns the removed objects, dependents first.
func (t *Tx) Dropped() []*Object {
	var out []*Object
	for id, old := range t.before {
		if _, put := t.puts[id]; !put && old != nil {
			out = append(out, old)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID > out[j].ID })
	return out
}

// Replaced returns the objects that have a new version.
func (t *Tx) Replaced() []*Object {
	var out []*Object
	for id, o := range t.puts {
		if t.before[id] != nil {
			out = append(out, o)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// Before returns what the object was before the Tx; nil if it is new.
func (t *Tx) Before(id ObjectID) *Object { return t.before[id] }

// edit makes the view the Tx's own before the first change.
func (t *Tx) edit(id ObjectID) {
	if !t.touched {
		s := *t.c.Snapshot()
		s.byID, s.byName = maps.Clone(s.byID), maps.Clone(s.byName)
		t.view, t.base, t.touched = &s, s.version, true
	} else {
		// Snapshots handed out before this change keep their maps.
		s := *t.view
		s.byID, s.byName = maps.Clone(s.byID), maps.Clone(s.byName)
		t.view = &s
	}
	if _, known := t.before[id]; !known {
		t.before[id] = t.view.byID[id]
	}
}

// Create adds o, whose ID the caller took from NewID. It fails with 42P07 if
// the name is taken, and 3F000 or 42501 for a schema that cannot hold it.
func (t *Tx) Create(o *Object) error {
	if err := t.Free(o.Name); err != nil {
		return err
	}
	for _, d := range o.uses() {
		if d&systemBit == 0 && t.Snapshot().ByID(d) == nil {
			return sqlerr.New(sqlerr.UndefinedObject, "an object that %s %q reads no longer exists", o.Kind, o.Name)
		}
	}
	t.edit(o.ID)
	t.put(o)
	return nil
}

// Free tells whether an object could be made with that name: nil, or what
// Create would fail with.
func (t *Tx) Free(n Name) error {
	switch n.Schema {
	case SchemaPublic:
	case SchemaPGCatalog, SchemaInfo, SchemaStreamsql:
		return sqlerr.New(sqlerr.InsufficientPrivilege, "permission denied to create %q", n.Schema+"."+n.Name).
			WithDetail("System catalog modifications are currently disallowed.")
	default:
		return sqlerr.New(sqlerr.InvalidSchemaName, "schema %q does not exist", n.Schema).
			WithHint("Objects are created in schema public.")
	}
	if t.Snapshot().get(n) != nil {
		return sqlerr.New(sqlerr.DuplicateTable, "relation %q already exists", n.Name)
	}
	return nil
}

func (t *Tx) put(o *Object) {
	if old := t.view.byID[o.ID]; old != nil {
		delete(t.view.byName, old.Name)
	}
	t.view.byID[o.ID], t.view.byName[o.Name] = o, o
	t.puts[o.ID] = o
}

func (t *Tx) remove(o *Object) {
	t.edit(o.ID)
	delete(t.view.byID, o.ID)
	delete(t.view.byName, o.Name)
	delete(t.puts, o.ID)
	if t.before[o.ID] == nil {
		delete(t.before, o.ID) // came and went within the Tx
	}
}

// Replace stores a new version of an object; the name stays.
func (t *Tx) Replace(o *Object) error {
	old := t.Snapshot().ByID(o.ID)
	if old == nil || old.Name != o.Name {
		return sqlerr.Internal("object %d is not what it was", o.ID)
	}
	t.edit(o.ID)
	t.put(o)
	return nil
}

// Rename gives an object another name in its schema and returns the new version.
func (t *Tx) Rename(id ObjectID, name string) (*Object, error) {
	old := t.Snapshot().ByID(id)
	if old == nil {
		return nil, sqlerr.Internal("object %d does not exist", id)
	}
	c := *old
	c.Name.Name = name
	if err := t.Free(c.Name); err != nil {
		return nil, err
	}
	t.edit(id)
	t.put(&c)
	return &c, nil
}

// Drop removes the objects. Whatever else depends on them is removed too with
// cascade, and else refused with 2BP01. It returns what was removed beyond ids,
// in the order in which PostgreSQL would name it.
func (t *Tx) Drop(ids []ObjectID, cascade bool) (also []*Object, err error) {
	snap := t.Snapshot()
	gone := map[ObjectID]bool{}
	for _, id := range ids {
		gone[id] = true
	}
	var detail []string
	for queue := slices.Clone(ids); len(queue) > 0; queue = queue[1:] {
		on := snap.ByID(queue[0])
		if on == nil {
			return nil, sqlerr.Internal("object %d does not exist", queue[0])
		}
		for _, d := range snap.Dependents(on.ID) {
			if gone[d.ID] {
				continue
			}
			gone[d.ID] = true
			also = append(also, d)
			queue = append(queue, d.ID)
			detail = append(detail, d.Kind.String()+" "+d.Name.String()+" depends on "+on.Kind.String()+" "+on.Name.String())
		}
	}
	if len(also) > 0 && !cascade {
		return nil, dependents(snap, ids, detail)
	}
	for _, o := range also {
		t.remove(o)
	}
	for _, id := range ids {
		if o := snap.ByID(id); o != nil && t.Snapshot().ByID(id) != nil {
			t.remove(o)
		}
	}
	return also, nil
}

func dependents(snap *Snapshot, ids []ObjectID, detail []string) *sqlerr.Error {
	msg := "cannot drop desired object(s) because other objects depend on them"
	if len(ids) == 1 {
		o := snap.ByID(ids[0])
		msg = "cannot drop " + o.Kind.String() + " " + o.Name.String() + " because other objects depend on it"
	}
	return sqlerr.New(sqlerr.DependentObjects, "%s", msg).WithDetail("%s", strings.Join(detail, "\n")).
		WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
}

// Commit stores the changes and makes them the version in force. It fails with
// 40001 when another session has changed what this one builds on, and with the
// store's error; then nothing is changed.
func (t *Tx) Commit() error {
	if !t.touched {
		return nil
	}
	c := t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	cur := c.Snapshot()
	next := *cur
	next.byID, next.byName = maps.Clone(cur.byID), maps.Clone(cur.byName)
	next.version++
	if err := t.apply(cur, &next); err != nil {
		return err
	}
	if c.persist != nil {
		if err := t.store(); err != nil {
			return err
		}
	}
	c.cur.Store(&next)
	return nil
}

// apply replays the changes on the version in force.
func (t *Tx) apply(cur, next *Snapshot) error {
	for id, old := range t.before {
		if cur.byID[id] != old {
			return conflict()
		}
		if old != nil {
			delete(next.byID, id)
			delete(next.byName, old.Name)
		}
	}
	for id, o := range t.puts {
		if next.byName[o.Name] != nil {
			return sqlerr.New(sqlerr.DuplicateTable, "relation %q already exists", o.Name.Name)
		}
		next.byID[id], next.byName[o.Name] = o, o
	}
	if cur.version == t.base {
		return nil
	}
	for _, o := range next.byID { // K3 against what others dropped or built since
		for _, d := range o.uses() {
			if d&systemBit == 0 && next.byID[d] == nil {
				return conflict()
			}
		}
	}
	return nil
}

func conflict() error {
	return sqlerr.New(sqlerr.SerializationFailure, "could not serialize access due to concurrent update").
		WithDetail("Another session has changed an object that this statement uses.").
		WithHint("The statement might succeed if retried.")
}

func (t *Tx) store() error {
	puts := make(map[uint32][]byte, len(t.puts))
	for id, o := range t.puts {
		data, err := EncodeObject(o)
		if err != nil {
			return err
		}
		puts[uint32(id)] = data
	}
	var deletes []uint32
	for id := range t.before {
		if _, put := t.puts[id]; !put {
			deletes = append(deletes, uint32(id))
		}
	}
	return t.c.persist.CommitObjects(puts, deletes)
}

// Inverse returns a Tx that undoes a committed one, for a caller whose next
// step failed.
func (t *Tx) Inverse() *Tx {
	inv := t.c.Begin()
	inv.touched = true
	s := *t.c.Snapshot()
	s.byID, s.byName = maps.Clone(s.byID), maps.Clone(s.byName)
	inv.view = &s
	inv.base = s.version
	for id, old := range t.before {
		inv.before[id] = t.puts[id]
		if old != nil {
			inv.puts[id] = old
		}
		if now := t.puts[id]; now != nil {
			delete(s.byID, id)
			delete(s.byName, now.Name)
		}
	}
	for id, old := range inv.puts {
		s.byID[id], s.byName[old.Name] = old, old
	}
	return inv
}

// TxMark is a place in a Tx to go back to.
type TxMark struct {
	view         *Snapshot
	puts, before map[ObjectID]*Object
	touched      bool
}

// Mark notes where t is.
func (t *Tx) Mark() *TxMark {
	return &TxMark{t.view, maps.Clone(t.puts), maps.Clone(t.before), t.touched}
}

// BackTo undoes the changes since the mark, which stays valid.
func (t *Tx) BackTo(m *TxMark) {
	t.view, t.puts, t.before, t.touched = m.view, maps.Clone(m.puts), maps.Clone(m.before), m.touched
}

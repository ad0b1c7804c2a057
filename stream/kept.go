package stream

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// LateRow is a row that was dropped as late, as it is stored.
type LateRow struct {
	OperatorID int    `json:"op"`
	Operator   string `json:"name"`
	Micros     int64  `json:"at"`
	// EventTime is the time that was tested, Watermark what it was tested against.
	EventTime arrowbatch.EventTime `json:"time"`
	Watermark arrowbatch.EventTime `json:"watermark"`
	// Split, From and Until are where the row was read, "" where that is not known.
	Split string `json:"split,omitempty"`
	From  string `json:"from,omitempty"`
	Until string `json:"until,omitempty"`
	// Delete: the row is the taking back of one.
	Delete bool `json:"delete,omitempty"`
	// Row is the row as JSON.
	Row string `json:"row"`
}

// lateReason says in words why a row was dropped.
const lateReason = "late"

// BadRow is a record that could not be decoded.
type BadRow struct {
	connector.BadRow
	Source string
}

// keeper stores, with each epoch, the rows that the query left out in it. Its
// methods are called by one commit after the other.
type keeper struct {
	q     *Query
	store *state.Store
	late  map[int]target    // by operator
	bad   map[string]target // by source, as checkpoints name it
	// records that there are, by kind: from the first up to but not including next.
	first, next map[state.RecordKind]uint64
	// beyond has the tables whose row ids ours are known to be greater than.
	beyond map[catalog.ObjectID]bool
}

// target is what becomes of the rows of one operator or source; into is set where a
// table takes them.
type target struct {
	Keep
	into *diversion
}

func newKeeper(q *Query) (*keeper, error) {
	k := &keeper{q: q, store: q.m.cfg.Store, late: map[int]target{}, bad: map[string]target{},
		first: map[state.RecordKind]uint64{}, next: map[state.RecordKind]uint64{}, beyond: map[catalog.ObjectID]bool{}}
	for _, kind := range []state.RecordKind{state.LateRecord, state.BadRecord, state.FailedRecord} {
		first, next, err := k.store.RecordRange(uint32(q.id), kind)
		if err != nil {
			return nil, err
		}
		k.first[kind], k.next[kind] = first, next
	}
	return k, nil
}

// plan reads what becomes of the rows that the operators and sources of a plan leave
// out.
func (k *keeper) plan(o *catalog.Object, n physical.Node) error {
	r := k.q.m.cfg.Catalog.Snapshot().WithPath(catalog.DefaultPath)
	keep, err := lateKeep(o, n)
	if err == nil {
		k.late[int(n.ID())], err = targetOf(r, keep, func(t *catalog.Object) (*diversion, error) {
			return lateDiversion(t, n)
		})
		if err != nil && !dropsLate(n) {
			k.late[int(n.ID())], err = target{}, nil
		}
	}
	if s, ok := n.(*physical.SourceScan); ok && err == nil {
		keep, _ := keepOf(s.Object, BadRowsOption)
		k.bad[strconv.Itoa(int(n.ID()))], err = targetOf(r, keep, badDiversion)
	}
	if err != nil {
		return err
	}
	for _, c := range n.Children() {
		if err := k.plan(o, c); err != nil {
			return err
		}
	}
	return nil
}

func targetOf(r catalog.Resolver, k Keep, into func(t *catalog.Object) (*diversion, error)) (target, error) {
	if k.Table == nil {
		return target{Keep: k}, nil
	}
	t, err := tableFor(r, k.Table)
	if err != nil {
		return target{}, err
	}
	d, err := into(t)
	return target{k, d}, err
}

// keepLate is build.Env's.
func (k *keeper) keepLate(n physical.Node) int { return k.late[int(n.ID())].limit() }

// keepBad is build.Env's.
func (k *keeper) keepBad(o *catalog.Object) int {
	keep, _ := keepOf(o, BadRowsOption)
	return keep.limit()
}

// write returns the changes that store what the acknowledgements have: records, and
// rows of tables. done must be called when they are committed, or will not be.
func (k *keeper) write(acks []*exec.Ack, sources map[string]*catalog.Object) (d *state.Delta, done func(), err error) {
	d = k.store.NewDelta()
	if err = k.writeLate(d, acks); err == nil {
		err = k.writeBad(d, acks, sources)
	}
	if err == nil {
		err = k.writeFailed(d, acks)
	}
	if err == nil {
		done, err = k.writeTables(d, acks, sources)
	}
	if err != nil {
		d.Discard()
		return nil, nil, err
	}
	return d, done, nil
}

func (k *keeper) writeLate(d *state.Delta, acks []*exec.Ack) error {
	var all []exec.LateRows
	for _, a := range acks {
		for _, l := range a.Late {
			if k.late[l.Operator].Rows > 0 {
				all = append(all, l)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b exec.LateRows) int { return cmp.Compare(a.Micros, b.Micros) })
	limit := 0
	for _, l := range all {
		limit = max(limit, k.late[l.Operator].Rows)
	}
	// Only the last ones are worth their text.
	skip := -limit
	for _, l := range all {
		skip += l.Rows.Len
	}
	var records [][]byte
	for _, l := range all {
		for i := range l.Rows.Len {
			if skip--; skip >= 0 {
				continue
			}
			r, err := json.Marshal(lateRow(&l, i, true))
			if err != nil {
				return err
			}
			records = append(records, r)
		}
	}
	k.append(d, state.LateRecord, records, limit)
	return nil
}

// lateRow is row i of l to be stored, with its text where that is wanted.
func lateRow(l *exec.LateRows, i int, text bool) *LateRow {
	r := &LateRow{OperatorID: l.Operator, Operator: l.Name, Micros: l.Micros, EventTime: arrowbatch.NoTime,
		Watermark: l.Watermark, Delete: l.Rows.OpAt(i) == arrowbatch.Delete}
	if text {
		r.Row = rowJSON(l.Fields, l.Rows, i)
	}
	if v := l.Rows.Cols[l.Time]; !v.IsNull(i) {
		r.EventTime = v.I64[i]
	}
	if o := l.Rows.Origin; o != nil {
		r.Split, r.From, r.Until = o.Split, o.From, o.Until
	}
	return r
}

// Vals are the row's values by the names of the columns of streamsql.late_rows,
// those of the query left out.
func (r *LateRow) Vals() catalog.Vals {
	v := catalog.Vals{"operator_id": r.OperatorID, "operator": r.Operator, "at": r.Micros, "reason": lateReason,
		"op": "insert", "row": r.Row}
	if r.Delete {
		v["op"] = "delete"
	}
	for name, t := range map[string]arrowbatch.EventTime{"event_time": r.EventTime, "watermark": r.Watermark} {
		if t != arrowbatch.NoTime {
			v[name] = t
		}
	}
	for name, s := range map[string]string{"split": r.Split, "offset": r.From, "end_offset": r.Until} {
		if s != "" {
			v[name] = s
		}
	}
	return v
}

// Vals are the record by the names of the columns of streamsql.bad_rows, those of the
// query left out.
func (b *BadRow) Vals() catalog.Vals {
	v := catalog.Vals{"source": b.Source, "split": b.Split, "offset": string(b.Offset), "at": b.Micros,
		"reason": b.Reason}
	if b.Bytes != nil {
		v["bytes"] = b.Bytes
	}
	if b.Code != "" {
		v["code"] = b.Code
	}
	return v
}

// append stores records after those that are there, of which limit stay.
func (k *keeper) append(d *state.Delta, kind state.RecordKind, records [][]byte, limit int) {
	if len(records) == 0 {
		return
	}
	query := uint32(k.q.id)
	next := k.next[kind]
	for _, r := range records {
		d.PutRecord(query, kind, next, r)
		next++
	}
	first := k.first[kind]
	if n := next - first; n > uint64(limit) {
		first = next - uint64(limit)
		d.DropRecords(query, kind, k.first[kind], first)
	}
	k.first[kind], k.next[kind] = first, next
}

func (k *keeper) writeBad(d *state.Delta, acks []*exec.Ack, sources map[string]*catalog.Object) error {
	var all []BadRow
	limit := 0
	for _, a := range acks {
		if len(a.Bad) == 0 {
			continue
		}
		o := sources[a.Source]
		keep := k.bad[a.Source]
		limit = max(limit, keep.Rows)
		for _, b := range a.Bad {
			if keep.Rows > 0 {
				all = append(all, BadRow{b, o.Name.String()})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b BadRow) int { return cmp.Compare(a.Micros, b.Micros) })
	var records [][]byte
	for _, b := range all[max(len(all)-limit, 0):] {
		if len(b.Bytes) > connector.KeptBytes { // where a table takes all
			b.Bytes = b.Bytes[:connector.KeptBytes]
		}
		r, err := json.Marshal(b)
		if err != nil {
			return err
		}
		records = append(records, r)
	}
	k.append(d, state.BadRecord, records, limit)
	return nil
}

func (k *keeper) writeFailed(d *state.Delta, acks []*exec.Ack) error {
	var all []exec.FailedRow
	for _, a := range acks {
		all = append(all, a.Failed...)
	}
	slices.SortStableFunc(all, func(a, b exec.FailedRow) int { return cmp.Compare(a.Micros, b.Micros) })
	var records [][]byte
	for _, f := range all[max(len(all)-keptRows, 0):] {
		r, err := json.Marshal(f)
		if err != nil {
			return err
		}
		records = append(records, r)
	}
	k.append(d, state.FailedRecord, records, keptRows)
	return nil
}

// rowJSON shows a row as JSON: an object with the columns of fields or, where they
// are not known, a string.
func rowJSON(fields []types.Field, b *arrowbatch.Batch, i int) string {
	if len(fields) == len(b.Cols) {
		cols := make([]format.Column, len(fields))
		for k, f := range fields {
			cols[k] = format.Column{Name: f.Name, Type: f.Type}
		}
		return string(format.AppendJSONRow(nil, cols, b.Cols, i, nil))
	}
	text, _ := json.Marshal(rowText(b, i))
	return string(text)
}

// Kept are the rows that the queries left out and keep, by query.
type Kept struct {
	Query  uint32
	Name   string
	Late   []LateRow
	Bad    []BadRow
	Failed []exec.FailedRow
}

// decoded adds a stored row to others.
func decoded[T any](rows []T, val []byte) ([]T, error) {
	var r T
	err := json.Unmarshal(val, &r)
	return append(rows, r), err
}

// Kept reads the rows of a kind that all queries keep.
func (m *Manager) Kept(kind state.RecordKind) ([]Kept, error) {
	var out []Kept
	for _, s := range m.Status() {
		k := Kept{Query: s.ID, Name: s.Name}
		err := m.cfg.Store.Records(s.ID, kind, func(_ uint64, val []byte) (err error) {
			switch kind {
			case state.LateRecord:
				k.Late, err = decoded(k.Late, val)
			case state.BadRecord:
				k.Bad, err = decoded(k.Bad, val)
			case state.FailedRecord:
				k.Failed, err = decoded(k.Failed, val)
			}
			if err != nil {
				return sqlerr.Wrap(err, sqlerr.DataCorrupted, "a record of query %s is unreadable", s.Name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

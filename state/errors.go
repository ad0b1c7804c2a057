package state

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// errorTable is the number of the table that live errors are kept in, beyond all
// operators of a plan.
const errorTable = 0xFFFF

func errorPrefix(query uint32) []byte {
	return TableID{Query: query, Operator: errorTable}.Prefix()
}

// LiveError returns the error of a row that the query's result should have and has
// not, because an expression failed; nil when there is none. Deleting or correcting
// the row takes the error back.
func (s *Store) LiveError(from Reader, query uint32) error {
	lo := errorPrefix(query)
	found := errors.New("found")
	var live *sqlerr.Error
	err := scan(from.reader(), lo, After(lo), func(k, v []byte) error {
		k = k[len(lo):]
		end := bytes.IndexByte(k, 0)
		if n, w := binary.Varint(v); w <= 0 || n <= 0 || end < 5 {
			return nil
		}
		live = sqlerr.New(sqlerr.Code(k[:5]), "%s", k[5:end])
		return found
	})
	if err != nil && !errors.Is(err, found) {
		return err
	}
	if live == nil {
		return nil
	}
	return live
}

// dropHealed removes the errors whose rows have a result again. It runs when
// nobody else writes: a count that a query has yet to commit is not seen here.
func dropHealed(db *pebble.DB) (err error) {
	b := db.NewBatch()
	defer b.Close()
	space := []byte{spaceOperator}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: After(space)})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; {
		query := binary.BigEndian.Uint32(it.Key()[1:])
		errs := errorPrefix(query)
		for ok = it.SeekGE(errs); ok && bytes.HasPrefix(it.Key(), errs); ok = it.Next() {
			v, err := it.ValueAndErr()
			if n, w := binary.Varint(v); err == nil && w > 0 && n == 0 {
				err = b.Delete(it.Key(), nil)
			}
			if err != nil {
				return errors.Join(err, it.Close())
			}
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil || b.Empty() {
		return err
	}
	return b.Commit(pebble.NoSync)
}

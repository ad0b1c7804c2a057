package state

// CommitObjects stores and removes catalog objects in one synced write.
func (s *Store) CommitObjects(puts map[uint32][]byte, deletes []uint32) error {
	b := s.db.NewBatch()
	defer b.Close()
	for id, val := range puts {
		if err := b.Set(prefix32(spaceCatalog, id), val, nil); err != nil {
			return err
		}
	}
	for _, id := range deletes {
		if err := b.Delete(prefix32(spaceCatalog, id), nil); err != nil {
			return err
		}
	}
	if len(deletes) > 0 {
		return s.remove(b)
	}
	return s.write(b)
}

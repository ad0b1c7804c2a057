package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
)

// Sink writes rows to a connector, in two phases: what was written in an epoch is
// prepared at its barrier and committed by the query's coordinator after the
// checkpoint.
type Sink struct {
	base
	To connector.Sink

	w connector.Writer
}

// Open opens the writer of this task's part.
func (s *Sink) Open(rt *exec.Runtime, out exec.Output) (err error) {
	if err := s.base.Open(rt, out); err != nil {
		return err
	}
	s.w, err = s.To.Open(rt.Ctx, rt.Part)
	return err
}

// ProcessBatch writes.
func (s *Sink) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	return s.w.Write(s.rt.Ctx, b)
}

// ProcessBarrier prepares the epoch.
func (s *Sink) ProcessBarrier(bar exec.Barrier) error {
	keeping, ok := s.w.(connector.KeepingWriter)
	if ok && bar.Stop {
		keeping.Finish()
	}
	p, err := s.w.Prepare(s.rt.Ctx, connector.Epoch(bar.Epoch))
	if err == nil && p != nil {
		s.rt.SavePrepared(s.rt.Stats.Key(), p)
	}
	if w, ok := s.w.(connector.DeadLetterWriter); ok && err == nil {
		s.rt.Stats.DeadLetters(w.DeadLetters())
	}
	if err == nil && ok {
		s.rt.ChoreAt(keeping.Due())
	}
	return err
}

// Close closes the writer.
func (s *Sink) Close() {
	if s.w != nil {
		_ = s.w.Close()
	}
}

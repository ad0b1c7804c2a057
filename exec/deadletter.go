package exec

import (
	"context"

	"github.com/streamsql/streamsql/connector"
)

// DeadLetterSink names the sink of a source's dead letters in checkpoints.
func DeadLetterSink(source string) string { return source + "-dead" }

// openDeadLetters opens the writer for records that the task's splits have and cannot
// be decoded, if somebody wants them.
func (t *sourceTask) openDeadLetters(ctx context.Context) (err error) {
	if t.spec.DeadLetters != nil {
		t.dead, err = t.spec.DeadLetters.Open(ctx, t.part)
	}
	return err
}

// leftOut takes the records of a read that could not be decoded.
func (t *sourceTask) leftOut(ctx context.Context, bad []connector.BadRow) error {
	if len(bad) == 0 {
		return nil
	}
	if t.dead != nil {
		letters := make([]connector.BadRow, 0, len(bad))
		for _, r := range bad {
			if !r.Gap {
				letters = append(letters, r)
			}
		}
		b := connector.DeadLetters(letters)
		err := t.dead.Write(ctx, b)
		b.Release()
		if err != nil {
			return err
		}
		t.ack.DeadLetters += int64(len(letters))
	}
	t.ack.addBad(bad, t.spec.KeepBad)
	return nil
}

// prepareDeadLetters ends an epoch of them.
func (t *sourceTask) prepareDeadLetters(ctx context.Context, b Barrier) error {
	if t.dead == nil {
		return nil
	}
	p, err := t.dead.Prepare(ctx, connector.Epoch(b.Epoch))
	if err == nil && p != nil {
		name := DeadLetterSink(t.spec.Name)
		t.ack.Prepared[name] = append(t.ack.Prepared[name], p)
	}
	return err
}

func (t *sourceTask) closeDeadLetters() {
	if t.dead != nil {
		_ = t.dead.Close()
	}
}

package build

import (
	"fmt"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/plan/physical"
)

// deadLetters connects what takes the records of a source that cannot be decoded, if the
// source's options name it. To the coordinator it is one sink more: what was written in
// an epoch is committed with it. The static side of a join is read anew at each start,
// and its records would be sent anew each time: they are left out alone.
func (b *continuousBuilder) deadLetters(n *physical.SourceScan, f *exec.Fragment, spec *connector.Spec,
	factory connector.Factory,
) error {
	if factory.DeadLetters == nil || b.static > 0 {
		return nil
	}
	own, name := *spec, exec.DeadLetterSink(sourceName(n))
	own.Identity = fmt.Sprintf("%s-%d-%s", b.Store.ID(), b.query, name)
	own.Outbox = b.Store.Outbox(b.query, uint32(n.ID()))
	own.Query = b.opt.Name
	if b.Report != nil {
		own.Report = func(err error) { b.Report("dead letters of "+spec.Name, err) }
	}
	s, err := factory.DeadLetters(b.ctx, &own)
	if s == nil || err != nil {
		return err
	}
	b.out.Sinks[name], f.Source.DeadLetters = s, s
	return nil
}

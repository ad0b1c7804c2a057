package build

import (
	"slices"
	"strings"
	"time"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/physical"
)

// SplitOptions are a source's choices about the watermarks of its splits.
type SplitOptions struct {
	// Max: the source's watermark is the greatest of its splits', not the least.
	Max bool
	// IdleTimeout is after how long without rows a split stops holding the watermark
	// back; 0: never.
	IdleTimeout time.Duration
}

// ReadSplitOptions reads watermark_splits and idle_timeout of a source; idle is the
// timeout of the query that reads it. A bad value is an *sqlerr.Error.
func ReadSplitOptions(o *catalog.Object, idle time.Duration) (SplitOptions, error) {
	s := SplitOptions{IdleTimeout: idle}
	bad := func(name string) (SplitOptions, error) {
		return s, sqlerr.New(sqlerr.InvalidParameterValue, "invalid value for option %q: %q", name, o.Options[name])
	}
	switch o.Options["watermark_splits"] {
	case "", "min":
	case "max":
		s.Max = true
	default:
		return bad("watermark_splits")
	}
	if v, ok := o.Options["idle_timeout"]; ok {
		if s.IdleTimeout, ok = ParseIdleTimeout(v); !ok {
			return bad("idle_timeout")
		}
	}
	return s, nil
}

// ParseIdleTimeout reads a span of time, or off, which is 0: never.
func ParseIdleTimeout(v string) (time.Duration, bool) {
	if strings.EqualFold(strings.TrimSpace(v), "off") {
		return 0, true
	}
	d, ok := connector.ParseDuration(v)
	return d, ok && d >= 0
}

// Mark is what is known of a watermark operator beside its figures.
type Mark struct {
	Node *physical.Watermark
	// Source is the name in checkpoints of the source that it reads, "" where its
	// rows come from several or from none.
	Source string
	// Greatest: the greatest watermark of its splits counts.
	Greatest bool
	// Static: on the static side of a join, where it tells nothing of the query.
	Static bool
}

// watermark adds a watermark operator.
func (b *continuousBuilder) watermark(n *physical.Watermark, f *exec.Fragment) {
	m := &Mark{Node: n, Greatest: b.greatest[f], Static: b.static > 0}
	if f.Source != nil {
		m.Source = f.Source.Name
	}
	b.out.Marks[sourceName(n)] = m
	b.push(f, n, func() exec.Operator {
		return &operator.Watermark{Column: n.Column, Expr: n.Expr, Delay: n.Delay, MaxOverSplits: m.Greatest, Clock: n.Clock}
	})
}

// IdleTimeouts are the different idle timeouts of the sources, ascending.
func (c *Continuous) IdleTimeouts() []time.Duration {
	var out []time.Duration
	for _, s := range c.Sources {
		if s.Splits.IdleTimeout > 0 && !s.Static {
			out = append(out, s.Splits.IdleTimeout)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

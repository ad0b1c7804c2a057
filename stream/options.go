package stream

import (
	"strconv"
	"strings"
	"time"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/physical"
)

// TriggerKind is a kind of pacer.
type TriggerKind uint8

// The triggers.
const (
	ProcessingTime TriggerKind = iota
	AvailableNow
	Once
	RealTime
)

// Trigger decides when epochs end.
type Trigger struct {
	Kind TriggerKind
	// Interval is the distance of epochs of ProcessingTime; 0: as soon as there is
	// something.
	Interval time.Duration
}

// String returns the option's text.
func (t Trigger) String() string {
	switch t.Kind {
	case AvailableNow:
		return "available_now"
	case Once:
		return "once"
	case RealTime:
		return "real_time"
	}
	if t.Interval == 0 {
		return "processing_time 0"
	}
	return "processing_time " + t.Interval.String()
}

// ParseTrigger reads the option's text.
func ParseTrigger(s string) (Trigger, error) {
	word, rest, _ := strings.Cut(strings.ToLower(strings.TrimSpace(s)), " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "available_now", "once", "real_time":
		if rest == "" {
			return Trigger{Kind: map[string]TriggerKind{"available_now": AvailableNow, "once": Once,
				"real_time": RealTime}[word]}, nil
		}
	case "processing_time":
		if rest == "" || rest == "0" {
			return Trigger{}, nil
		}
		if d, ok := connector.ParseDuration(rest); ok && d >= 0 {
			return Trigger{Interval: d}, nil
		}
	}
	return Trigger{}, sqlerr.New(sqlerr.InvalidParameterValue, "invalid trigger %q", s).
		WithHint("Valid triggers: 'processing_time 0', 'processing_time 10 s', 'available_now', 'once', 'real_time'.")
}

// options are a query's choices, read from its object.
type options struct {
	trigger     Trigger
	checkpoint  time.Duration // real time: distance of barriers
	idle        time.Duration
	parallelism int
	mode        physical.OutputMode
	ttl         time.Duration // 0: state stays
	stateMemory int64         // bytes; 0: a share of the server's
	// maxSources: of several inputs the one that is furthest tells the time.
	maxSources bool
}

func readOptions(o *catalog.Object, def Trigger) (opt options, err error) {
	opt = options{trigger: def, checkpoint: time.Second, idle: 5 * time.Second, parallelism: 1}
	if v, ok := o.Options["trigger"]; ok {
		if opt.trigger, err = ParseTrigger(v); err != nil {
			return opt, err
		}
	}
	bad := func(name string) (options, error) {
		return opt, sqlerr.New(sqlerr.InvalidParameterValue, "invalid value for option %q: %q", name, o.Options[name])
	}
	if v, ok := o.Options["checkpoint_interval"]; ok {
		if opt.checkpoint, ok = connector.ParseDuration(v); !ok {
			return bad("checkpoint_interval")
		}
	}
	if v, ok := o.Options["idle_timeout"]; ok {
		if opt.idle, ok = build.ParseIdleTimeout(v); !ok {
			return bad("idle_timeout")
		}
	}
	if v, ok := o.Options["state_ttl"]; ok {
		if opt.ttl, ok = connector.ParseDuration(v); !ok {
			return bad("state_ttl")
		}
	}
	if v, ok := o.Options["state_memory"]; ok {
		if opt.stateMemory, ok = connector.ParseSize(v); !ok || opt.stateMemory <= 0 {
			return bad("state_memory")
		}
	}
	switch o.Options["watermark_policy"] {
	case "", "min":
	case "max":
		opt.maxSources = true
	default:
		return bad("watermark_policy")
	}
	if v, ok := o.Options["parallelism"]; ok {
		if opt.parallelism, err = strconv.Atoi(v); err != nil || opt.parallelism < 1 {
			return bad("parallelism")
		}
	}
	if v, ok := o.Options["output_mode"]; ok {
		m, ok := physical.ParseOutputMode(v)
		if !ok {
			return bad("output_mode")
		}
		opt.mode = m
	}
	return opt, nil
}

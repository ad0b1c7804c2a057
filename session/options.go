package session

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/stream"
)

// queryOption is an option that the engine keeps, whatever the connector.
type queryOption struct {
	// of are the kinds of objects that take it; alter: also later, but for sources,
	// which have no query of their own that could begin again with it.
	of    []catalog.Kind
	alter bool
	check func(value string) (canonical, want string)
}

func (d *queryOption) altersOf(k catalog.Kind) bool {
	return d.alter && slices.Contains(d.of, k) && k != catalog.KindSource
}

var (
	queryKinds  = []catalog.Kind{catalog.KindMaterializedView, catalog.KindSink, catalog.KindFlow, catalog.KindTable}
	outputKinds = []catalog.Kind{catalog.KindMaterializedView, catalog.KindSink, catalog.KindFlow}
	lateKinds   = append([]catalog.Kind{catalog.KindSource}, outputKinds...)
	badKinds    = []catalog.Kind{catalog.KindSource, catalog.KindTable}
)

// queryOptions are the engine's options by name.
var queryOptions = map[string]queryOption{
	"output_mode":         {outputKinds, false, oneOf("append", "update", "complete", "changelog")},
	"trigger":             {queryKinds, true, checkTrigger},
	"checkpoint_interval": {queryKinds, true, checkDuration},
	"idle_timeout":        {append(queryKinds[:len(queryKinds):len(queryKinds)], catalog.KindSource), true, checkIdle},
	"watermark_policy":    {outputKinds, false, oneOf("min", "max")},
	"watermark_splits":    {[]catalog.Kind{catalog.KindSource, catalog.KindTable}, false, oneOf("min", "max")},
	"pool":                {queryKinds, true, checkName},
	"state_ttl":           {outputKinds, false, checkTTL},
	"state_memory":        {queryKinds, true, checkSize},
	"parallelism":         {queryKinds, true, checkCount},
	stream.LateRowsOption: {lateKinds, false, checkKeep},
	stream.BadRowsOption:  {badKinds, false, checkKeep},
}

func oneOf(words ...string) func(string) (string, string) {
	return func(v string) (string, string) {
		l := strings.ToLower(strings.TrimSpace(v))
		if slices.Contains(words, l) {
			return l, ""
		}
		return "", strings.TrimSpace(sqlerr.Suggest(l, words) + " Valid values are: " + strings.Join(words, ", ") + ".")
	}
}

func checkDuration(v string) (string, string) {
	if _, ok := connector.ParseDuration(v); ok {
		return v, ""
	}
	return "", `Write a span of time such as '1 s'.`
}

func checkIdle(v string) (string, string) {
	if d, ok := build.ParseIdleTimeout(v); ok && d > 0 {
		return v, ""
	} else if ok {
		return "off", ""
	}
	return "", "Write a span of time such as '5 s', or off."
}

func checkTTL(v string) (string, string) {
	if d, ok := connector.ParseDuration(v); ok && d >= 10*time.Millisecond {
		return v, ""
	}
	return "", `Write a span of time of at least 10 ms, such as '1 h'.`
}

// maxParallelism is the number of virtual nodes: no more tasks can have keys.
const maxParallelism = state.Vnodes

func checkCount(v string) (string, string) {
	if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil && n > 0 && n <= maxParallelism {
		return strconv.Itoa(n), ""
	}
	return "", fmt.Sprintf("Write a whole number from 1 to %d.", maxParallelism)
}

func checkSize(v string) (string, string) {
	if n, ok := connector.ParseSize(v); ok && n > 0 {
		return strings.TrimSpace(v), ""
	}
	return "", `Write a size such as '256 MB'.`
}

func checkKeep(v string) (string, string) {
	k, want := stream.ParseKeep(v)
	return k.String(), want
}

func checkName(v string) (string, string) {
	if v = strings.TrimSpace(v); v != "" {
		return v, ""
	}
	return "", "Write the name of a pool."
}

// checkTrigger reads «processing_time [interval]», available_now, once and
// real_time.
func checkTrigger(v string) (string, string) {
	word, rest, _ := strings.Cut(strings.ToLower(strings.TrimSpace(v)), " ")
	rest = strings.TrimSpace(rest)
	switch {
	case word == "processing_time" && rest == "":
		return "processing_time 0", ""
	case word == "processing_time":
		if d, ok := connector.ParseDuration(rest); ok && d >= 0 {
			return word + " " + rest, ""
		}
	case rest == "" && (word == "available_now" || word == "once" || word == "real_time"):
		return word, ""
	}
	return "", "Triggers are 'processing_time 0', 'processing_time 10 s', 'available_now', 'once' and 'real_time'."
}

// takeOptions reads WITH (…) of an object of kind k: the engine's options are
// checked, everything else is the connector's where there is one and refused
// where there is none.
func takeOptions(k catalog.Kind, opts []sql.Option, connectorAllowed bool) (map[string]string, error) {
	out, err := optionMap(opts)
	if err != nil {
		return nil, err
	}
	_, hasConnector := out["connector"]
	for i := range opts {
		n := opts[i].Name
		def, engine := queryOptions[n.Text]
		switch {
		case engine && slices.Contains(def.of, k):
			v, err := checkOption(n, def, out[n.Text])
			if err != nil {
				return nil, err
			}
			out[n.Text] = v
		case n.Text == "connector" && connectorAllowed:
		case !connectorAllowed || !hasConnector:
			return nil, unknownOption(n, optionNames(k, connectorAllowed))
		}
	}
	return out, nil
}

func checkOption(n sql.Name, def queryOption, value string) (string, error) {
	v, want := def.check(value)
	if want != "" {
		return "", sqlerr.New(sqlerr.InvalidParameterValue, "invalid value for option %q: %q", n.Text, value).At(n.Pos).
			WithHint("%s", want)
	}
	return v, nil
}

func optionNames(k catalog.Kind, connectorAllowed bool) []string {
	var out []string
	for n, def := range queryOptions {
		if slices.Contains(def.of, k) {
			out = append(out, n)
		}
	}
	if connectorAllowed {
		out = append(out, "connector")
	}
	sort.Strings(out)
	return out
}

// ConnectorOptions returns the options of an object that are its connector's.
func ConnectorOptions(o *catalog.Object) map[string]string {
	out := map[string]string{}
	for n, v := range o.Options {
		if def, engine := queryOptions[n]; n != "connector" && !(engine && slices.Contains(def.of, o.Kind)) {
			out[n] = v
		}
	}
	return out
}

// ConnectorSpec returns what the connector of a source, a table that one feeds,
// or a sink is made from. Of a sink, columns, key and appendOnly are those of the
// query that feeds it.
func ConnectorSpec(o *catalog.Object) *connector.Spec {
	spec := &connector.Spec{Name: o.Name.String(), Options: ConnectorOptions(o), Format: o.Format, Encode: o.Encode,
		FormatOptions: o.FormatOptions, Key: o.Key, AppendOnly: o.AppendOnly}
	if o.Changing() {
		spec.Key = o.SourceKey()
	}
	for _, c := range o.Columns {
		if c.Generated == "" && !c.Hidden {
			spec.Columns = append(spec.Columns, connector.Column{Name: c.Name, Type: c.Type, Meta: c.Meta, NotNull: c.NotNull})
		}
	}
	return spec
}

// factory finds an object's connector.
func (s *Session) factory(o *catalog.Object) (connector.Factory, error) {
	name := o.Options["connector"]
	f, ok := s.srv.Connectors[name]
	if !ok {
		known := make([]string, 0, len(s.srv.Connectors))
		for n := range s.srv.Connectors {
			known = append(known, n)
		}
		sort.Strings(known)
		e := sqlerr.New(sqlerr.UndefinedObject, "connector %q does not exist", name)
		if e.Hint = sqlerr.Suggest(name, known); e.Hint == "" {
			e.Hint = "Connectors are: " + strings.Join(known, ", ") + "."
		}
		return f, e
	}
	return f, nil
}

// leavesOut tells whether a source's bad records are left out, as far as its options
// tell before its connector has checked them.
func leavesOut(o *catalog.Object) bool {
	for _, given := range []map[string]string{o.FormatOptions, o.Options} {
		how := strings.ToLower(given["on_error"])
		if how != "" && how != connector.OnErrorFail || given["dead_letter"] != "" {
			return true
		}
	}
	return false
}

// checkSource checks a source's options and format with its connector.
func (s *Session) checkSource(o *catalog.Object) error {
	f, err := s.factory(o)
	if err != nil {
		return err
	}
	if f.Source == nil {
		return sqlerr.Unsupported("connector %q cannot be read from", o.Options["connector"])
	}
	if _, given := o.Options[stream.BadRowsOption]; given && !leavesOut(o) {
		return sqlerr.New(sqlerr.InvalidParameterValue, "option %q needs on_error = 'skip'", stream.BadRowsOption).
			WithDetail("Without it the first bad record stops the query.").
			WithHint("Write FORMAT ... ENCODE ... (on_error = 'skip').")
	}
	if o.Diverts, err = stream.CheckSource(s.snapshot().WithPath(catalog.DefaultPath), o); err != nil {
		return err
	}
	if len(o.Columns) == 0 {
		return sqlerr.New(sqlerr.InvalidTableDefinition, "%s %q has no columns", o.Kind, o.Name.Name).
			WithHint("Connector %q does not know them: list them after the name.", o.Options["connector"])
	}
	if err := checkChanging(o); err != nil || f.CheckSource == nil {
		return err
	}
	spec := ConnectorSpec(o)
	spec.Clock = s.srv.Clock
	return f.CheckSource(spec)
}

// checkSink checks a sink for rows of the given columns.
func (s *Session) checkSink(ctx context.Context, o *catalog.Object) error {
	f, err := s.factory(o)
	if err != nil {
		return err
	}
	if f.Sink == nil {
		return sqlerr.Unsupported("connector %q cannot be written to", o.Options["connector"])
	}
	if f.CheckSink == nil {
		return nil
	}
	spec := ConnectorSpec(o)
	spec.Clock = s.srv.Clock
	return f.CheckSink(ctx, spec)
}

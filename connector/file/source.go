package file

import (
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/streamsql/streamsql/connector"
)

// source reads the files of a path. Split k of n reads the files whose names
// hash to it; one split reads them all.
type source struct {
	spec *connector.Spec
	opts sourceOptions
	at   place

	mu sync.Mutex
	// readers are the splits that have been opened: what Latest counts from. Their
	// progress is written with mu held.
	readers map[string]*reader
	// listing is the last one, number lists, made at listed; fixed: it is the only
	// one.
	listing []entry
	lists   int
	listed  time.Time
	fixed   bool
	managed managed
}

func openSource(_ context.Context, s *connector.Spec) (connector.Source, error) {
	opts, err := readSource(s)
	if err != nil {
		return nil, err
	}
	at, err := look(opts.path)
	if err != nil {
		return nil, err
	}
	at.partitions = len(opts.partition) > 0
	src := &source{spec: s, opts: opts, at: at, readers: map[string]*reader{}}
	if opts.tail && src.many() {
		return nil, tailMany(opts.path)
	}
	return src, nil
}

// many tells whether there can be several files.
func (s *source) many() bool { return s.at.dir || s.at.pattern }

// watched tells whether new files are looked for.
func (s *source) watched() bool { return s.many() && s.opts.watch }

// Bounded: a single file ends, a directory or pattern if it is not watched.
func (s *source) Bounded() bool {
	if s.many() {
		return !s.opts.watch
	}
	return !s.opts.tail
}

func (s *source) Splits(context.Context) ([]connector.Split, error) {
	out := make([]connector.Split, s.opts.splits)
	for k := range out {
		out[k].ID = splitID(k)
	}
	return out, nil
}

func splitID(k int) string { return "files-" + strconv.Itoa(k) }

func (s *source) Close() error { return nil }

// files returns the files there are, of all splits, and the number of the listing.
// A listing is used again for the poll interval.
func (s *source) files() ([]entry, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.spec.Clock.Now()
	if s.listing != nil && (s.fixed || now.Sub(s.listed) < s.opts.poll) {
		return s.listing, s.lists, nil
	}
	l, err := s.listLocked()
	if err != nil {
		return nil, 0, err
	}
	if l == nil {
		l = []entry{}
	}
	s.listing, s.listed, s.fixed = l, now, s.Bounded()
	s.lists++
	return l, s.lists, nil
}

func (s *source) listLocked() ([]entry, error) {
	if s.at.dir {
		if sinks, err := s.managed.look(s.at.path); err != nil {
			return nil, err
		} else if sinks {
			return s.managed.list()
		}
	}
	return s.at.list()
}

// mine tells whether a file belongs to a split.
func (s *source) mine(split, name string) bool {
	if s.opts.splits == 1 {
		return true
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash cannot fail
	return splitID(int(h.Sum32()%uint32(s.opts.splits))) == split
}

// sort puts entries, which are sorted by name, into the order of reading. Those of a
// sink's directory are in the order in which they became visible.
func (s *source) sort(es []entry) {
	if s.opts.byTime && len(es) > 0 && es[0].epoch == 0 {
		slices.SortFunc(es, byTime)
	}
}

// Latest names all files there are, or as many new ones as a trigger may take.
// Of a tailed file it gives the size.
func (s *source) Latest(_ context.Context, splits []connector.Split) (map[string]connector.Offset, error) {
	all, _, err := s.files()
	if err != nil {
		return nil, err
	}
	out := map[string]connector.Offset{}
	for _, sp := range splits {
		out[sp.ID] = s.latest(sp.ID, all)
	}
	return out, nil
}

func (s *source) latest(split string, all []entry) connector.Offset {
	var t printer
	if s.opts.tail {
		return t.print(&progress{File: all[0].name, At: all[0].size})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.readers[split]
	from := uint64(0)
	if r != nil {
		from = r.pos.Epoch
	}
	done, fresh := map[string]int64{}, []entry(nil)
	mine := s.ofSplit(split, all, from)
	for _, e := range mine {
		if r != nil && !r.fresh(e) {
			done[e.name] = e.size
		} else {
			fresh = append(fresh, e)
		}
	}
	if r != nil && len(fresh) == 0 && r.pos.File == "" {
		return r.text.print(&r.pos) // the very words, or it would look like something new
	}
	s.sort(fresh)
	if n := s.opts.maxFiles; n > 0 && int64(len(fresh)) > n {
		fresh = fresh[:n]
	}
	for _, e := range fresh {
		done[e.name] = e.size
	}
	p := progress{Done: done}
	if s.managed.owner != nil {
		p = reached(mine, from, done)
	}
	t.reset(p.Done)
	return t.print(&progress{Epoch: p.Epoch})
}

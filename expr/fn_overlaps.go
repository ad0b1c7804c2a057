package expr

import "github.com/streamsql/streamsql/sql/types"

// overlapFunctions adds (start, end) OVERLAPS (start, end) for times; an interval
// in the place of an end is added to the start.
func overlapFunctions(t *table) {
	get := func(f *frame, k, i int) int64 { return f.i64(k, i) }
	for _, typ := range []string{"timestamp", "timestamptz", "time"} {
		t.fn("overlaps", typ+","+typ+","+typ+","+typ+":bool", "periods overlap", func(f *frame, i int) error {
			overlap(f, i, get)
			return nil
		}, calledOnNull)
	}
	for _, typ := range []string{"timestamp", "timestamptz"} {
		for _, form := range spanForms {
			var sig string
			for k, isSpan := range form {
				if k > 0 {
					sig += ","
				}
				if isSpan {
					sig += "interval"
				} else {
					sig += typ
				}
			}
			opts := []fnOption{calledOnNull}
			if typ == "timestamptz" {
				opts = append(opts, stable)
			}
			t.fn("overlaps", sig+":bool", "periods overlap", func(f *frame, i int) error {
				overlap(f, i, func(f *frame, k, i int) int64 {
					if !form[k] {
						return f.i64(k, i)
					}
					zone := f.ctx.zone()
					if typ == "timestamp" {
						zone = nil
					}
					if f.isNull(k-1, i) {
						return 0
					}
					us, _ := types.AddInterval(f.i64(k-1, i), f.ivl(k, i), zone)
					return us
				})
				return nil
			}, opts...)
		}
	}
}

// spanForms are the argument lists with intervals: true in the place of one.
var spanForms = [][4]bool{{false, true, false, true}, {false, true, false, false}, {false, false, false, true}}

// overlap decides OVERLAPS as the standard does where an end is unknown.
func overlap(f *frame, i int, get func(f *frame, k, i int) int64) {
	type end struct {
		x    int64
		null bool
	}
	side := func(a, b int) (s, e end, ok bool) {
		s, e = end{0, f.isNull(a, i)}, end{0, f.isNull(b, i)}
		if !s.null {
			s.x = get(f, a, i)
		}
		if !e.null {
			e.x = get(f, b, i)
			e.null = f.call.fn.params[b].id == types.Interval && s.null
		}
		switch {
		case s.null && e.null:
			return s, e, false
		case s.null:
			return e, s, true
		case !e.null && s.x > e.x:
			return e, s, true
		}
		return s, e, true
	}
	s1, e1, ok1 := side(0, 1)
	s2, e2, ok2 := side(2, 3)
	if !ok1 || !ok2 {
		f.null(i)
		return
	}
	if s1.x > s2.x {
		s1, e1, s2, e2 = s2, e2, s1, e1
	}
	var hit, unknown bool
	switch {
	case s1.x == s2.x:
		hit = !e1.null && !e2.null
		unknown = !hit
	case e1.null:
		unknown = true
	case s2.x < e1.x:
		hit = true
	default:
		unknown = e2.null
	}
	if unknown {
		f.null(i)
	}
	f.out.Bits.Put(i, hit)
}

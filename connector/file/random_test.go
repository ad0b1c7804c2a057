package file

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connector"
)

// Files come at any time under any name; epochs are bounded, some are lost in a
// crash, and a new process goes on from the last checkpoint: in the end the
// checkpointed epochs have each row once.
func TestFilesAndCrashesAtRandom(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := newFixture(t, "batch_rows", fmt.Sprint(1+r.IntN(5)), "max_files_per_trigger", fmt.Sprint(r.IntN(3)))
		rows := func(from, to int) string { return lines(from, to) }
		if seed%3 == 0 {
			f.spec.Encode = "parquet"
			rows = func(from, to int) string { return parquetRows(t, from, to, 1+r.IntN(4)) }
		}
		var committed []string
		var at connector.Offset
		src := f.source()
		reader := f.open(src, at)
		next := 1
		epoch := func() {
			read, to, end, err := f.drain(reader, f.latest(src))
			if err != nil || !end {
				t.Fatalf("seed %d: %v, end %v", seed, err, end)
			}
			committed, at = append(committed, read...), to
		}
		for range 120 {
			switch r.IntN(5) {
			case 0, 1:
				n := r.IntN(6)
				f.write(fmt.Sprintf("f%03d", r.IntN(1000)*1000+next), rows(next, next+n))
				next += n + 1
			case 2:
				time.Sleep(1100 * time.Microsecond) // the listing is made anew
				epoch()
			case 3:
				// A part of an epoch is read and lost.
				for range r.IntN(3) {
					if b, _, err := reader.Read(ctx, f.latest(src)); err == nil {
						b.Release()
					}
				}
				src = f.source()
				reader = f.open(src, at)
			case 4:
				// A checkpoint within a file, as in real time.
				b, to, err := reader.Read(ctx, "")
				if err == nil {
					committed, at = append(committed, f.rows(b)...), to
				}
			}
		}
		for range 200 {
			time.Sleep(1100 * time.Microsecond)
			before := len(committed)
			epoch()
			if len(committed) == before && len(committed) == next-1 {
				break
			}
		}
		slices.Sort(committed)
		if n := len(slices.Compact(committed)); len(committed) != next-1 || n != next-1 {
			t.Errorf("seed %d: %d rows, %d different, want %d", seed, len(committed), n, next-1)
		}
	}
}

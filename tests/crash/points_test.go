package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/streamsql/streamsql/internal/spawn"
)

// clone is what a crash leaves.
type clone struct {
	fs    *vfs.MemFS
	w     *world
	point int64
	kept  int // percent of what was not synced
}

// disk is a file system that is cloned before every sync.
type disk struct {
	mem    *vfs.MemFS
	w      *world
	point  *atomic.Int64
	clones chan<- clone
	off    atomic.Bool
	mu     sync.Mutex // rng
	rng    *rand.Rand
}

func (d *disk) String() string { return "clone before every sync" }

// MaybeError is told of each operation before it is done.
func (d *disk) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
	default:
		return nil
	}
	if d.off.Load() {
		return nil
	}
	n := d.point.Add(1)
	for _, kept := range []int{0, 50, 100} {
		d.mu.Lock()
		seed := d.rng.Uint64()
		d.mu.Unlock()
		// The world stands while the disk is cloned: what it has not yet seen done is
		// not on the disk as done.
		d.w.mu.Lock()
		fs := d.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rand.New(rand.NewPCG(seed, 1))})
		w := d.w.copyLocked()
		d.w.mu.Unlock()
		d.clones <- clone{fs, w, n, kept}
	}
	return nil
}

const (
	// lifeSyncs is how many syncs there are between two crashes that the engine suffers
	// itself.
	lifeSyncs = 150
	// worldSyncs is after how many a new world begins: what there is to check grows with
	// its age.
	worldSyncs = 1000
)

// TestCrashPoints crashes the engine at every sync.
func TestCrashPoints(t *testing.T) {
	points := int64(300)
	if s := os.Getenv("STREAMSQL_CRASH_POINTS"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		points = n
	}
	clones := make(chan clone, 4)
	var failed atomic.Bool
	var checked, ran atomic.Int64
	var workers sync.WaitGroup
	for range 2 {
		workers.Add(1)
		spawn.Go("checker", func() error {
			for c := range clones {
				if failed.Load() {
					continue
				}
				goOn := c.point%50 == 0
				if err := inspect(c, goOn); err != nil {
					failed.Store(true)
					t.Errorf("crash before sync %d with %d %% of what was not synced: %v", c.point, c.kept, err)
				}
				checked.Add(1)
				if goOn {
					ran.Add(1)
				}
			}
			return nil
		}, func(error) { workers.Done() })
	}
	var point atomic.Int64
	var mem *vfs.MemFS
	var w *world
	lives, transactions, worlds, next := 0, int64(0), 0, int64(0)
	for point.Load() < points && !failed.Load() {
		lives++
		first := point.Load() >= next
		if first {
			mem, w, transactions = vfs.NewCrashableMem(), newWorld(), 0
			worlds, next = worlds+1, point.Load()+worldSyncs
		}
		d := &disk{mem: mem, w: w, point: &point, clones: clones, rng: rand.New(rand.NewPCG(uint64(lives), 2))}
		n, err := live(d, transactions, min(point.Load()+lifeSyncs, next, points), first)
		if err != nil {
			t.Errorf("life %d: %v", lives, err)
			break
		}
		// The next life begins from what a crash leaves.
		kept := []int{0, 50, 100}[lives%3]
		mem = n.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: d.rng})
		w, transactions = n.w, n.transactions
	}
	close(clones)
	workers.Wait()
	t.Logf("%d syncs crashed in %d worlds and %d lives; %d clones checked, the engine ran on from %d of them",
		point.Load(), worlds, lives, checked.Load(), ran.Load())
}

// ended is what a life leaves.
type ended struct {
	mem          *vfs.MemFS
	w            *world
	transactions int64
}

// live runs the engine until the syncs are as many as until.
func live(d *disk, transactions int64, until int64, first bool) (ended, error) {
	e, err := open(errorfs.Wrap(d.mem, d), d.w)
	if err != nil {
		return ended{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if first {
		d.off.Store(true)
		for _, s := range append(setup, lostSetup...) {
			if err := e.exec(ctx, s); err != nil {
				return ended{}, fmt.Errorf("%s: %w", s, err)
			}
		}
		d.w.mu.Lock()
		d.w.ready = true
		d.w.mu.Unlock()
		d.off.Store(false)
	} else if transactions, err = check(e, d.w); err != nil {
		return ended{}, err
	}
	d.w.mu.Lock()
	d.w.begun, d.w.acked = transactions, transactions
	d.w.mu.Unlock()
	e.m.Start()
	for n := transactions + 1; d.point.Load() < until; n++ {
		d.w.mu.Lock()
		d.w.begun = n
		d.w.mu.Unlock()
		if err := e.exec(ctx, transaction(n)); err != nil {
			return ended{}, fmt.Errorf("transaction %d: %w", n, err)
		}
		d.w.mu.Lock()
		d.w.acked = n
		d.w.mu.Unlock()
		if err := pass(ctx, e, n); err != nil {
			return ended{}, err
		}
	}
	// The crash: what comes after this moment is not seen.
	d.w.mu.Lock()
	out := ended{d.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: d.rng}), d.w.copyLocked(), 0}
	d.w.mu.Unlock()
	d.off.Store(true)
	return out, e.close()
}

// pass makes and drops objects.
func pass(ctx context.Context, e *engine, n int64) error {
	var text string
	switch name := fmt.Sprintf("passing%d", n/10); n % 10 {
	case 0:
		text = "CREATE TABLE " + name + " (id bigint PRIMARY KEY); INSERT INTO " + name + " VALUES (1), (2);"
	case 3:
		text = "CREATE MATERIALIZED VIEW " + name + "_view AS SELECT count(*) AS n FROM " + name
	case 8:
		text = "DROP TABLE " + name + " CASCADE"
	}
	if text == "" || n < 10 {
		return nil
	}
	if err := e.exec(ctx, text); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// inspect checks what a crash left; goOn: and runs the engine from there.
func inspect(c clone, goOn bool) (err error) {
	e, err := open(c.fs, c.w)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := e.close(); err == nil {
			err = cerr
		}
	}()
	if !c.w.ready {
		return nil // crashed while the store was made
	}
	if _, err = check(e, c.w); err != nil || !goOn {
		return err
	}
	before, err := e.checkpoint("out")
	if err != nil {
		return err
	}
	goal := uint64(3)
	if before != nil {
		goal += before.Epoch
	}
	e.m.Start()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		cp, err := e.checkpoint("out")
		if err != nil {
			return err
		}
		if cp != nil && cp.Epoch >= goal {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the sink stays before epoch %d: %v", goal, e.m.Status())
		}
	}
	e.m.Close()
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	_, err = check(e, c.w)
	return err
}

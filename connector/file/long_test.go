package file

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

func TestBadHeaderAndLongRecord(t *testing.T) {
	f := newFixture(t, "on_error", "skip", "watch", "false", "format", "csv", "max_record_bytes", "1 kB")
	f.write("a", "id,wrong\n1,x\n")
	f.write("b", "id,t\n1,x\n2,"+strings.Repeat("y", 1<<20)+"\n3,z\n")
	rows, at, _, err := f.drain(f.open(f.source(), ""), "")
	f.want("rest", rows, err, "1 3")
	if !strings.HasPrefix(string(at), `{"done":{"a":13,"b":`) {
		t.Errorf("offset %s", at)
	}
	if len(f.bad.rows) != 2 || !strings.HasPrefix(f.bad.rows[0].Reason, `column "t" is not in the header of the file`) ||
		!strings.HasPrefix(f.bad.rows[1].Reason, "record is longer than 1024 bytes") {
		t.Errorf("%d bad rows", len(f.bad.rows))
	}
}

// A record that is too long is one bad row, whatever is in it, wherever the file
// ends for now and wherever reading begins again.
func TestLongRecordIsLeftOutWhole(t *testing.T) {
	long := `{"t":"` + strings.Repeat("x", 3<<20) + `"} ` + strings.Repeat(`{"id":66} `, 1<<17)
	text := lines(1, 1) + long + "\n" + lines(2, 2)
	for _, mode := range []string{"fail", "skip"} {
		f := newFixture(t, "path", "x", "on_error", mode, "max_record_bytes", "1 MB")
		f.spec.Options["path"] = filepath.Join(f.dir, "x")
		f.write("x", text)
		rows, at, _, err := f.drain(f.open(f.source(), ""), "")
		if mode == "skip" {
			f.want(mode, rows, err, "1 2")
			if len(f.bad.rows) != 1 || !strings.HasSuffix(string(f.bad.rows[0].Offset), `x","at":21}`) {
				t.Errorf("bad rows: %v", f.bad.rows)
			}
			continue
		}
		if ids(rows) != "1" || sqlerr.CodeOf(err) != sqlerr.ProgramLimitExceeded ||
			!strings.Contains(err.Error(), "in line 2") || !strings.Contains(string(at), `"at":20,`) {
			t.Errorf("fail: %s at %s, %v", ids(rows), at, err)
		}
	}

	// A file that grows by a piece of the record at a time.
	for _, restart := range []bool{false, true} {
		f := newFixture(t, "tail", "on", "on_error", "skip", "max_record_bytes", "1 MB")
		f.spec.Options["path"] = filepath.Join(f.dir, "x")
		f.write("x", text[:21])
		src := f.source()
		r := f.open(src, "")
		rows, at, _, err := f.drain(r, f.latest(src))
		f.want("first", rows, err, "1")
		for from := 21; from < len(text); from += 700_000 {
			f.add("x", text[from:min(from+700_000, len(text))])
			time.Sleep(2 * time.Millisecond) // the listing is made anew
			if restart {
				if err := errors.Join(r.Close(), src.Close()); err != nil {
					t.Fatal(err)
				}
				src = f.source()
				r = f.open(src, at)
			}
			if rows, at, _, err = f.drain(r, f.latest(src)); err != nil || len(rows) > 0 && ids(rows) != "2" {
				t.Fatalf("restart %v, after %d bytes: %q, %v", restart, from, rows, err)
			}
		}
		f.want("last", rows, err, "2")
		if n := len(f.bad.rows); n == 0 || n > 1 && !restart {
			t.Errorf("restart %v: %d bad rows", restart, n)
		}
	}
}

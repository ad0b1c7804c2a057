package file

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// unpack returns the text of a file as its name says that it is packed.
func unpack(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = bytes.NewReader(raw)
	switch filepath.Ext(path) {
	case ".gz":
		r, err = gzip.NewReader(r)
	case ".zst":
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSinkCompression(t *testing.T) {
	for compression, ext := range map[string]string{"gzip": ".gz", "zstd": ".zst", "none": ""} {
		f := newSink(t, "compression", compression).recover(0)
		w := f.writer(0)
		var want strings.Builder
		for range 9000 { // more than a frame
			f.write(w, 1, 2, 3)
			want.WriteString(row1 + row2 + row3)
		}
		f.commit(1, f.prepare(w, 1))
		path := filepath.Join(f.dir, "part-0000000001-000.json"+ext)
		if got := unpack(t, path); got != want.String() {
			t.Errorf("%s: %d bytes come back of %d", compression, len(got), want.Len())
		}
		st, err := os.Stat(path)
		if err != nil || ext != "" && st.Size() > int64(want.Len())/10 {
			t.Errorf("%s: %d bytes became %d, %v", compression, want.Len(), st.Size(), err)
		}
	}
}

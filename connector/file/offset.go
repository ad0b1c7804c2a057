package file

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/zeebo/xxh3"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// progress is what an offset says.
type progress struct {
	// Epoch is the last of whose files all have been read, in the directory of a sink.
	Epoch uint64 `json:"epoch,omitempty"`
	// Done holds the files that have been read to their ends, with their sizes, but those
	// of such epochs.
	Done map[string]int64 `json:"done,omitempty"`
	// File is the file in work, At the place in it, Check the hash of bytes before
	// it (see check).
	File  string `json:"file,omitempty"`
	At    int64  `json:"at,omitempty"`
	Check string `json:"check,omitempty"`
}

func parseOffset(o connector.Offset) (progress, error) {
	p := progress{Done: map[string]int64{}}
	if o == "" {
		return p, nil
	}
	if err := json.Unmarshal([]byte(o), &p); err != nil || p.At < 0 {
		return p, sqlerr.New(sqlerr.DataCorrupted, `"%s" is no offset of a file source`, o)
	}
	if p.Done == nil {
		p.Done = map[string]int64{}
	}
	return p, nil
}

// printer prints offsets; the part that names the files read is printed when it
// changes.
type printer struct{ done []byte }

// reset prints the files read anew.
func (t *printer) reset(done map[string]int64) {
	t.done = t.done[:0]
	for _, name := range slices.Sorted(maps.Keys(done)) {
		t.add(name, done[name])
	}
}

// add adds a file read.
func (t *printer) add(name string, size int64) {
	if len(t.done) > 0 {
		t.done = append(t.done, ',')
	}
	key, _ := json.Marshal(name) // a string cannot fail
	t.done = append(append(t.done, key...), ':')
	t.done = strconv.AppendInt(t.done, size, 10)
}

// print returns the offset of the files read and the place in the one in work.
func (t *printer) print(p *progress) connector.Offset {
	out := make([]byte, 0, len(t.done)+len(p.File)+64)
	out = append(out, '{')
	if p.Epoch > 0 {
		out = strconv.AppendUint(append(out, `"epoch":`...), p.Epoch, 10)
	}
	if len(t.done) > 0 {
		out = append(append(append(comma(out), `"done":{`...), t.done...), '}')
	}
	if p.File != "" {
		out = comma(out)
		key, _ := json.Marshal(p.File)
		out = append(append(out, `"file":`...), key...)
		out = strconv.AppendInt(append(out, `,"at":`...), p.At, 10)
		if p.Check != "" {
			out = append(append(append(out, `,"check":"`...), p.Check...), '"')
		}
	}
	return connector.Offset(append(out, '}'))
}

// comma appends one, but to the beginning.
func comma(out []byte) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	return out
}

// checkBytes is how many bytes at a file's beginning, and before the place in it,
// go into its check.
const checkBytes = 256

// check returns a hash that tells whether a file is still the one that was read:
// head are its first bytes, tail those before the place.
func check(head, tail []byte) string {
	h := xxh3.New()
	_, _ = h.Write(head) // a hash cannot fail
	_, _ = h.Write(tail)
	return strconv.FormatUint(h.Sum64(), 16)
}

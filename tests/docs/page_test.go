package docs

import (
	"os"
	"strings"
	"testing"
)

// block is one fenced block of a page.
type block struct {
	info string // what stands behind the fence
	text string
	line int // of its first line of text, from 1
	// first and last are the numbers of its lines of text in the page; last is
	// exclusive.
	first, last int
	// expected is the text block directly behind, nil if there is none.
	expected *block
}

// page is a file of the documentation.
type page struct {
	path   string
	lines  []string
	blocks []*block
}

func readPage(t *testing.T, path string) *page {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{path: path, lines: strings.SplitAfter(string(text), "\n")}
	var open *block
	var before *block // the block that ended last, with blank lines at most behind it
	for i, l := range p.lines {
		fence, ok := strings.CutPrefix(strings.TrimRight(l, "\n"), "```")
		switch {
		case ok && open == nil:
			open = &block{info: strings.TrimSpace(fence), first: i + 1, line: i + 2}
		case ok:
			open.last = i
			open.text = strings.Join(p.lines[open.first:i], "")
			if open.info == "text" && before != nil {
				before.expected = open
			} else {
				p.blocks = append(p.blocks, open)
			}
			before, open = open, nil
			if before.info == "text" {
				before = nil
			}
		case open == nil && strings.TrimSpace(l) != "":
			before = nil
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block is not closed", path, open.line)
	}
	return p
}

// rewrite puts new texts in the place of blocks' and stores the page.
func (p *page) rewrite(t *testing.T, texts map[*block]string) {
	t.Helper()
	replaced := map[int]*block{}
	for b := range texts {
		replaced[b.first] = b
	}
	var out strings.Builder
	for i := 0; i < len(p.lines); i++ {
		if b := replaced[i]; b != nil {
			out.WriteString(texts[b])
			i = b.last
		}
		out.WriteString(p.lines[i])
	}
	if err := os.WriteFile(p.path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

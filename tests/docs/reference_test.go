package docs

import (
	"os"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/tests/docs/reference"
)

// TestGenerated: what the code knows best is in the pages as it is.
func TestGenerated(t *testing.T) {
	pages, err := reference.Pages("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"functions.md", "errors.md", "configuration.md", "INVARIANTS.md", "operations.md"} {
		found := false
		for _, p := range pages {
			found = found || strings.HasSuffix(p, "/"+want)
		}
		if !found {
			t.Errorf("docs: %s has no generated part", want)
		}
	}
	for _, p := range pages {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		now, err := reference.Apply("../..", string(text))
		if err != nil {
			t.Errorf("%s: %v", p, err)
		} else if now != string(text) {
			t.Errorf("%s is not current: go run ./tests/docs/reference/write", p)
		}
	}
}

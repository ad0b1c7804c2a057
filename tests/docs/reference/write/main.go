package main

import (
	"fmt"
	"os"

	"github.com/streamsql/streamsql/tests/docs/reference"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write makes the generated parts of all pages anew.
func write(root string) error {
	pages, err := reference.Pages(root)
	if err != nil {
		return err
	}
	for _, p := range pages {
		old, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		text, err := reference.Apply(root, string(old))
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		if text == string(old) {
			continue
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

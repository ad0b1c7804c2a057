package docs

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamsql/streamsql/session"
	"github.com/streamsql/streamsql/tests/testenv"
)

var update = flag.Bool("update", false, "put what was printed into the pages")

// blockTime bounds one block.
const blockTime = 60 * time.Second

func TestPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/sql/*.md")
	if err != nil || len(pages) < 1 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	more, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(append(pages, more...), "../../README.md") {
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".md"), func(t *testing.T) {
			p := readPage(t, path)
			t.Chdir(t.TempDir())
			run(t, p)
		})
	}
}

// run runs the blocks of a page.
func run(t *testing.T, p *page) {
	srv := newServer(t, false)
	texts, topics := map[*block]string{}, map[string]string{}
	var place *strings.Replacer
	for _, b := range p.blocks {
		lang, rest, _ := strings.Cut(b.info, " ")
		switch {
		case lang == "json" || lang == "csv":
			if rest == "" {
				continue
			}
			if err := os.WriteFile(rest, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		case lang != "sql":
			continue
		case rest != "" && rest != "kafka" && rest != "postgres" && rest != "error":
			t.Errorf("%s:%d: a block cannot be %q", p.path, b.line, b.info)
		}
		text := b.text
		if rest == "kafka" {
			if place == nil {
				place = strings.NewReplacer("localhost:9092", testenv.Kafka(t))
			}
			text = uniqueTopics(t, topics, place.Replace(text))
		}
		if rest == "postgres" {
			text = ownTables(t, text)
		}
		check(t, p, b, text, rest == "error", texts, srv)
	}
	if *update && len(texts) > 0 {
		p.rewrite(t, texts)
	}
}

// ownTables writes to the test server, into a schema of the page's own.
func ownTables(t *testing.T, text string) string {
	url := testenv.Postgres(t)
	schema := testenv.Unique(t, "docs")
	pg, err := pgconn.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pg.Exec(t.Context(), "CREATE SCHEMA "+schema).ReadAll(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := pg.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE").ReadAll(); err != nil {
			t.Error(err)
		}
		_ = pg.Close(context.Background())
	})
	return strings.NewReplacer("'postgres://postgres@localhost:5432/postgres'", "'"+url+"', schema = '"+schema+"'").Replace(text)
}

var topicOption = regexp.MustCompile(`\btopic = '(\w+)'`)

// uniqueTopics gives the topics of a page names that no earlier run has used; names
// holds those given so far.
func uniqueTopics(t *testing.T, names map[string]string, text string) string {
	return topicOption.ReplaceAllStringFunc(text, func(s string) string {
		name := topicOption.FindStringSubmatch(s)[1]
		if names[name] == "" {
			names[name] = testenv.Unique(t, name)
		}
		return "topic = '" + names[name] + "'"
	})
}

// check runs one block and compares.
func check(t *testing.T, p *page, b *block, text string, fails bool, texts map[*block]string, srv *session.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), blockTime)
	defer cancel()
	got, err := script(ctx, srv, text)
	got = strings.TrimRight(trimLines(got), "\n") + "\n"
	switch {
	case err != nil && !fails:
		t.Errorf("%s:%d: %v\n%s", p.path, b.line, err, text)
	case err == nil && fails:
		t.Errorf("%s:%d: does not fail\n%s", p.path, b.line, text)
	case b.expected == nil:
	case *update:
		texts[b.expected] = got
	case got != b.expected.text:
		t.Errorf("%s:%d: prints\n%sand not\n%s", p.path, b.line, got, b.expected.text)
	}
}

var lineEnd = regexp.MustCompile(`[ \t]+\n`)

// trimLines takes the blanks from the ends of lines, which pages do not have.
func trimLines(s string) string { return lineEnd.ReplaceAllString(s, "\n") }

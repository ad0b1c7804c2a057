package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/tests/testenv"
)

// client is a driver that holds one connection.
type client interface {
	// run runs a statement with arguments and prints its result.
	run(sql string, args []string) (string, error)
	close() error
}

// drivers are what the tests run; open skips the test when it is not installed.
var drivers = []struct {
	name string
	open func(t *testing.T, url string) client
}{
	{"psql", openPsql},
	{"pgx", openPgx},
	{"psycopg", python("run_psycopg.py")},
	{"pg8000", python("run_pg8000.py")},
	{"node", openNode},
	{"jdbc", openJDBC},
}

// skip leaves a test out with its reason; in CI everything must be there.
func skip(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// installed returns the folder of a driver that setup has installed.
func installed(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("./setup", "dir").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), name)
	if _, err := os.Stat(dir); err != nil {
		skip(t, "the driver is not installed: run tests/clients/setup")
	}
	return dir
}

func python(script string) func(t *testing.T, url string) client {
	return func(t *testing.T, url string) client {
		dir := installed(t, "python")
		return startDriver(t, exec.Command(filepath.Join(dir, "bin", "python3"), filepath.Join("drivers", script), url))
	}
}

func openNode(t *testing.T, url string) client {
	dir := installed(t, "node")
	node, err := exec.LookPath("node")
	if err != nil {
		skip(t, "no node: %v", err)
	}
	cmd := exec.Command(node, filepath.Join("drivers", "run_node.js"), url)
	cmd.Env = append(os.Environ(), "TZ=UTC", "NODE_PATH="+filepath.Join(dir, "node_modules"))
	return startDriver(t, cmd)
}

func openJDBC(t *testing.T, url string) client {
	dir := installed(t, "jdbc")
	java, err := exec.LookPath("java")
	if err != nil {
		skip(t, "no java: %v", err)
	}
	return startDriver(t, exec.Command(java, "-Duser.timezone=UTC", "-cp", filepath.Join(dir, "postgresql.jar"),
		filepath.Join("drivers", "RunJdbc.java"), url))
}

// runFile runs a file of statements through a driver.
//
//	sql [args=(…)]   runs the statement; prints the rows, "ok n" or the error
func runFile(t *testing.T, path string, c client) {
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "sql" {
			t.Fatalf("unknown command %s", d.Cmd)
		}
		var args []string
		for _, a := range d.CmdArgs {
			if a.Key == "args" {
				args = a.Vals
			}
		}
		out, err := c.run(d.Input, args)
		if err != nil {
			t.Fatalf("%s: %v", d.Input, err)
		}
		return out
	})
}

func runAll(t *testing.T, path, url string) {
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			c := d.open(t, url)
			runFile(t, path, c)
			if err := c.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBasicsOnPostgres keeps the file honest.
func TestBasicsOnPostgres(t *testing.T) {
	runAll(t, "testdata/basics.txt", testenv.Postgres(t))
}

func TestBasics(t *testing.T) { runAll(t, "testdata/basics.txt", server(t)) }

func TestQuickstart(t *testing.T) { runAll(t, "testdata/quickstart.txt", server(t)) }

// metaCommands are psql's, each with a word that its answer holds.
var metaCommands = []struct{ command, holds string }{
	{`\conninfo`, "connected"},
	{`\dt`, "client_meta"},
	{`\d`, "client_meta"},
	{`\d client_meta`, "name"},
	{`\d+ client_meta`, "not null"},
	{`\dv`, ""},
	{`\dm`, ""},
	{`\di`, "client_meta_pkey"},
	{`\ds`, ""},
	{`\dn`, "public"},
	{`\du`, ""},
	{`\l`, ""},
	{`\df`, ""},
	{`\dT`, ""},
	{`\dp client_meta`, "client_meta"},
	{`SELECT 1 AS a, 'x' AS b \gdesc`, "integer"},
}

func testMetaCommands(t *testing.T, url string) {
	p := openPsql(t, url).(psql)
	setUp := "DROP TABLE IF EXISTS client_meta; CREATE TABLE client_meta (id bigint PRIMARY KEY, name text NOT NULL);"
	if out, err := p.script(setUp); err != nil || strings.Contains(out, "ERROR:") {
		t.Fatal(out, err)
	}
	for _, m := range metaCommands {
		out, err := p.script(m.command)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out, "ERROR:") || !strings.Contains(out, m.holds) {
			t.Errorf("%s, which should show %q, gave:\n%s", m.command, m.holds, out)
		}
	}
	if out, err := p.script("DROP TABLE client_meta;"); err != nil || strings.Contains(out, "ERROR:") {
		t.Error(out, err)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}

func TestPsqlMetaCommandsOnPostgres(t *testing.T) { testMetaCommands(t, testenv.Postgres(t)) }

func TestPsqlMetaCommands(t *testing.T) { testMetaCommands(t, server(t)) }

package clients

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// null is how NULL is printed.
const null = "∅"

// answerTime bounds one statement of a driver.
const answerTime = 30 * time.Second

// process is a driver's program with its two pipes.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors *bytes.Buffer
	timer  *time.Timer
}

func startProcess(t *testing.T, cmd *exec.Cmd, withErrors bool) *process {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, in: in, out: bufio.NewReader(r), errors: &bytes.Buffer{}}
	cmd.Stdout, cmd.Stderr = w, p.errors
	if withErrors {
		cmd.Stderr = w
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	p.timer = time.AfterFunc(answerTime, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		p.timer.Stop()
		_ = cmd.Process.Kill() // gone already unless the test failed
		r.Close()
	})
	return p
}

// ask writes a line; the answer must be complete within answerTime.
func (p *process) ask(line string) error {
	p.timer.Reset(answerTime)
	_, err := io.WriteString(p.in, line+"\n")
	return err
}

func (p *process) line() (string, error) {
	s, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the driver ended: %w\n%s", err, p.errors)
	}
	return strings.TrimSuffix(s, "\n"), nil
}

func (p *process) close() error {
	p.timer.Reset(answerTime)
	p.in.Close()
	if _, err := io.Copy(io.Discard, p.out); err != nil {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, p.errors)
	}
	return nil
}

// driver speaks the line protocol of drivers/common.py.
type driver struct{ *process }

func startDriver(t *testing.T, cmd *exec.Cmd) client {
	t.Helper()
	return driver{startProcess(t, cmd, false)}
}

type request struct {
	SQL  string   `json:"sql"`
	Args []string `json:"args"`
}

type answer struct {
	Columns []string
	Rows    [][]*string
	Count   int64
	Code    string
	Message string
}

func (d driver) run(sql string, args []string) (string, error) {
	req, err := json.Marshal(request{sql, args})
	if err != nil {
		return "", err
	}
	if err := d.ask(string(req)); err != nil {
		return "", err
	}
	line, err := d.line()
	if err != nil {
		return "", err
	}
	var a answer
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		return "", fmt.Errorf("%w: %s", err, line)
	}
	switch {
	case a.Code != "":
		return printError(a.Code, a.Message), nil
	case a.Columns == nil:
		return printCount(a.Count), nil
	}
	rows := make([][]string, 0, len(a.Rows))
	for _, r := range a.Rows {
		row := make([]string, len(r))
		for i, v := range r {
			if row[i] = null; v != nil {
				row[i] = *v
			}
		}
		rows = append(rows, row)
	}
	return printRows(a.Columns, rows), nil
}

func printRows(columns []string, rows [][]string) string {
	out := strings.Join(columns, "|") + "\n"
	for _, r := range rows {
		out += strings.Join(r, "|") + "\n"
	}
	return out
}

func printCount(n int64) string {
	if n < 0 {
		return "ok"
	}
	return fmt.Sprintf("ok %d", n)
}

func printError(code, message string) string { return "error " + code + ": " + message }

// psql is the program itself, reading statements and backslash commands.
type psql struct{ *process }

const endMark = "-- end of answer --"

func openPsql(t *testing.T, url string) client {
	path, err := exec.LookPath("psql")
	if err != nil {
		skip(t, "no psql: %v", err)
	}
	cmd := exec.Command(path, "-X", "--csv", "-v", "VERBOSITY=verbose", "-P", "null="+null, url)
	return psql{startProcess(t, cmd, true)}
}

// script sends lines and returns what psql prints for them.
func (p psql) script(lines string) (string, error) {
	if err := p.ask(lines + "\n\\warn " + endMark); err != nil {
		return "", err
	}
	var out []string
	for {
		s, err := p.line()
		if err != nil {
			return "", fmt.Errorf("%w after %q", err, out)
		}
		if s == endMark {
			return strings.Join(out, "\n"), nil
		}
		out = append(out, s)
	}
}

func (p psql) run(sql string, args []string) (string, error) {
	for i := len(args); i > 0; i-- {
		sql = strings.ReplaceAll(sql, "$"+strconv.Itoa(i), "'"+strings.ReplaceAll(args[i-1], "'", "''")+"'")
	}
	out, err := p.script(sql + "\n;")
	if err != nil {
		return "", err
	}
	return printPsql(out)
}

// printPsql prints psql's output as the other drivers' results are printed.
func printPsql(out string) (string, error) {
	var kept []string
	for _, l := range strings.Split(out, "\n") {
		sev, rest, ok := strings.Cut(l, ":  ")
		if code, message, coded := strings.Cut(rest, ": "); ok && coded && len(code) == 5 {
			if sev == "ERROR" || sev == "FATAL" {
				return printError(code, message), nil
			}
			continue // a notice
		}
		if strings.HasPrefix(l, "LOCATION:  ") {
			continue
		}
		kept = append(kept, l)
	}
	text := strings.Join(kept, "\n")
	if tag := strings.Fields(text); len(kept) == 1 && (len(tag) == 0 || strings.ToUpper(text) == text && tag[0] != "") {
		return psqlCount(text), nil
	}
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	if len(records) == 0 {
		return "ok", nil
	}
	return printRows(records[0], records[1:]), nil
}

// psqlCount reads a command tag.
func psqlCount(tag string) string {
	w := strings.Fields(tag)
	if len(w) > 1 {
		if n, err := strconv.ParseInt(w[len(w)-1], 10, 64); err == nil {
			return printCount(n)
		}
	}
	return "ok"
}

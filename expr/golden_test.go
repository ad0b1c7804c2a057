package expr

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

var (
	rewrite = flag.Bool("rewrite", false, "ask PostgreSQL (STREAMSQL_TEST_PG) for the golden answers anew")
	seed    = flag.Int("seed", 1, "seed of the random comparison with PostgreSQL")
	perExpr = flag.Int("per-expr", 2, "random variants of each expression in the comparison with PostgreSQL")
)

// zone is the session time zone of the golden answers.
const testZone = "America/New_York"

func testCtx(t testing.TB) *Ctx {
	loc, err := time.LoadLocation(testZone)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC).UnixMicro()
	return &Ctx{Now: now, Env: &types.Env{TimeZone: loc, Now: now, HasNow: true}}
}

// ourAnswer evaluates an expression and writes its type and value, or its
// SQLSTATE.
func ourAnswer(ctx *Ctx, src string) string {
	e, err := parseExpr(src, nil)
	if err != nil {
		return "ERROR " + string(sqlerr.CodeOf(err))
	}
	v, err := EvalConst(ctx, e)
	if err != nil {
		return "ERROR " + string(sqlerr.CodeOf(err))
	}
	defer v.Release()
	if v.IsNull(0) {
		return e.Type().Base().PGName() + " NULL"
	}
	return e.Type().Base().PGName() + " " + escape(string(types.AppendText(nil, e.Type(), v, 0, ctx.Env)))
}

func escape(s string) string {
	return strings.NewReplacer("\\", `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s)
}

// TestGolden compares the expressions of testdata with PostgreSQL's recorded
// answers. A line is «expression => answer»; one with «=>!» records a known
// difference: our answer, then PostgreSQL's after «PG».
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	conn := connectPG(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			sc := bufio.NewScanner(strings.NewReader(string(src)))
			sc.Buffer(nil, 1<<20)
			for n := 1; sc.Scan(); n++ {
				out.WriteString(checkLine(t, conn, n, sc.Text()) + "\n")
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func checkLine(t *testing.T, conn *pgx.Conn, n int, line string) string {
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "--") {
		return line
	}
	src, want, _ := strings.Cut(line, " =>")
	differs := strings.HasPrefix(want, "!")
	got := ourAnswer(testCtx(t), src)
	if conn != nil && (*rewrite || want == "") {
		pg := pgAnswer(conn, src)
		if differs && pg != got {
			return fmt.Sprintf("%s =>! %s PG %s", src, got, pg)
		}
		want = " " + pg
		line = src + " =>" + want
		differs = false
	}
	want = strings.TrimPrefix(strings.TrimPrefix(want, "!"), " ")
	if differs {
		want, _, _ = strings.Cut(want, " PG ")
	}
	if got != want {
		t.Errorf("line %d: %s\n got %s\nwant %s", n, src, got, want)
	}
	return line
}

// connectPG connects to the PostgreSQL of STREAMSQL_TEST_PG; nil without one.
func connectPG(t *testing.T) *pgx.Conn {
	url := os.Getenv("STREAMSQL_TEST_PG")
	if url == "" {
		if *rewrite {
			t.Fatal("-rewrite needs STREAMSQL_TEST_PG")
		}
		return nil
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.RuntimeParams["timezone"] = testZone
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func pgAnswer(conn *pgx.Conn, src string) string {
	rows, err := conn.Query(context.Background(), "SELECT "+src)
	if err == nil {
		defer rows.Close()
		if rows.Next() {
			oid := rows.FieldDescriptions()[0].DataTypeOID
			name := fmt.Sprint(oid)
			if ty, ok := types.ByOID(oid); ok {
				name = ty.PGName()
			}
			raw := rows.RawValues()[0]
			if raw == nil {
				return name + " NULL"
			}
			return name + " " + escape(string(raw))
		}
		err = rows.Err()
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return "ERROR " + pe.Code
	}
	return fmt.Sprint("FAILED ", err)
}

package planner

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
)

func TestAdhocReg(t *testing.T) {
	files, _ := filepath.Glob("/tmp/reg/*.sql")
	more, _ := filepath.Glob("/work/shared/prototype/dialect/*.txt")
	files = append(files, more...)
	r := anyTable{newTestCatalog(t).system}
	msgs := map[string]int{}
	n, okc := 0, 0
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for _, q := range splitStatements(string(b)) {
			func() {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("PANIC %v\n%s", p, q)
					}
				}()
				stmts, err := sql.Parse(q)
				if err != nil {
					return
				}
				for _, s := range stmts {
					n++
					if qs, ok := s.(*sql.QueryStmt); ok {
						_, err := Select(&Env{Resolver: r}, qs.Query)
						if err != nil {
							e := sqlerr.From(err)
							if e.Code == "42703" || e.Code == "42P01" {
								continue
							}
							m := string(e.Code) + " " + e.Message
							msgs[m]++
						} else {
							okc++
						}
					}
					planAll(t, &Env{Resolver: r}, s)
				}
			}()
		}
	}
	fmt.Println("statements", n, "ok", okc)
	var ks []string
	for k := range msgs {
		ks = append(ks, k)
	}
	sort.Slice(ks, func(i, j int) bool { return msgs[ks[i]] > msgs[ks[j]] })
	for i, k := range ks {
		if i > 150 {
			break
		}
		fmt.Println(msgs[k], k)
	}
}

func splitStatements(s string) []string {
	return strings.Split(s, ";\n")
}

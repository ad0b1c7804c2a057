package sql

import "testing"

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"one":   "SELECT 1",
		"point": "SELECT id, name, price FROM items WHERE id = $1",
		"window": `WITH w AS (SELECT a, sum(b) OVER (PARTITION BY c ORDER BY d) AS s FROM t WHERE e > 5 AND f LIKE 'x%')
			SELECT a, CASE WHEN s > 10 THEN 'big' ELSE 'small' END, count(*) FROM w JOIN u USING (a)
			WHERE u.ts BETWEEN now() - INTERVAL '1 day' AND now() GROUP BY 1, 2 HAVING count(*) > 1
			UNION ALL SELECT 1, 'x', 2 ORDER BY 1 DESC LIMIT 10`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

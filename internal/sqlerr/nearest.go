package sqlerr

import "strings"

// Nearest returns the known name closest to name by edit distance, letter case
// ignored, or "" when none is close enough to be a likely slip (a third of the
// length, at least one edit).
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	limit := len(name) / 3
	if limit < 1 {
		limit = 1
	}
	best, bestDist := "", limit+1
	for _, k := range known {
		if d := distance(name, strings.ToLower(k), bestDist); d < bestDist {
			best, bestDist = k, d
		}
	}
	return best
}

// Suggest returns a hint «Perhaps you meant "x".» for the nearest known name,
// or "" when none is near.
func Suggest(name string, known []string) string {
	if n := Nearest(name, known); n != "" {
		return `Perhaps you meant "` + n + `".`
	}
	return ""
}

// distance is the optimal string alignment distance (an exchange of neighbours
// counts one), cut off at limit.
func distance(a, b string, limit int) int {
	ra, rb := []rune(a), []rune(b)
	if d := len(ra) - len(rb); d >= limit || -d >= limit {
		return limit
	}
	prev2, prev, cur := make([]int, len(rb)+1), make([]int, len(rb)+1), make([]int, len(rb)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(ra); i++ {
		cur[0] = i
		for j := 1; j <= len(rb); j++ {
			cost := 1
			if ra[i-1] == rb[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(rb)]
}

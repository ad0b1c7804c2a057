// Package metrics names every figure that a server publishes, once. The figures
// are read from the running queries when they are asked for; nothing is counted
// twice.
//
// Life of a figure: a query's operators count in their own memory; a scrape calls
// the function given to New, which reads them; Collect turns them into Prometheus'
// form.
//
// Invariants:
//
//	M1  A name means one thing, has its unit in it, and a help text.
//	M2  A scrape takes no lock that a query's rows wait for.
package metrics

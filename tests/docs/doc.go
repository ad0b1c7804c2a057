// Package docs runs the documentation: every page's SQL is run as it stands there
// and its results compared with those that the page shows.
//
// The blocks of a page are run from top to bottom in one server in this process
// with an empty store, as `streamsql run` would: continuous queries read what is
// there, and a SELECT sees all that came before it. A block of code is
//
//	```sql           run; the ```text block directly behind it is what it prints
//	```sql kafka     the same with the broker of package testenv for localhost:9092;
//	                 without one it and the page's later blocks are skipped
//	```sql postgres  the same with its PostgreSQL server for the one at localhost:5432, where a
//	                 schema is made for it
//	```sql error     must fail; the ```text block is the error
//	```json x.ndjson (or csv) the content of the file x.ndjson in the page's folder
//	```console       a session of psql, in README.md
//
// Each block is a session of its own. Run with -update to put what was printed
// into the pages.
package docs

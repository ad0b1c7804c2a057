// Command write makes the generated parts of the documentation anew. It is run in
// the module's folder: go run ./tests/docs/reference/write
package main

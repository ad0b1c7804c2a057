package format

import "github.com/streamsql/streamsql/internal/sqlerr"

func newCSV(*rows, Options) (codec, error) { return nil, sqlerr.Unsupported("csv") }

package format

import (
	_ "github.com/apache/arrow/go/v17/parquet/file"
)

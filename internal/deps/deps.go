//go:build deps

package deps

import (
	_ "github.com/apache/arrow/go/v17/arrow/array"
	_ "github.com/apache/arrow/go/v17/arrow/ipc"
	_ "github.com/cockroachdb/datadriven"
	_ "github.com/cockroachdb/pebble/v2"
	_ "github.com/jackc/pgproto3/v2"
	_ "github.com/jackc/pgx/v5"
	_ "github.com/lib/pq"
	_ "github.com/pingcap/tidb/pkg/parser"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/segmentio/kafka-go"
	_ "github.com/spf13/cobra"
	_ "github.com/twmb/franz-go/pkg/kfake"
	_ "github.com/twmb/franz-go/pkg/kgo"
	_ "github.com/valyala/fastjson"
	_ "github.com/zeebo/xxh3"
	_ "go.uber.org/goleak"
)

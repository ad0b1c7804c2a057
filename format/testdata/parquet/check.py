"""Reads a Parquet file with pyarrow and DuckDB; prints what pyarrow says of it.

Fails where a row group's statistics are not those of its values, or where the two see
different rows."""
import sys

import duckdb
import pyarrow.compute as pc
import pyarrow.parquet as pq

path = sys.argv[1]
f = pq.ParquetFile(path)
for field in f.schema_arrow:
    print(field.name, field.type)
for group in range(f.num_row_groups):
    rows = f.read_row_group(group)
    for i in range(f.metadata.num_columns):
        chunk = f.metadata.row_group(group).column(i)
        name, stats = chunk.path_in_schema, chunk.statistics
        if "." in name or stats is None:
            continue
        values = rows[name]
        assert stats.null_count == values.null_count, (name, stats.null_count)
        if not stats.has_min_max or str(values.type).startswith("extension"):
            continue
        got, want = (stats.min, stats.max), tuple(x.as_py() for x in pc.min_max(values).values())
        assert got == want, (name, got, want)
duck = duckdb.connect()
count, = duck.execute("SELECT count(*) FROM read_parquet(?)", [path]).fetchone()
assert count == f.metadata.num_rows, count
table = f.read()
for name in table.column_names:
    values = table[name]
    n, distinct = duck.execute(f'SELECT count("{name}"), count(DISTINCT "{name}") FROM read_parquet(?)', [path]).fetchone()
    assert n == len(values) - values.null_count, (name, n)
    if "i4" in table.column_names and name == "i4":
        for v in set(values.to_pylist()[:50]) - {None}:  # by statistics and dictionaries
            n, = duck.execute('SELECT count(*) FROM read_parquet(?) WHERE i4 = ?', [path, v]).fetchone()
            assert n == values.to_pylist().count(v), (name, v, n)
for row in table.slice(0, 3).to_pylist():
    print({k: v for k, v in row.items() if k not in ("tm",)})

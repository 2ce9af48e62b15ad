"""Reads op_interval of a sealed recording with DuckDB, Polars and pandas, without anything of iodyno; prints JSON per engine."""
import json
import sys

recording = sys.argv[1]
files = f"{recording}/op_interval/**/*.parquet"
SUMS = ["ops", "bytes", "response_ns_p50", "response_ns_p99", "response_ns_p999", "service_ns_mean"]


def with_duckdb():
    import duckdb
    sums = ", ".join(f"sum({column})::bigint" for column in SUMS)
    query = f"select workload, count(*), {sums}, max(response_ns_max), min(time)::varchar from '{files}' group by 1 order by 1"
    return [list(row[:-1]) for row in duckdb.sql(query).fetchall()]


def with_polars():
    import polars
    rows = polars.read_parquet(files).group_by("workload").agg(
        polars.len(), *[polars.col(column).sum() for column in SUMS], polars.col("response_ns_max").max()
    )
    return [list(row) for row in rows.sort("workload").rows()]


def with_pandas():
    import pandas
    frame = pandas.read_parquet(f"{recording}/op_interval")
    out = []
    for workload, rows in frame.groupby("workload"):
        out.append([workload, len(rows), *[int(rows[column].sum()) for column in SUMS], int(rows["response_ns_max"].max())])
    return out


for name, read in [("duckdb", with_duckdb), ("polars", with_polars), ("pandas", with_pandas)]:
    print(json.dumps({"engine": name, "rows": read()}))

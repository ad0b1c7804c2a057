"""What the Python drivers share: the line protocol and the printing of values.

A request is a line {"sql": text, "args": [text, …]}; the answer is a line with
"columns" and "rows" (values as PostgreSQL prints them, null for NULL), or
"count" (rows affected, -1 for none), or "code" and "message" of an error.
"""

import datetime
import decimal
import json
import sys
import uuid


def show(v):
    """Returns v as PostgreSQL prints it."""
    if v is None:
        return None
    if isinstance(v, bool):
        return "t" if v else "f"
    if isinstance(v, (bytes, bytearray, memoryview)):
        return "\\x" + bytes(v).hex()
    if isinstance(v, float):
        return repr(v).removesuffix(".0")
    if isinstance(v, decimal.Decimal):
        return format(v, "f")
    if isinstance(v, datetime.datetime):
        text = v.replace(tzinfo=None).isoformat(sep=" ")
        if v.microsecond:
            text = text.rstrip("0")
        return text + (v.strftime("%z")[:3] if v.tzinfo else "")
    if isinstance(v, dict):
        return json.dumps(v)
    if isinstance(v, list):
        return "{" + ",".join("NULL" if x is None else show(x) for x in v) + "}"
    return str(v)


def serve(run):
    """Answers requests until the input ends. run(sql, args) returns columns and
    rows, or (None, count)."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            columns, rows = run(request["sql"], request.get("args") or [])
            if columns is None:
                answer = {"count": rows}
            else:
                answer = {"columns": columns, "rows": [[show(v) for v in row] for row in rows]}
        except Refused as e:
            answer = {"code": e.code, "message": e.message}
        print(json.dumps(answer), flush=True)


class Refused(Exception):
    """An error that the server sent."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code, self.message = code, message

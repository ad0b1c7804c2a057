"""Runs statements through pg8000, a driver without libpq; the argument is the
server's URL."""

import re
import sys
import urllib.parse

import common
import pg8000.dbapi

url = urllib.parse.urlparse(sys.argv[1])
connection = pg8000.dbapi.connect(
    user=url.username, host=url.hostname, port=url.port, database=url.path[1:], password=url.password
)
connection.autocommit = True
pg8000.dbapi.paramstyle = "numeric"


def run(sql, args):
    cursor = connection.cursor()
    try:
        if args:
            cursor.paramstyle = "numeric"
            cursor.execute(re.sub(r"\$(\d+)", r":\1", sql), args)
        else:
            cursor.execute(sql)
        if cursor.description is None:
            return None, cursor.rowcount
        return [c[0] for c in cursor.description], cursor.fetchall()
    except pg8000.dbapi.DatabaseError as e:
        if not e.args or not isinstance(e.args[0], dict):
            raise
        raise common.Refused(e.args[0]["C"], e.args[0]["M"]) from None
    finally:
        cursor.close()


common.serve(run)

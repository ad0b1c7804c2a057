"""Runs statements through psycopg 3; the argument is the server's URL."""

import sys

import common
import psycopg

connection = psycopg.connect(sys.argv[1], autocommit=True, cursor_factory=psycopg.RawCursor)


def run(sql, args):
    with connection.cursor() as cursor:
        try:
            cursor.execute(sql, args or None)
            if cursor.description is None:
                return None, cursor.rowcount
            return [c.name for c in cursor.description], cursor.fetchall()
        except psycopg.Error as e:
            if e.sqlstate is None:
                raise
            raise common.Refused(e.sqlstate, e.diag.message_primary) from None


common.serve(run)

"""The database itself: connections, tables, errors.

In: a URL. Out: transactions. May import: SQLAlchemy.
"""

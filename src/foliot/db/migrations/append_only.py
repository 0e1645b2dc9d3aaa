"""Triggers that make the audit log append-only, in the dialect of each database.

An entry is inserted without a position and gets its position in the chain once; no other change is possible. A head
only moves forward. The owner of the database can drop these triggers; `foliot audit verify` then names what changed.
"""

from __future__ import annotations

COLUMNS = ("id", "tenant_id", "at", "user_id", "key_id", "door", "verb", "thing", "thing_id", "was", "became")
"""Columns that never change, before and after chaining."""

RULES = {
    "trail_insert": ("trail", "INSERT", "a new entry of the audit log waits for its place in the chain"),
    "trail_update": ("trail", "UPDATE", "entries of the audit log are never altered"),
    "trail_delete": ("trail", "DELETE", "entries of the audit log are never deleted"),
    "trail_heads_update": ("trail_heads", "UPDATE", "the head of an audit chain only moves forward"),
    "trail_heads_delete": ("trail_heads", "DELETE", "the head of an audit chain is never deleted"),
}

REFUSE = """
CREATE FUNCTION foliot_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'restrict_violation';
END $$"""


def _broken(name: str, differs: str) -> str:
    """The condition of a violation; `differs` is how this database compares two values with NULLs."""
    match name:
        case "trail_insert":
            return "NEW.waiting_of IS NULL"
        case "trail_update":
            altered = " OR ".join(differs.format(f"NEW.{one}", f"OLD.{one}") for one in COLUMNS)
            return f"OLD.waiting_of IS NULL OR NEW.waiting_of IS NOT NULL OR {altered}"
        case "trail_heads_update":
            return f"NEW.seq <= OLD.seq OR {differs.format('NEW.tenant_id', 'OLD.tenant_id')}"
        case _:
            return ""


def _sqlite() -> list[str]:
    made = []
    for name, (table, verb, words) in RULES.items():
        broken = _broken(name, "{0} IS NOT {1}")
        when = f" WHEN {broken}" if broken else ""
        refuse = f"SELECT RAISE(ABORT, '{words}');"
        made.append(f"CREATE TRIGGER {name} BEFORE {verb} ON {table} FOR EACH ROW{when} BEGIN {refuse} END")
    return made


def _postgresql() -> list[str]:
    made = [REFUSE]
    for name, (table, verb, words) in RULES.items():
        broken = _broken(name, "{0} IS DISTINCT FROM {1}")
        when = f" WHEN ({broken})" if broken else ""
        call = f"EXECUTE FUNCTION foliot_append_only('{words}')"
        made.append(f"CREATE TRIGGER {name} BEFORE {verb} ON {table} FOR EACH ROW{when} {call}")
        if verb == "DELETE":
            made.append(f"CREATE TRIGGER {table}_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT {call}")
    return made


def _mariadb() -> list[str]:
    made = []
    for name, (table, verb, words) in RULES.items():
        refuse = f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{words}'"
        broken = _broken(name, "NOT ({0} <=> {1})")
        body = f"BEGIN IF {broken} THEN {refuse}; END IF; END" if broken else refuse
        made.append(f"CREATE TRIGGER {name} BEFORE {verb} ON {table} FOR EACH ROW {body}")
    return made


def guards(dialect: str) -> list[str]:
    """The statements that create the triggers."""
    return {"sqlite": _sqlite, "postgresql": _postgresql}.get(dialect, _mariadb)()

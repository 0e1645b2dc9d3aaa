"""Ways to break Foliot, each with the test that must notice."""

from __future__ import annotations

from dataclasses import dataclass

GUARANTEES = "tests/engine/test_guarantees.py::"
RACES = "tests/engine/test_races.py::"
LIMITS = "tests/commands/test_sql_limits.py::"
CRAWLS = "tests/features/crawls/test_crawls.py::"
PARKED = "tests/engine/sql/test_parked.py::"


@dataclass(frozen=True, slots=True)
class Edit:
    """The old text stands exactly once in the file."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """`killer` is a pytest node; `fast` ones need no server; those of the `suite` are tried by every `make test`.

    A `campaign` of `chaos/`, by its arguments, is run instead of a test: it must report the `guarantee` as violated.
    """

    name: str
    edits: tuple[Edit, ...]
    killer: str = ""
    fast: bool = True
    suite: bool = False
    guarantee: str = ""
    campaign: tuple[str, ...] = ()


def _on_sqlite(test: str) -> str:
    return f"{GUARANTEES}{test}[sqlite]"


_MIGRATION = "src/foliot/db/migrations/versions/0001_core.py"
_FIRING = "src/foliot/engine/sql/due_schedules.py"
_CLAIMS = "src/foliot/engine/sql/claims.py"
_ENDINGS = "src/foliot/engine/sql/endings.py"
_FOLLOW_UPS = "src/foliot/engine/sql/follow_ups.py"
_SCHEDULES = "src/foliot/features/schedules/usecases/"
_FOLLOWERS = "tests/features/schedules/test_followers.py::"
_LEASES = "src/foliot/engine/sql/leases.py"
_ARTICLE_ENDINGS = "src/foliot/features/articles/sql/endings.py"
_BATCHES = "tests/features/articles/test_sql_batches.py::"
_SETTLE = "src/foliot/engine/model/settle.py"
_OVERLAP = "src/foliot/engine/model/overlap.py"
_JANITOR = "src/foliot/engine/janitor.py"
_DISPATCHER = "src/foliot/engine/dispatcher.py"
_ENVELOPE = "src/foliot/commands/envelope.py"
_TURNS = "src/foliot/engine/sql/tenant_limits.py"
_CRAWLS = "src/foliot/features/crawls/sql.py"

_CRAWL = "src/foliot/features/crawls/action/"
_CRAWL_FAULTS = "tests/features/crawls/test_crawl_faults.py::"
_CRAWL_LOG = "tests/features/crawls/test_crawl_log.py::"

_NO_UNIQUE = Edit(
    _MIGRATION,
    '        sa.UniqueConstraint("schedule_id", "scheduled_for", name=op.f("uq_runs_schedule_id_scheduled_for")),\n',
    "",
)
_NO_CURSOR_CHECK = (
    Edit(
        _FIRING,
        'keys = {"id": [plan.due.id for plan in plans], "next_at": [plan.due.next_at for plan in plans]}',
        'keys = {"id": [plan.due.id for plan in plans]}',
    ),
    Edit(_FIRING, "if moved != len(plans):", "if moved > len(plans):"),
)
_NO_GUARD = (
    Edit(
        _FIRING,
        "return dialect.lock(query.order_by(schedules.c.next_at).limit(literal_column(str(limit))), skip=True)",
        "return query.order_by(schedules.c.next_at).limit(literal_column(str(limit)))",
    ),
    _NO_UNIQUE,
    *_NO_CURSOR_CHECK,
)
_NO_FENCE = Edit(
    _ENDINGS,
    "if not fenced(row, ending.fence):",
    "if row.id is None:",
)
_CLAIM_WITHOUT_STATE = (
    Edit(
        _CLAIMS,
        """        runs.c.state.in_(sorted(CLAIMABLE)),
        runs.c.lane.is_not(None),
""",
        "",
    ),
    Edit(
        _CLAIMS,
        '.where(dialect.listed(runs.c.id, "ids"), runs.c.state.in_(sorted(CLAIMABLE)))',
        '.where(dialect.listed(runs.c.id, "ids"))',
    ),
)

_CLAIM_BLINDLY = (
    *_CLAIM_WITHOUT_STATE,
    Edit(
        _CLAIMS,
        "    return dialect.lock(query, skip=True)\n\n\n@cache\ndef _take(",
        "    return query\n\n\n@cache\ndef _take(",
    ),
)

MUTANTS = (
    Mutant(
        "no unique constraint and no cursor check",
        (_NO_UNIQUE, *_NO_CURSOR_CHECK),
        _on_sqlite("test_a_plan_written_twice_makes_its_runs_once"),
        suite=True,
    ),
    Mutant(
        "no fence",
        (_NO_FENCE,),
        _on_sqlite("test_an_attempt_that_lost_its_lease_can_change_nothing_any_more"),
        suite=True,
    ),
    Mutant(
        "a claim does not ask whether the queue is paused",
        (Edit("src/foliot/engine/sql/queues.py", "return [~paused]\n", "return []\n"),),
        "tests/engine/sql/test_queues.py::test_no_run_of_a_paused_queue_is_picked_or_claimed[sqlite]",
    ),
    Mutant("claim without state check", _CLAIM_WITHOUT_STATE, _on_sqlite("test_a_run_is_claimed_by_one"), suite=True),
    Mutant(
        "publish without sweep: the dispatcher never offers a run again",
        (
            Edit(_DISPATCHER, "CROWDED = 0.01\n", "CROWDED = 0.01\nOFFERED: set[str] = set()\n"),
            Edit(
                _DISPATCHER,
                "            ready = await SqlClaims(tx).ready(now, self.queues, limit)\n",
                "            ready = await SqlClaims(tx).ready(now, self.queues, limit)\n"
                "            ready = [one for one in ready if one not in OFFERED]\n"
                "            OFFERED.update(ready)\n",
            ),
        ),
        _on_sqlite("test_a_run_that_was_handed_over_and_lost_on_the_way_is_handed_over_again"),
        suite=True,
    ),
    Mutant(
        "publish without sweep: the janitor never reclaims",
        (Edit(_JANITOR, "lost = await self._reclaim()", "lost = 0"),),
        _on_sqlite("test_the_run_of_a_dead_worker_is_taken_back"),
    ),
    Mutant(
        "the janitor reclaims before the lease ends",
        (
            Edit(
                _CLAIMS,
                "query = select(*_EXPIRED).where(runs.c.lease_until.is_not(None), self.leases.expired(now, longest))",
                "query = select(*_EXPIRED).where(runs.c.lease_until.is_not(None))",
            ),
        ),
        _on_sqlite("test_the_run_of_a_dead_worker_is_taken_back"),
    ),
    Mutant(
        "unfenced log append",
        (
            Edit(
                "src/foliot/engine/sql/runs.py",
                "if fenced(row, fence):",
                "if row.id == fence.run_id:",
            ),
        ),
        _on_sqlite("test_an_attempt_that_lost_its_lease_can_change_nothing_any_more"),
    ),
    Mutant(
        "unfenced lease renewal",
        (
            Edit(
                _LEASES,
                "return {fence.run_id for fence in fences if (fence.run_id, fence.epoch, fence.token) in held}",
                "return {fence.run_id for fence in fences}",
            ),
        ),
        _on_sqlite("test_an_attempt_that_lost_its_lease_can_change_nothing_any_more"),
    ),
    Mutant(
        "a repeated ending is written again",
        (Edit(_ENDINGS, "        if row.state == RunState.RUNNING:\n", "        if row.state:\n"),),
        _on_sqlite("test_a_success_that_came_first_stands"),
    ),
    Mutant(
        "catch-up ignores the window",
        (
            Edit(
                _SETTLE,
                "window_start = max(first, now - timedelta(seconds=catchup.window_seconds))",
                "window_start = first",
            ),
        ),
        _on_sqlite("test_an_outage_owes_the_runs_of_its_window_and_a_line_for_the_others"),
    ),
    Mutant(
        "the ledger forgets missed instants",
        (
            Edit(
                _SETTLE,
                "and (count := spec.trigger.count(start, end)):",
                "and (count := spec.trigger.count(start, end)) < 0:",
            ),
        ),
        _on_sqlite("test_an_outage_owes_the_runs_of_its_window_and_a_line_for_the_others"),
    ),
    Mutant(
        "what is to be skipped runs all the same",
        (Edit(_SETTLE, "        if instant == plan.due.skip_at:\n", "        if instant is plan:\n"),),
        "tests/engine/model/test_skip_next.py::test_the_instant_makes_no_run_and_stands_in_the_ledger_with_a_name",
    ),
    Mutant(
        "DST gap rule dropped",
        (
            Edit(
                "src/foliot/core/time/fire_times.py",
                "        if not self._fixed:\n",
                "        if self._fixed in (True, False):\n",
            ),
        ),
        GUARANTEES + "test_a_fixed_time_that_the_clocks_skip_fires_at_the_first_instant_after",
    ),
    Mutant(
        "retry counts one too many",
        (Edit("src/foliot/engine/model/outcome.py", "attempt >= max_attempts", "attempt > max_attempts"),),
        GUARANTEES + "test_three_attempts_are_three_attempts",
    ),
    Mutant(
        "overlap skip ignores open runs",
        (Edit(_OVERLAP, "return False, LedgerReason.OVERLAP if self.open else None", "return False, None"),),
        _on_sqlite("test_an_instant_is_skipped_while_an_earlier_run_is_open"),
    ),
    Mutant(
        "buffered never released by the end of its predecessor",
        (
            Edit(
                _ENDINGS,
                "released = await release(conn, dialect, now, sorted(freed)) if freed else 0",
                "released = 0 if freed else 0",
            ),
        ),
        _on_sqlite("test_a_buffered_run_goes_when_its_predecessor_ends"),
    ),
    Mutant(
        "buffered never released by the sweep",
        (Edit(_JANITOR, "released = await self._release()", "released = 0"),),
        _on_sqlite("test_a_buffered_run_whose_predecessor_was_cancelled_is_found_by_the_sweep"),
    ),
    Mutant(
        "a hand-back burns an attempt",
        (Edit(_ENDINGS, "[row.attempt - ending.refund for row, ending in held]", "[row.attempt for row, _ in held]"),),
        _on_sqlite("test_a_run_handed_back_keeps_its_attempt"),
    ),
    Mutant(
        "a resumed schedule catches up its pause",
        (
            Edit(
                "src/foliot/features/schedules/usecases/change.py",
                "cursor = None if exhausted else spec.trigger.next_after(now)",
                "cursor = None if exhausted else spec.trigger.next_after(schedule.created_at)",
            ),
        ),
        _on_sqlite("test_a_paused_schedule_fires_nothing_and_owes_nothing"),
    ),
    Mutant(
        "the pick ignores caps",
        (Edit(_CLAIMS, "        rooms = await self.caps.rooms(", "        rooms = {} and await self.caps.rooms("),),
        f"{LIMITS}test_a_capped_tenant_is_offered_what_it_has_room_for_and_the_others_are_not_delayed[sqlite]",
    ),
    Mutant(
        "the claim ignores caps",
        (Edit(_CLAIMS, "        rows = await self._let_through(rows, run_ids, now)\n", ""),),
        f"{LIMITS}test_the_claim_itself_keeps_to_the_cap_and_takes_the_most_urgent[sqlite]",
    ),
    Mutant(
        "the claim takes what has no slot",
        (Edit(_CLAIMS, "        if admit is not None:\n", "        if admit is not None and not rows:\n"),),
        "tests/engine/sql/test_claims.py::test_what_is_turned_away_waits_and_says_why_and_has_lost_no_attempt[sqlite]",
    ),
    Mutant(
        "parked: a started effect whose process died is started again",
        (
            Edit(
                _JANITOR,
                "    return claimed.handle is not None and claimed.lost_looks < MOST_LOST - 1\n",
                "    return False\n",
            ),
        ),
        "tests/engine/sql/test_parked_reclaimed.py::test_when_its_holder_vanishes_it_is_parked_again_and_no_attempt_is_lost[sqlite-worker]",
    ),
    Mutant(
        "batches: an article that was taken away is still ended by its old holder",
        (Edit(_ARTICLE_ENDINGS, "if not fenced(row, ending.fence):", "if row.id is None:"),),
        f"{_BATCHES}test_an_ending_that_lost_its_lease_ends_no_batch[sqlite]",
    ),
    Mutant(
        "batches: an executor can claim one",
        (
            Edit(
                "src/foliot/engine/sql/run_items.py",
                "    if BATCH_KINDS.isdisjoint(kinds):\n",
                "    if kinds:\n",
            ),
        ),
        f"{_BATCHES}test_an_executor_never_sees_a_batch[sqlite]",
    ),
    Mutant(
        "batches: the end of the last item does not end the run",
        (
            Edit(
                "src/foliot/features/articles/sql/articles.py",
                "settle(jobs, now)) if effect.finished else effect",
                "settle({}, now)) if effect.finished else effect",
            ),
        ),
        f"{_BATCHES}test_the_transaction_that_ends_the_last_article_ends_the_batch[sqlite]",
    ),
    Mutant(
        "batches: one in a paused queue is opened",
        (
            Edit(
                "src/foliot/features/articles/sql/batch_runs.py",
                "or_(runs.c.state != RunState.QUEUED, ~paused),",
                "or_(runs.c.state != RunState.QUEUED, paused, ~paused),",
            ),
            Edit("src/foliot/features/articles/sql/batch_runs.py", "        *open_to(dialect),\n", ""),
        ),
        f"{_BATCHES}test_a_batch_in_a_paused_queue_is_not_opened_and_hides_no_other[sqlite]",
    ),
    Mutant(
        "parked: whoever looked too long ago may still write",
        (
            Edit(
                "src/foliot/engine/sql/parked.py",
                "if not fenced(row, parking.fence):",
                "if row.id is None:",
            ),
        ),
        f"{PARKED}test_a_stale_watcher_changes_nothing[sqlite]",
    ),
    Mutant(
        "parked: what a look brought is written again after a lost acknowledgement",
        (
            Edit(
                "src/foliot/engine/sql/parked.py",
                "            elif row.lease_until is not None:\n",
                "            else:\n",
            ),
        ),
        f"{PARKED}test_a_parking_written_twice_is_written_once[sqlite]",
    ),
    # --- the same faults, seen by processes that race -----------------------------------------------------------------
    Mutant(
        "race: no row lock, no unique constraint, no cursor check",
        _NO_GUARD,
        RACES + "test_tickers_that_are_killed_settle_every_instant_once[postgresql]",
        fast=False,
    ),
    Mutant(
        "race: claim is read, then write",
        _CLAIM_BLINDLY,
        RACES + "test_claimers_that_die_and_freeze_never_share_a_run[postgresql]",
        fast=False,
    ),
    Mutant(
        "race: no fence",
        (_NO_FENCE,),
        RACES + "test_claimers_that_die_and_freeze_never_share_a_run[postgresql]",
        fast=False,
    ),
    Mutant(
        "race: the janitor never reclaims",
        (Edit(_JANITOR, "lost = await self._reclaim()", "lost = 0"),),
        RACES + "test_claimers_that_die_and_freeze_never_share_a_run[postgresql]",
        fast=False,
    ),
    Mutant(
        "race: a pause does not wait for the ticker",
        (
            Edit(
                "src/foliot/engine/sql/schedules.py",
                "return dialect.lock(query) if lock else query",
                "return query",
            ),
            Edit(
                _FIRING,
                "row = (await self.conn.execute(self.dialect.lock(query))).first()",
                "row = (await self.conn.execute(query)).first()",
            ),
        ),
        RACES + "test_no_run_appears_after_a_pause_or_a_deletion[postgresql]",
        fast=False,
    ),
    Mutant(
        "race: claims count a tenant's runs at the same time",
        (
            Edit(
                _TURNS,
                "    query = dialect.lock(_rows(dialect, sorted(tenant_ids), thing), skip=True)\n",
                "    query = _rows(dialect, sorted(tenant_ids), thing)\n",
            ),
        ),
        f"{LIMITS}test_nodes_that_race_never_start_more_than_the_cap[postgresql]",
        fast=False,
    ),
    Mutant(
        "race: a claim waits for whoever stands still",
        (
            Edit(
                _TURNS,
                "    query = dialect.lock(_rows(dialect, sorted(tenant_ids), thing), skip=True)\n",
                "    query = dialect.lock(_rows(dialect, sorted(tenant_ids), thing))\n",
            ),
        ),
        f"{LIMITS}test_a_node_that_stands_still_in_a_claim_holds_up_nobody_else[mariadb]",
        fast=False,
    ),
    Mutant(
        "race: schedules are counted at the same time",
        (
            Edit(
                _TURNS,
                "    query = dialect.lock(_rows(dialect, [tenant_id], thing))\n",
                "    query = _rows(dialect, [tenant_id], thing)\n",
            ),
        ),
        f"{LIMITS}test_racers_never_pass_the_limit_together[postgresql]",
        fast=False,
    ),
    # --- crawls -----------------------------------------------------------------------------------------------------
    Mutant(
        "crawl: written down after it was started",
        (
            Edit(
                _CRAWL + "control.py",
                "ctx.attempt))\n        await ctx.note(handle.as_dict())\n        try:\n",
                "ctx.attempt))\n        try:\n",
            ),
            Edit(
                _CRAWL + "control.py",
                "        self.nodes.sent(handle.node)\n",
                "        self.nodes.sent(handle.node)\n        await ctx.note(handle.as_dict())\n",
            ),
        ),
        f"{_CRAWL_FAULTS}test_where_a_crawl_will_be_is_written_down_before_anybody_is_asked_to_start_it",
    ),
    Mutant(
        "crawl: a start without an answer is repeated at once",
        (Edit(_CRAWL + "control.py", "if now - handle.asked_at <= self.certain:", "if now < handle.asked_at:"),),
        f"{_CRAWL_FAULTS}test_a_start_without_an_answer_is_looked_for_and_done_once[False]",
    ),
    Mutant(
        "crawl: names are not looked up again when it is started",
        (Edit(_CRAWL + "control.py", "await self.targets.admit(url, ctx.tenant_id)", "self.targets.check(url)"),),
        "tests/features/crawls/test_crawl_bounds.py::test_one_bad_answer_among_good_ones_spoils_a_name[answer0]",
    ),
    Mutant(
        "crawl: items of a look are forgotten",
        (
            Edit(
                _CRAWL + "watcher.py",
                "return Parked(self.handle.as_dict(), after, tuple(self.got.items))",
                "return Parked(self.handle.as_dict(), after)",
            ),
        ),
        f"{_CRAWL_FAULTS}test_a_node_that_comes_back_in_time_has_lost_nothing",
    ),
    Mutant(
        "crawl: an unfinished line counts as read",
        (Edit(_CRAWL + "copier.py", "if not complete and len(line) <= limit and not last:", "if False:"),),
        f"{_CRAWL_LOG}test_any_cutting_of_a_file_into_parts_gives_the_same_lines_once",
    ),
    Mutant(
        "crawl: text of a page ends it",
        (
            Edit(
                _CRAWL + "scrapy_log.py",
                "ended[1] if ended else None\n        if ended is None:\n            self.stats = {}\n",
                "ended[1] if ended else self.closed\n",
            ),
        ),
        f"{_CRAWL_LOG}test_a_page_that_looks_like_closing_stats_ends_nothing",
    ),
    Mutant(
        "crawl: a silent node is never given up",
        (
            Edit(
                _CRAWL + "watcher.py",
                'return Failed(AttemptError("node_lost", message))',
                "return sight.park(self._wait(now))",
            ),
        ),
        f"{_CRAWL_FAULTS}test_a_node_that_stops_making_sense_loses_its_crawl_after_a_while_and_not_before[html]",
    ),
    Mutant(
        "crawl: a round takes in everything",
        (Edit(_CRAWL + "copier.py", "        self.lines -= lines\n", ""),),
        "tests/features/crawls/test_crawl_bounds.py::test_one_round_takes_in_a_bounded_amount_and_the_rest_in_the_next",
    ),
    Mutant(
        "race: two judge the same request for a crawl at the same time",
        (
            Edit(
                _CRAWLS,
                "        query = self.dialect.lock(_row(request.tenant_id, request.fingerprint))\n",
                "        query = _row(request.tenant_id, request.fingerprint)\n",
            ),
        ),
        f"{CRAWLS}test_two_who_find_it_expired_judge_one_after_the_other[postgresql]",
        fast=False,
    ),
    Mutant(
        "a crawl that went wrong answers the next request",
        (
            Edit(
                _CRAWLS,
                "not run.cancel_requested and RunState(run.state) not in _WENT_WRONG",
                "not run.cancel_requested",
            ),
        ),
        f"{CRAWLS}test_a_crawl_that_ended_well_still_counts_and_one_that_went_wrong_is_forgotten[sqlite]",
    ),
    # --- tasks ----------------------------------------------------------------------------------------------------
    Mutant(
        "code beats what somebody edited",
        (
            Edit(
                "src/foliot/features/schedules/usecases/declared.py",
                "if schedule.fault is not None or edited(schedule, declared):",
                "if schedule.fault is not None:",
            ),
        ),
        "tests/features/presets/test_presets.py::"
        "test_what_somebody_edited_beats_the_code_and_what_they_deleted_stays_deleted[sqlite]",
    ),
    Mutant(
        "a process that would not stop is used again",
        (
            Edit(
                "src/foliot/cluster/process_pool.py",
                "child.spoiled = not hearing.done() or hearing.exception() is not None",
                "child.spoiled = False",
            ),
        ),
        "tests/cluster/test_pool.py::test_one_that_is_cancelled_and_deaf_is_killed",
    ),
    Mutant(
        "a tenant's cleanup deletes everybody's runs",
        (
            Edit(
                "src/foliot/engine/sql/retention.py",
                "mine = () if tenant_id is None else (runs.c.tenant_id == tenant_id,)",
                "mine = ()",
            ),
        ),
        "tests/features/prices/test_sql_prices.py::test_a_tenant_that_cleans_up_deletes_its_own_runs_alone[sqlite]",
    ),
    # --- use cases ------------------------------------------------------------------------------------------------
    Mutant(
        "use cases: nobody asks whether the caller may",
        (Edit(_ENVELOPE, "    for verb, thing in needs:\n        require(caller, verb, thing)\n", "    return\n"),),
        "tests/commands/test_permissions.py::test_no_use_case_does_anything_for_a_caller_without_its_permission",
    ),
    Mutant(
        "use cases: readers are woken before the commit",
        (Edit(_ENVELOPE, "self._topics.update(dict.fromkeys(topics))", "self._feed.wake(*topics)"),),
        "tests/commands/test_envelope.py::test_a_change_its_entry_and_its_wake_up_come_together[sqlite]",
    ),
    Mutant(
        "use cases: the answer is not kept under its key",
        (Edit(_ENVELOPE, "                await self._once.keep(self.tx, self.caller, answer)\n", ""),),
        "tests/commands/test_envelope.py::test_the_same_key_takes_effect_once_and_is_given_the_same_answer[sqlite]",
    ),
    # --- gRPC -----------------------------------------------------------------------------------------------------
    Mutant(
        "gRPC: nobody asks whether the caller may",
        (Edit("src/foliot/servers/grpc/server.py", "            require(caller, *method.permission)\n", ""),),
        "tests/servers/grpc/test_access.py::test_too_small_a_role_may_not",
    ),
    Mutant(
        "gRPC: a caller who hangs up takes the work down",
        (Edit("src/foliot/servers/grpc/method.py", "return await asyncio.shield(task)", "return await task"),),
        "tests/servers/grpc/test_wire.py::test_a_change_that_has_begun_is_made_though_its_caller_hangs_up",
    ),
    Mutant(
        "gRPC: a stream goes on when its key was revoked",
        (
            Edit(
                "src/foliot/features/schedules/rpc/jobs.py",
                "if self.identity is not None and not await self.identity.still(call.caller):",
                "if self.identity is None:",
            ),
        ),
        "tests/features/schedules/test_rpc_watch.py::test_who_no_longer_counts_is_told_no_more",
    ),
    Mutant(
        "gRPC: places in lists are everybody's",
        (Edit("src/foliot/features/schedules/rpc/jobs.py", 'f"{call.caller.tenant_id}\\n{LIST}"', "LIST"),),
        "tests/servers/grpc/test_access.py::test_the_place_in_a_list_is_no_use_to_another_tenant",
    ),
    Mutant(
        "a service that came back changed is called as it was",
        (
            Edit(
                "src/foliot/features/grpc_calls/service_catalogue.py",
                " and self.calls.line_of(service) == entry.line",
                "",
            ),
        ),
        "tests/features/grpc_calls/test_grpc_call.py::test_a_service_that_is_killed_is_called_again_when_it_returns_changed",
    ),
    Mutant(
        "a service leads to any address its name has",
        (
            Edit(
                "src/foliot/net/grpc_client.py",
                "if not self._rules.allows_address(address.host, address.port, each)]",
                "if False]",
            ),
        ),
        "tests/features/grpc_calls/test_grpc_call_targets.py::test_a_name_that_leads_to_no_host_is_not_dialled",
    ),
    # --- the same faults, seen by workers behind a broker -------------------------------------------------------------
    Mutant(
        "broker: claim without state check",
        _CLAIM_WITHOUT_STATE,
        "tests/cluster/test_celery.py::test_a_message_that_comes_while_its_run_runs_changes_nothing[redis]",
        fast=False,
    ),
    # --- schedules that follow others ---------------------------------------------------------------------------------
    Mutant(
        "a repeated run counts as another",
        (
            Edit(
                _FOLLOW_UPS,
                "row.parent_id if row.origin in REPEATS and row.parent_id is not None else row.id",
                "row.id",
            ),
        ),
        f"{_FOLLOWERS}test_a_retried_and_a_replayed_parent_count_once[sqlite]",
    ),
    Mutant(
        "a cancelled run is followed by none",
        (Edit(_ENDINGS, "    await follow_ups.follow(conn, dialect, followed, now, cancel_runs)\n", ""),),
        f"{_FOLLOWERS}test_a_cancelled_run_is_followed_by_any[sqlite]",
    ),
    Mutant(
        "a ring of schedules is saved",
        (Edit(f"{_SCHEDULES}parents.py", "    refuse_ring(own_id, [*links, *above], names)\n", ""),),
        f"{_FOLLOWERS}test_a_ring_is_refused_and_named[sqlite]",
    ),
    Mutant(
        "SQLite answers before the disk does",
        (Edit("src/foliot/db/file_lock.py", '"synchronous=FULL"', '"synchronous=OFF"'),),
        "tests/db/test_durability.py::test_what_was_committed_survives_a_power_cut",
    ),
)

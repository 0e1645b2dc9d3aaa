/* Written by `make reference` from the API's description. Do not edit. */

/** The Python client's method of each request; a star where it is iterated. */
export const PYTHON_METHODS = `
DELETE /api/alert-rules/{rule_id} alert_rules.delete
DELETE /api/calendars/{calendar_id} calendars.delete
DELETE /api/channels/{channel_id} channels.delete
DELETE /api/demo demo.remove
DELETE /api/hosts/{host} hosts.reset
DELETE /api/hosts/{host}/sessions/{name} host_sessions.delete
DELETE /api/keys/{key_id} api_keys.delete
DELETE /api/monitors/{monitor_id} monitors.delete
DELETE /api/schedules/{schedule_id} schedules.delete
DELETE /api/schedules/{schedule_id}/skip-next schedules.unskip
DELETE /api/secrets/{name} secrets.delete
DELETE /api/session sessions.end
DELETE /api/sessions sessions.end_all
DELETE /api/views/{view_id} views.delete
DELETE /api/watches/{watch_id} watches.delete
DELETE /jobs/{job_id} jobs.cancel
GET /api/alert-rules alert_rules.list *
GET /api/alert-rules/{rule_id} alert_rules.get
GET /api/alerts alerts.list *
GET /api/alerts/counts alerts.counts
GET /api/alerts/{alert_id} alerts.get
GET /api/attention attention.list
GET /api/audit audit_log.list *
GET /api/bulk bulk.list *
GET /api/bulk/{bulk_id} bulk.get
GET /api/calendar calendar.show
GET /api/calendars calendars.list *
GET /api/calendars/countries calendars.countries
GET /api/calendars/{calendar_id} calendars.show
GET /api/changes changes.list *
GET /api/changes/{change_id} changes.get
GET /api/channels channels.list *
GET /api/channels/{channel_id} channels.get
GET /api/dead-letters dead_letters.list *
GET /api/dead-letters/groups dead_letters.groups *
GET /api/deliveries/{delivery_id} deliveries.get
GET /api/demo demo.show
GET /api/endpoints endpoints.list *
GET /api/host-sessions host_sessions.list *
GET /api/hosts hosts.list *
GET /api/hosts/{host} hosts.get
GET /api/keys api_keys.list *
GET /api/limits limits.show
GET /api/members members.list *
GET /api/monitors monitors.list *
GET /api/monitors/{monitor_id} monitors.get
GET /api/monitors/{monitor_id}/instants monitors.instants
GET /api/monitors/{monitor_id}/pings monitors.pings *
GET /api/monitors/{monitor_id}/pings/{ping_id} monitors.ping
GET /api/pages pages.list *
GET /api/pages/versions pages.versions *
GET /api/pages/{page_id} pages.get
GET /api/pipelines pipelines.list *
GET /api/pipelines/{pipeline} pipelines.get
GET /api/presets presets.list *
GET /api/presets/{preset} presets.get
GET /api/queues queues.list *
GET /api/queues/history queues.history
GET /api/resolve references.resolve
GET /api/runs runs.list *
GET /api/runs/count runs.count
GET /api/runs/points runs.points
GET /api/runs/series runs.series
GET /api/runs/{run_id} runs.get
GET /api/runs/{run_id}/children runs.children *
GET /api/runs/{run_id}/events runs.events *
GET /api/runs/{run_id}/explain runs.explain
GET /api/runs/{run_id}/logs runs.log
GET /api/runs/{run_id}/logs/count runs.log_count
GET /api/runs/{run_id}/neighbours runs.neighbours
GET /api/runs/{run_id}/parents runs.parents
GET /api/runs/{run_id}/quarantine runs.quarantine
GET /api/schedules schedules.list *
GET /api/schedules/count schedules.count
GET /api/schedules/export schedules.export
GET /api/schedules/health schedules.health
GET /api/schedules/ranking schedules.ranking
GET /api/schedules/{schedule_id} schedules.get
GET /api/schedules/{schedule_id}/alert-rules alert_rules.of_schedule
GET /api/schedules/{schedule_id}/chain schedules.chain
GET /api/schedules/{schedule_id}/explain schedules.explain
GET /api/schedules/{schedule_id}/instants schedules.instants *
GET /api/schedules/{schedule_id}/quality schedules.quality
GET /api/schedules/{schedule_id}/runs schedules.runs *
GET /api/schedules/{schedule_id}/versions schedules.versions *
GET /api/secrets secrets.list *
GET /api/session sessions.show
GET /api/suggest filters.suggest
GET /api/tasks tasks.list *
GET /api/tasks/{task} tasks.get
GET /api/tenants tenants.list *
GET /api/tenants/{tenant_id} tenants.get
GET /api/timeline timeline.show
GET /api/views views.list *
GET /api/watches watches.list *
GET /api/watches/{watch_id} watches.get
GET /api/watches/{watch_id}/pages watches.pages *
GET /api/watches/{watch_id}/pages/{page_id} watches.page
GET /api/watches/{watch_id}/pages/{page_id}/diff watches.diff
GET /api/watches/{watch_id}/pages/{page_id}/versions watches.versions *
GET /api/watches/{watch_id}/pages/{page_id}/versions/{version_id} watches.version
GET /api/watches/{watch_id}/plot watches.plot
GET /api/workers workers.list *
GET /health health.live
GET /health/detailed health.detailed
GET /jobs jobs.list *
GET /jobs/{job_id}/results jobs.results *
GET /jobs/{job_id}/results/{article_id} jobs.article
GET /jobs/{job_id}/status jobs.status
PATCH /api/alert-rules/{rule_id} alert_rules.update
PATCH /api/channels/{channel_id} channels.update
PATCH /api/monitors/{monitor_id} monitors.update
PATCH /api/schedules/{schedule_id} schedules.update
PATCH /api/views/{view_id} views.update
PATCH /api/watches/{watch_id} watches.update
POST /api/alert-rules alert_rules.create
POST /api/alert-rules/preview alert_rules.preview
POST /api/alerts/{alert_id}/ack alerts.acknowledge
POST /api/alerts/{alert_id}/resolve alerts.resolve
POST /api/alerts/{alert_id}/snooze alerts.snooze
POST /api/audit/{entry_id}/revert audit_log.revert
POST /api/bulk bulk.create
POST /api/bulk/{bulk_id}/pause bulk.pause
POST /api/bulk/{bulk_id}/resume bulk.resume
POST /api/bulk/{bulk_id}/stop bulk.stop
POST /api/calendars calendars.create
POST /api/calendars/preview calendars.preview
POST /api/channels channels.create
POST /api/channels/{channel_id}/test channels.test
POST /api/dead-letters/groups/{fingerprint}/mute dead_letters.mute
POST /api/dead-letters/groups/{fingerprint}/unmute dead_letters.unmute
POST /api/dead-letters/replay dead_letters.replay
POST /api/endpoints/test endpoints.send_test
POST /api/hosts/{host}/turns hosts.turns
POST /api/invites invites.create
POST /api/keys api_keys.create
POST /api/login-links login_links.create
POST /api/monitors monitors.create
POST /api/monitors/{monitor_id}/pause monitors.pause
POST /api/monitors/{monitor_id}/resume monitors.resume
POST /api/pages/reextract pages.reextract
POST /api/pipelines/{pipeline}/run pipelines.run
POST /api/plan plans.plan
POST /api/plan/apply plans.apply
POST /api/presets/{preset}/load presets.load
POST /api/presets/{preset}/unload presets.unload
POST /api/queues/{queue}/pause queues.pause
POST /api/queues/{queue}/resume queues.resume
POST /api/runs/{run_id}/cancel runs.cancel
POST /api/runs/{run_id}/quarantine/drop runs.quarantine_drop
POST /api/runs/{run_id}/quarantine/release runs.quarantine_release
POST /api/runs/{run_id}/retry runs.retry
POST /api/schedules schedules.create
POST /api/schedules/batch schedules.create_batch
POST /api/schedules/preview schedules.preview
POST /api/schedules/realign schedules.realign_all
POST /api/schedules/test schedules.trial
POST /api/schedules/{schedule_id}/backfill schedules.backfill
POST /api/schedules/{schedule_id}/pause schedules.pause
POST /api/schedules/{schedule_id}/realign schedules.realign
POST /api/schedules/{schedule_id}/resume schedules.resume
POST /api/schedules/{schedule_id}/run-now schedules.run_now
POST /api/schedules/{schedule_id}/skip-next schedules.skip_next
POST /api/schedules/{schedule_id}/take-over schedules.take_over
POST /api/session sessions.begin
POST /api/stream-tickets stream_tickets.create
POST /api/tasks/{task}/run tasks.run
POST /api/views views.create
POST /api/watches watches.create
POST /api/watches/preview watches.preview
POST /api/watches/{watch_id}/pause watches.pause
POST /api/watches/{watch_id}/resume watches.resume
POST /api/watches/{watch_id}/try-condition watches.try_condition
POST /api/watches/{watch_id}/visit watches.visit
POST /api/workers/ping workers.ping
POST /api/workers/{node_id}/drain workers.drain
POST /api/workers/{node_id}/restart workers.restart
POST /crawl crawls.start
POST /jobs/submit articles.submit
PUT /api/calendars/{calendar_id} calendars.replace
PUT /api/hosts/{host} hosts.put
PUT /api/hosts/{host}/sessions/{name} host_sessions.put
PUT /api/schedules/{schedule_id} schedules.replace
PUT /api/secrets/{name} secrets.put
PUT /api/tenants/{tenant_id} tenants.put
`;

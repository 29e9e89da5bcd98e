# Written from the OpenAPI document by `npm run generate`; edit the contract instead.
"""Every operation of the service as a typed method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Literal, Mapping, Optional, Sequence, Union, cast

from .jobs import Job
from .transport import Event, Transport, word

if TYPE_CHECKING:
    from . import contract as c


class Operations:
    """Answers are the dictionaries and lists that JSON makes; work that takes its time answers a `Job`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get_health(self) -> Union[c.Health, c.PublicHealth]:
        """Returns version, served data store, jobs, checks and limits."""
        return cast("Union[c.Health, c.PublicHealth]", self._transport.json("GET", "/health"))

    def get_liveness(self) -> c.Liveness:
        """Reports that the process is running."""
        return cast("c.Liveness", self._transport.json("GET", "/health/live"))

    def get_readiness(self) -> c.Readiness:
        """Reports if the service accepts work."""
        return cast("c.Readiness", self._transport.json("GET", "/health/ready"))

    def get_metrics(self) -> str:
        """Returns counters and gauges for Prometheus."""
        return self._transport.content("GET", "/metrics").decode()

    def get_changelog(self, *, since: Optional[str] = None) -> c.ChangelogResponse:
        """Returns the release notes, newest first.

        :param since: Semantic version. The response contains only later releases, and Unreleased.
        """
        return cast("c.ChangelogResponse", self._transport.json("GET", "/changelog", query={"since": since}))

    def get_principal(self) -> c.PrincipalView:
        """Returns the caller and the permissions of its key."""
        return cast("c.PrincipalView", self._transport.json("GET", "/principal"))

    def get_open_api(self) -> c.OpenApiDocument:
        """Returns the whole contract as an OpenAPI 3.1 document."""
        return cast("c.OpenApiDocument", self._transport.json("GET", "/openapi.json"))

    def get_documentation(self) -> str:
        """Returns the API reference as an HTML page."""
        return self._transport.content("GET", "/docs").decode()

    def get_guide(self, *, format: Optional[Literal["html", "md"]] = None) -> str:
        """Returns the first page of the guide, which lists all pages.

        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", "/docs/guide", query={"format": format}).decode()

    def get_guide_page(self, page: str, *, format: Optional[Literal["html", "md"]] = None) -> str:
        """Returns one page of the guide.

        :param page: Name of the page.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", f"/docs/guide/{word(page)}", query={"format": format}).decode()

    def get_guide_picture(self, picture: str) -> bytes:
        """Returns an image of the guide.

        :param picture: Name of the image.
        """
        return self._transport.content("GET", f"/docs/guide/pictures/{word(picture)}")

    def call_mcp(self, body: c.McpMessage, *, tools: Optional[Sequence[Literal["jobs", "indices", "analytics", "optimise", "risk-models", "reports", "data", "documentation", "strategies", "derivatives", "stores", "watchlists", "calendars", "schedules", "governance", "clients", "actions", "approvals", "publication", "versions", "service", "all"]]] = None) -> Any:
        """Processes one JSON-RPC message of the Model Context Protocol, for agents.

        :param tools: Toolsets, or `all`. Default: jobs, indices, analytics, reports, data, documentation.
        """
        return cast("Any", self._transport.json("POST", "/mcp", body=body, query={"tools": tools}))

    def call_mcp_content(self, body: c.McpMessage, media: Literal["text/event-stream"], *, tools: Optional[Sequence[Literal["jobs", "indices", "analytics", "optimise", "risk-models", "reports", "data", "documentation", "strategies", "derivatives", "stores", "watchlists", "calendars", "schedules", "governance", "clients", "actions", "approvals", "publication", "versions", "service", "all"]]] = None) -> bytes:
        """Processes one JSON-RPC message of the Model Context Protocol, for agents.

        :param media: What is wanted instead of JSON.
        :param tools: Toolsets, or `all`. Default: jobs, indices, analytics, reports, data, documentation.
        """
        return self._transport.content("POST", "/mcp", body=body, query={"tools": tools}, accept=media)

    def list_jobs(self, *, kind: Optional[Sequence[Literal["backtest", "optimise", "render", "risk", "validate", "sync", "load", "refresh", "generate", "sweep", "batch", "account", "rerun", "study", "simulate", "replay", "diff", "differences"]]] = None, status: Optional[Sequence[Literal["pending", "running", "succeeded", "failed", "cancelled"]]] = None, limit: Optional[int] = None, before: Optional[str] = None) -> c.JobCollection:
        """Lists jobs, newest first.

        :param kind: Only jobs of one of these kinds.
        :param status: Only jobs in one of these states.
        :param limit: Maximum number of jobs.
        :param before: Only jobs submitted before this job.
        """
        return cast("c.JobCollection", self._transport.json("GET", "/jobs", query={"kind": kind, "status": status, "limit": limit, "before": before}))

    def follow_jobs(self, *, seconds: Optional[int] = None) -> Iterator[Event]:
        """Streams the status of every job as server-sent events.

        :param seconds: Seconds until the stream ends. With 0, it ends as soon as the unfinished jobs are reported.
        """
        return self._transport.events("GET", "/jobs/events", query={"seconds": seconds})

    def list_job_kinds(self) -> c.JobKindList:
        """Lists the kinds of jobs, and shows which kinds are paused."""
        return cast("c.JobKindList", self._transport.json("GET", "/jobs/kinds"))

    def pause_job_kind(self, job_kind: Literal["backtest", "optimise", "render", "risk", "validate", "sync", "load", "refresh", "generate", "sweep", "batch", "account", "rerun", "study", "simulate", "replay", "diff", "differences"], body: Optional[c.JobKindPause] = None) -> c.JobKindState:
        """Pauses all jobs of a kind.

        :param job_kind: Kind of job.
        """
        return cast("c.JobKindState", self._transport.json("POST", f"/jobs/kinds/{word(job_kind)}/pause", body=body))

    def resume_job_kind(self, job_kind: Literal["backtest", "optimise", "render", "risk", "validate", "sync", "load", "refresh", "generate", "sweep", "batch", "account", "rerun", "study", "simulate", "replay", "diff", "differences"]) -> c.JobKindState:
        """Resumes the jobs of a kind.

        :param job_kind: Kind of job.
        """
        return cast("c.JobKindState", self._transport.json("POST", f"/jobs/kinds/{word(job_kind)}/resume"))

    def get_job(self, job_id: str, *, wait: Optional[float] = None) -> Union[c.BacktestJobStatus, c.OptimisationJobStatus, c.RenderJobStatus, c.RiskModelJobStatus, c.SyncJobStatus, c.JobStatus]:
        """Returns the status of a job. After success, the response includes its result.

        :param job_id: {kind}:{id}, for example backtest:LARGE-100.
        :param wait: Maximum time to wait for a change of the status, in seconds.
        """
        return cast("Union[c.BacktestJobStatus, c.OptimisationJobStatus, c.RenderJobStatus, c.RiskModelJobStatus, c.SyncJobStatus, c.JobStatus]", self._transport.json("GET", f"/jobs/{word(job_id)}", query={"wait": wait}))

    def cancel_job(self, job_id: str, *, if_match: Optional[str] = None) -> Union[c.BacktestJobStatus, c.OptimisationJobStatus, c.RenderJobStatus, c.RiskModelJobStatus, c.SyncJobStatus, c.JobStatus]:
        """Cancels a job.

        :param job_id: {kind}:{id}, for example backtest:LARGE-100.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        """
        return cast("Union[c.BacktestJobStatus, c.OptimisationJobStatus, c.RenderJobStatus, c.RiskModelJobStatus, c.SyncJobStatus, c.JobStatus]", self._transport.json("DELETE", f"/jobs/{word(job_id)}", if_match=if_match))

    def retry_jobs(self, body: Optional[c.JobRetryRequest] = None) -> c.JobRetries:
        """Queues failed jobs again."""
        return cast("c.JobRetries", self._transport.json("POST", "/jobs/retry", body=body))

    def follow_job(self, job_id: str) -> Iterator[Event]:
        """Streams the status of a job as server-sent events.

        :param job_id: {kind}:{id}, for example backtest:LARGE-100.
        """
        return self._transport.events("GET", f"/jobs/{word(job_id)}/events")

    def list_calendars(self) -> c.CalendarList:
        """Lists every exchange calendar that an index can use."""
        return cast("c.CalendarList", self._transport.json("GET", "/indices/calendars"))

    def get_schedule(self, index_id: str, *, asof: Optional[c.Date] = None, as_of: Optional[c.Date] = None, limit: Optional[int] = None) -> c.ScheduleView:
        """Lists recent and upcoming rebalance dates of an index.

        :param asof: Date of the search. Default: today (UTC).
        :param as_of: Alias of asof. If both are present, they must be equal.
        :param limit: Maximum number of recent dates, and of upcoming dates. Upcoming dates are also limited by the horizon.
        """
        return cast("c.ScheduleView", self._transport.json("GET", f"/indices/{word(index_id)}/schedule", query={"asof": asof, "as_of": as_of, "limit": limit}))

    def list_events(self, *, from_: Optional[c.Date] = None, to: Optional[c.Date] = None, index_ids: Optional[Sequence[str]] = None, kinds: Optional[Sequence[Literal["holiday", "early_close", "closure", "announcement", "effective", "expiry"]]] = None, format: Optional[Literal["json", "ics"]] = None) -> c.EventsView:
        """Lists the events of all indices: announcements, effective dates, expiries, holidays and early closes.

        :param from_: First day. Default: today (UTC).
        :param to: Last day, at most ten years after the first. Default: 366 days after the first.
        :param index_ids: Index ids. Default: all indices.
        :param kinds: Kinds of events. Default: all kinds. `holiday`: weekday on which the exchange is closed; `early_close`: session that closes before the usual time by the rules of the exchange calendar; `closure`: recorded change of the sessions of an exchange: a closure, a half day, a late opening, an added session; `announcement`: session on which a composition is announced, if it is before the effective date; `effective`: date on which a rebalance takes effect, at its close; `expiry`: expiry of index futures: the third Friday of March, June, September and December, or the previous session.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.EventsView", self._transport.json("GET", "/events", query={"from": from_, "to": to, "index_ids": index_ids, "kinds": kinds, "format": format}))

    def list_events_content(self, media: Literal["text/calendar"], *, from_: Optional[c.Date] = None, to: Optional[c.Date] = None, index_ids: Optional[Sequence[str]] = None, kinds: Optional[Sequence[Literal["holiday", "early_close", "closure", "announcement", "effective", "expiry"]]] = None, format: Optional[Literal["json", "ics"]] = None) -> bytes:
        """Lists the events of all indices: announcements, effective dates, expiries, holidays and early closes.

        :param media: What is wanted instead of JSON.
        :param from_: First day. Default: today (UTC).
        :param to: Last day, at most ten years after the first. Default: 366 days after the first.
        :param index_ids: Index ids. Default: all indices.
        :param kinds: Kinds of events. Default: all kinds. `holiday`: weekday on which the exchange is closed; `early_close`: session that closes before the usual time by the rules of the exchange calendar; `closure`: recorded change of the sessions of an exchange: a closure, a half day, a late opening, an added session; `announcement`: session on which a composition is announced, if it is before the effective date; `effective`: date on which a rebalance takes effect, at its close; `expiry`: expiry of index futures: the third Friday of March, June, September and December, or the previous session.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", "/events", query={"from": from_, "to": to, "index_ids": index_ids, "kinds": kinds, "format": format}, accept=media)

    def list_closures(self) -> c.CalendarClosuresCollection:
        """Lists the calendars with recorded changes."""
        return cast("c.CalendarClosuresCollection", self._transport.json("GET", "/calendars"))

    def get_closures(self, calendar_code: str) -> c.CalendarClosures:
        """Returns the recorded changes of a calendar: unscheduled closures, half days, late openings, additional sessions.

        :param calendar_code: Code of the calendar, with a dash in place of a slash (`24-5`, `24-7`).
        """
        return cast("c.CalendarClosures", self._transport.json("GET", f"/calendars/{word(calendar_code)}/closures"))

    def put_closures(self, calendar_code: str, body: c.ClosuresBody, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.RecordedCalendarClosures:
        """Records the changes of a calendar. They replace all changes recorded before.

        :param calendar_code: Code of the calendar, with a dash in place of a slash (`24-5`, `24-7`).
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.RecordedCalendarClosures", self._transport.json("PUT", f"/calendars/{word(calendar_code)}/closures", body=body, if_match=if_match, note=note))

    def delete_closures(self, calendar_code: str, *, purge: Optional[bool] = None, if_match: Optional[str] = None, note: Optional[str] = None) -> None:
        """Deletes the recorded changes of a calendar. Afterwards only its rules apply.

        :param calendar_code: Code of the calendar, with a dash in place of a slash (`24-5`, `24-7`).
        :param purge: True also removes all versions, even of a deleted document. Requires the scope admin.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        self._transport.json("DELETE", f"/calendars/{word(calendar_code)}/closures", query={"purge": purge}, if_match=if_match, note=note)

    def list_indices(self, *, limit: Optional[int] = None, after: Optional[str] = None) -> c.IndexCollection:
        """Lists the stored index definitions.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        """
        return cast("c.IndexCollection", self._transport.json("GET", "/indices", query={"limit": limit, "after": after}))

    def create_index(self, body: c.IndexDocumentBody, *, note: Optional[str] = None) -> c.SavedIndex:
        """Stores a new index definition.

        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.SavedIndex", self._transport.json("POST", "/indices", body=body, note=note))

    def list_rule_types(self) -> c.RuleTypes:
        """Lists every selection and weighting class with its parameters, and all other fields of a definition."""
        return cast("c.RuleTypes", self._transport.json("GET", "/indices/rule-types"))

    def list_overlay_types(self) -> c.OverlayTypes:
        """Lists every type of overlay with its formula, the source of the formula, and its parameters."""
        return cast("c.OverlayTypes", self._transport.json("GET", "/indices/overlay-types"))

    def list_methodology_templates(self, *, store_id: Optional[str] = None) -> c.MethodologyTemplateCollection:
        """Lists the templates of published methodologies, with the data that each template requires and its availability in the served store.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.MethodologyTemplateCollection", self._transport.json("GET", "/indices/templates", query={"store_id": store_id}))

    def get_methodology_template(self, methodology_id: str, *, index_id: Optional[str] = None, base_date: Optional[c.Date] = None, store_id: Optional[str] = None) -> c.MethodologyTemplateDetail:
        """Returns one published methodology as index documents that can be stored.

        :param index_id: Id of the index, and prefix of the ids of its other documents. Default: the ids of the template.
        :param base_date: Base date of every document. Default: the first date, at least one year after the start of the served store, on which the rules have their data; without a store the base date of the template.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.MethodologyTemplateDetail", self._transport.json("GET", f"/indices/templates/{word(methodology_id)}", query={"index_id": index_id, "base_date": base_date, "store_id": store_id}))

    def get_methodology_template_level(self, methodology_id: str, *, store_id: Optional[str] = None) -> c.MethodologyTemplateLevel:
        """Computes the level of a published methodology on the served store over the last three years. Nothing is stored.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.MethodologyTemplateLevel", self._transport.json("GET", f"/indices/templates/{word(methodology_id)}/level", query={"store_id": store_id}))

    def validate_index(self, body: c.IndexDocumentBody, *, store_id: Optional[str] = None) -> c.ValidationReport:
        """Validates a definition. Nothing is stored.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.ValidationReport", self._transport.json("POST", "/indices/validate", body=body, query={"store_id": store_id}))

    def evaluate_datapoint(self, body: c.DatapointRequest, *, store_id: Optional[str] = None) -> c.DatapointEvaluation:
        """Analyses an expression: its canonical text, its unit and the values of a few securities.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.DatapointEvaluation", self._transport.json("POST", "/indices/datapoints/evaluate", body=body, query={"store_id": store_id}))

    def preview_document(self, body: c.PreviewDocumentRequest, *, store_id: Optional[str] = None) -> c.PreviewResponse:
        """Computes the composition of a definition on one date. Nothing is stored.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.PreviewResponse", self._transport.json("POST", "/indices/preview", body=body, query={"store_id": store_id}))

    def sketch_level(self, body: c.LevelSketchRequest, *, store_id: Optional[str] = None) -> c.LevelSketch:
        """Computes the level of a definition over the last three years. Nothing is stored.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.LevelSketch", self._transport.json("POST", "/indices/level", body=body, query={"store_id": store_id}))

    def what_if(self, body: c.WhatIfRequest, *, store_id: Optional[str] = None) -> c.WhatIfResponse:
        """Computes the effect of a changed definition on one date. Nothing is stored.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.WhatIfResponse", self._transport.json("POST", "/indices/whatif", body=body, query={"store_id": store_id}))

    def get_index(self, index_id: str, *, on: Optional[c.Date] = None) -> c.IndexDocument:
        """Returns a stored definition, in the form that PUT accepts.

        :param on: Day (YYYY-MM-DD) of the definition in force, including all amendments that are effective on or before this day. Default: the document as stored.
        """
        return cast("c.IndexDocument", self._transport.json("GET", f"/indices/{word(index_id)}", query={"on": on}))

    def put_index(self, index_id: str, body: c.IndexDocumentBody, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.SavedIndex:
        """Stores or replaces a definition.

        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.SavedIndex", self._transport.json("PUT", f"/indices/{word(index_id)}", body=body, if_match=if_match, note=note))

    def delete_index(self, index_id: str, *, purge: Optional[bool] = None, if_match: Optional[str] = None, note: Optional[str] = None) -> c.IndexDeletion:
        """Deletes a definition, the indices that depend on it, and all their results.

        :param purge: True also removes all versions, even of a deleted document. Requires the scope admin.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.IndexDeletion", self._transport.json("DELETE", f"/indices/{word(index_id)}", query={"purge": purge}, if_match=if_match, note=note))

    def preview_index(self, index_id: str, body: Optional[c.PreviewRequest] = None, *, store_id: Optional[str] = None) -> c.PreviewResponse:
        """Computes the composition of a stored definition on one date.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.PreviewResponse", self._transport.json("POST", f"/indices/{word(index_id)}/preview", body=body, query={"store_id": store_id}))

    def explain_name(self, index_id: str, identifier: str, *, as_of: Optional[c.Date] = None, run_id: Optional[str] = None, store_id: Optional[str] = None) -> c.IndexExplanation:
        """Explains one weight.

        :param as_of: Date of the explanation. Default: the latest date of the store.
        :param run_id: Id of a run. The request then uses the definition of the run, with every document and risk model as of the run, on the served data. Default: the stored definition.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.IndexExplanation", self._transport.json("GET", f"/indices/{word(index_id)}/explain/{word(identifier)}", query={"as_of": as_of, "run_id": run_id, "store_id": store_id}))

    def get_methodology(self, index_id: str) -> c.Methodology:
        """Returns the definition in numbered English sentences."""
        return cast("c.Methodology", self._transport.json("GET", f"/indices/{word(index_id)}/methodology"))

    def pack_rebalance(self, index_id: str, body: c.RebalancePackRequest, *, store_id: Optional[str] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> c.RebalancePack:
        """Computes the orders that align accounts with an index: shares, lots, costs, days to trade, capacity. Nothing is stored.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.RebalancePack", self._transport.json("POST", f"/indices/{word(index_id)}/rebalance-pack", body=body, query={"store_id": store_id, "format": format}))

    def pack_rebalance_content(self, index_id: str, body: c.RebalancePackRequest, media: Literal["text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"], *, store_id: Optional[str] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> bytes:
        """Computes the orders that align accounts with an index: shares, lots, costs, days to trade, capacity. Nothing is stored.

        :param media: What is wanted instead of JSON.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("POST", f"/indices/{word(index_id)}/rebalance-pack", body=body, query={"store_id": store_id, "format": format}, accept=media)

    def start_backtest(self, index_id: str, body: Optional[c.BacktestRequest] = None, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None) -> Job[c.BacktestRunResult]:
        """Runs a backtest of an index or a strategy as a job.

        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        """
        return Job(self._transport, self._transport.json("POST", f"/analytics/{word(index_id)}/backtest", body=body, query={"callback": callback, "priority": priority}))

    def start_backtests(self, body: c.BacktestBatchRequest, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None) -> c.BacktestBatch:
        """Runs backtests of many indices and strategies, each as a separate job.

        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        """
        return cast("c.BacktestBatch", self._transport.json("POST", "/analytics/backtests", body=body, query={"callback": callback, "priority": priority}))

    def list_backtests(self, *, limit: Optional[int] = None, after: Optional[str] = None) -> c.BacktestRecordCollection:
        """Lists stored records by id.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        """
        return cast("c.BacktestRecordCollection", self._transport.json("GET", "/analytics/backtests", query={"limit": limit, "after": after}))

    def compare_runs(self, ids: Sequence[c.RunOf], *, benchmark: Optional[str] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, format: Optional[Literal["json", "csv"]] = None) -> c.CompareView:
        """Compares levels, figures and correlations of several stored runs on their common dates.

        :param ids: 2 to 32 ids, or ID@RUN for an earlier run. With a benchmark, one id is sufficient.
        :param benchmark: Benchmark: `index:ID`, which is run from its definition, or `identifier:ID`, a security or series of the data. An id without a prefix is an index if one is stored under it, otherwise an identifier.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.CompareView", self._transport.json("GET", "/analytics/compare", query={"ids": ids, "benchmark": benchmark, "start": start, "end": end, "format": format}))

    def compare_runs_content(self, ids: Sequence[c.RunOf], media: Literal["text/csv"], *, benchmark: Optional[str] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, format: Optional[Literal["json", "csv"]] = None) -> bytes:
        """Compares levels, figures and correlations of several stored runs on their common dates.

        :param ids: 2 to 32 ids, or ID@RUN for an earlier run. With a benchmark, one id is sufficient.
        :param media: What is wanted instead of JSON.
        :param benchmark: Benchmark: `index:ID`, which is run from its definition, or `identifier:ID`, a security or series of the data. An id without a prefix is an index if one is stored under it, otherwise an identifier.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", "/analytics/compare", query={"ids": ids, "benchmark": benchmark, "start": start, "end": end, "format": format}, accept=media)

    def get_record(self, index_id: str, *, run_id: Optional[str] = None) -> c.BacktestResultSummary:
        """Returns the stored record of a run.

        :param run_id: Id of a stored run. Default: the newest run.
        """
        return cast("c.BacktestResultSummary", self._transport.json("GET", f"/analytics/{word(index_id)}/record", query={"run_id": run_id}))

    def delete_record(self, index_id: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> None:
        """Deletes the stored run.

        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        self._transport.json("DELETE", f"/analytics/{word(index_id)}/record", if_match=if_match, note=note)

    def get_overview(self, index_id: str, *, run_id: Optional[str] = None) -> c.OverviewView:
        """Returns level, metrics and concentration of a run.

        :param run_id: Id of a stored run. Default: the newest run.
        """
        return cast("c.OverviewView", self._transport.json("GET", f"/analytics/{word(index_id)}/overview", query={"run_id": run_id}))

    def get_attribution(self, index_id: str, *, run_id: Optional[str] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None) -> c.AttributionView:
        """Returns the contributions of the securities to the return of a window. The contributions are linked, so that they add up to the return exactly.

        :param run_id: Id of a stored run. Default: the newest run.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        """
        return cast("c.AttributionView", self._transport.json("GET", f"/analytics/{word(index_id)}/attribution", query={"run_id": run_id, "start": start, "end": end}))

    def get_group_attribution(self, index_id: str, *, run_id: Optional[str] = None, by: Optional[str] = None, benchmark: Optional[str] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None) -> c.GroupAttributionView:
        """Returns contributions by group, and allocation, selection and interaction against a benchmark index.

        :param run_id: Id of a stored run. Default: the newest run.
        :param by: Reference column to group by.
        :param benchmark: Benchmark: `index:ID`, which is run from its definition, or `identifier:ID`, a security or series of the data. An id without a prefix is an index if one is stored under it, otherwise an identifier.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        """
        return cast("c.GroupAttributionView", self._transport.json("GET", f"/analytics/{word(index_id)}/attribution/groups", query={"run_id": run_id, "by": by, "benchmark": benchmark, "start": start, "end": end}))

    def reconcile_run(self, index_id: str, *, run_id: Optional[str] = None) -> c.ReconciliationView:
        """Recomputes the accounting identities of the stored run.

        :param run_id: Id of a stored run. Default: the newest run.
        """
        return cast("c.ReconciliationView", self._transport.json("GET", f"/analytics/{word(index_id)}/reconcile", query={"run_id": run_id}))

    def get_run_asset(self, index_id: str, identifier: str, *, run_id: Optional[str] = None) -> c.AssetView:
        """Returns one security of a run: its price, its weights, and its correlation with the run.

        :param run_id: Id of a stored run. Default: the newest run.
        """
        return cast("c.AssetView", self._transport.json("GET", f"/analytics/{word(index_id)}/assets/{word(identifier)}", query={"run_id": run_id}))

    def get_weights(self, index_id: str, *, run_id: Optional[str] = None, as_of: Optional[c.Date] = None, benchmark: Optional[str] = None, risk: Optional[bool] = None, risk_model: Optional[str] = None, risk_estimator: Optional[Literal["shrinkage", "nonlinear", "gerber", "denoised", "newey_west", "statistical", "industries", "styles"]] = None) -> c.WeightsView:
        """Returns the holdings of the index on a date, with concentration, drift and risk.

        :param run_id: Id of a stored run. Default: the newest run.
        :param as_of: Latest date of the run on or before this day. Default: the last date.
        :param benchmark: Benchmark: `index:ID`, which is run from its definition, or `identifier:ID`, a security or series of the data. An id without a prefix is an index if one is stored under it, otherwise an identifier.
        :param risk: True adds risk contributions.
        :param risk_model: Stored risk model for the risk contributions. They then need no prices.
        :param risk_estimator: Estimator of a covariance over the window of the run, with default settings. It adds risk contributions. Excludes risk_model.
        """
        return cast("c.WeightsView", self._transport.json("GET", f"/analytics/{word(index_id)}/weights", query={"run_id": run_id, "as_of": as_of, "benchmark": benchmark, "risk": risk, "risk_model": risk_model, "risk_estimator": risk_estimator}))

    def get_factor_risk(self, index_id: str, benchmark: str, *, run_id: Optional[str] = None, as_of: Optional[c.Date] = None, model: Optional[Literal["market_sector", "statistical", "industries", "styles"]] = None, risk_model: Optional[str] = None, risk_estimator: Optional[Literal["statistical", "industries", "styles"]] = None, factors: Optional[int] = None) -> c.RiskDecomposition:
        """Splits the active variance against a benchmark index into factor risk and specific risk.

        :param benchmark: Benchmark: `index:ID`, which is run from its definition, or `identifier:ID`, a security or series of the data. An id without a prefix is an index if one is stored under it, otherwise an identifier.
        :param run_id: Id of a stored run. Default: the newest run.
        :param as_of: Latest date of the run on or before this day. Default: the last date.
        :param model: Factors over the window of the run: market and sectors (`market_sector`, `industries`), principal components (`statistical`), or market, sectors and styles (`styles`). Default: market_sector. Excludes risk_model.
        :param risk_model: Stored risk model that provides the factors: statistical, industries or styles.
        :param risk_estimator: Estimator of the factors over the window of the run. Excludes model and risk_model.
        :param factors: Number of principal components of `statistical`. Default: 5.
        """
        return cast("c.RiskDecomposition", self._transport.json("GET", f"/analytics/{word(index_id)}/factor-risk", query={"benchmark": benchmark, "run_id": run_id, "as_of": as_of, "model": model, "risk_model": risk_model, "risk_estimator": risk_estimator, "factors": factors}))

    def get_total_risk(self, index_id: str, *, run_id: Optional[str] = None, as_of: Optional[c.Date] = None, model: Optional[Literal["market_sector", "statistical", "industries", "styles"]] = None, risk_model: Optional[str] = None, risk_estimator: Optional[Literal["statistical", "industries", "styles"]] = None, factors: Optional[int] = None) -> c.TotalRiskDecomposition:
        """Splits the total variance of the holdings into factor risk and specific risk.

        :param run_id: Id of a stored run. Default: the newest run.
        :param as_of: Latest date of the run on or before this day. Default: the last date.
        :param model: Factors over the window of the run: market and sectors (`market_sector`, `industries`), principal components (`statistical`), or market, sectors and styles (`styles`). Default: market_sector. Excludes risk_model.
        :param risk_model: Stored risk model that provides the factors: statistical, industries or styles.
        :param risk_estimator: Estimator of the factors over the window of the run. Excludes model and risk_model.
        :param factors: Number of principal components of `statistical`. Default: 5.
        """
        return cast("c.TotalRiskDecomposition", self._transport.json("GET", f"/analytics/{word(index_id)}/total-risk", query={"run_id": run_id, "as_of": as_of, "model": model, "risk_model": risk_model, "risk_estimator": risk_estimator, "factors": factors}))

    def get_factor_attribution(self, index_id: str, *, run_id: Optional[str] = None, model: Optional[Literal["styles", "market_sector"]] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None) -> c.FactorAttributionView:
        """Attributes the return of a run to market, sectors and styles.

        :param run_id: Id of a stored run. Default: the newest run.
        :param model: Market, sectors and styles, or market and sectors.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        """
        return cast("c.FactorAttributionView", self._transport.json("GET", f"/analytics/{word(index_id)}/factor-attribution", query={"run_id": run_id, "model": model, "start": start, "end": end}))

    def get_levels(self, index_id: str, *, run_id: Optional[str] = None, variant: Optional[Literal["price", "total", "net"]] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None) -> c.LevelsView:
        """Returns the index levels of a run in any return variant, with the divisor.

        :param run_id: Id of a stored run. Default: the newest run.
        :param variant: Return variant. Default: the variant of the index. A run on prices that include dividends has only `total`.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        """
        return cast("c.LevelsView", self._transport.json("GET", f"/analytics/{word(index_id)}/levels", query={"run_id": run_id, "variant": variant, "start": start, "end": end}))

    def list_runs(self, index_id: str, *, limit: Optional[int] = None, before: Optional[str] = None) -> c.StoredRuns:
        """Lists the stored runs of an index or strategy, newest first.

        :param limit: Maximum number of rows. Default: all.
        :param before: Only rows that follow the row of this run.
        """
        return cast("c.StoredRuns", self._transport.json("GET", f"/analytics/{word(index_id)}/runs", query={"limit": limit, "before": before}))

    def diff_runs(self, index_id: str, body: c.RunsDifferenceRequest, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None) -> Job[c.RunsDifference]:
        """Explains the differences between two stored runs, as a job.

        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        """
        return Job(self._transport, self._transport.json("POST", f"/analytics/{word(index_id)}/runs/diff", body=body, query={"callback": callback, "priority": priority}))

    def list_summaries(self, *, limit: Optional[int] = None, after: Optional[str] = None) -> c.RunSummaryCollection:
        """Returns level, returns, volatility and rebalances of every stored run, one row per run.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        """
        return cast("c.RunSummaryCollection", self._transport.json("GET", "/analytics/summaries", query={"limit": limit, "after": after}))

    def get_performance(self, index_id: str, *, run_id: Optional[str] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, of: Optional[Literal["portfolio", "index"]] = None, variant: Optional[Literal["price", "total", "net"]] = None) -> c.PerformanceView:
        """Returns levels, drawdown, returns and figures of a run over a window.

        :param run_id: Id of a stored run. Default: the newest run.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        :param of: Series that the figures describe: the portfolio after costs, or the index that it tracks. Default: index if `variant` is set, otherwise portfolio.
        :param variant: Return variant of the index that is measured. Default: that of the definition. A portfolio has only the variant of its run.
        """
        return cast("c.PerformanceView", self._transport.json("GET", f"/analytics/{word(index_id)}/performance", query={"run_id": run_id, "start": start, "end": end, "of": of, "variant": variant}))

    def list_rebalances(self, index_id: str, *, run_id: Optional[str] = None) -> c.RebalanceList:
        """Lists every rebalance of a run with its changes, turnover and cost.

        :param run_id: Id of a stored run. Default: the newest run.
        """
        return cast("c.RebalanceList", self._transport.json("GET", f"/analytics/{word(index_id)}/rebalances", query={"run_id": run_id}))

    def get_rebalance(self, index_id: str, date: c.Date, *, run_id: Optional[str] = None) -> c.RebalanceView:
        """Returns one rebalance of a run by security: weights before and after, and trades.

        :param date: Date of the rebalance. The response describes the latest rebalance on or before this day.
        :param run_id: Id of a stored run. Default: the newest run.
        """
        return cast("c.RebalanceView", self._transport.json("GET", f"/analytics/{word(index_id)}/rebalances/{word(date)}", query={"run_id": run_id}))

    def get_index_actions(self, index_id: str, *, run_id: Optional[str] = None, from_: Optional[c.Date] = None, to: Optional[c.Date] = None, table: Optional[Literal["actions", "constituents"]] = None, format: Optional[Literal["json", "csv"]] = None) -> c.ActionsView:
        """Returns the effects of past and coming corporate actions on an index: weight, shares and divisor before and after.

        :param run_id: Id of a stored run. Default: the newest run.
        :param from_: First ex-date. Default: the first date of the run.
        :param to: Last ex-date.
        :param table: Table of a CSV file: the actions (default), or the whole index before and after each coming action, with weight and shares of each security, for every choice of the action. Refused with JSON.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.ActionsView", self._transport.json("GET", f"/indices/{word(index_id)}/actions", query={"run_id": run_id, "from": from_, "to": to, "table": table, "format": format}))

    def get_index_actions_content(self, index_id: str, media: Literal["text/csv"], *, run_id: Optional[str] = None, from_: Optional[c.Date] = None, to: Optional[c.Date] = None, table: Optional[Literal["actions", "constituents"]] = None, format: Optional[Literal["json", "csv"]] = None) -> bytes:
        """Returns the effects of past and coming corporate actions on an index: weight, shares and divisor before and after.

        :param media: What is wanted instead of JSON.
        :param run_id: Id of a stored run. Default: the newest run.
        :param from_: First ex-date. Default: the first date of the run.
        :param to: Last ex-date.
        :param table: Table of a CSV file: the actions (default), or the whole index before and after each coming action, with weight and shares of each security, for every choice of the action. Refused with JSON.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", f"/indices/{word(index_id)}/actions", query={"run_id": run_id, "from": from_, "to": to, "table": table, "format": format}, accept=media)

    def get_dividend_points(self, index_id: str, *, run_id: Optional[str] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None) -> c.DividendPointsView:
        """Returns ordinary dividends in index points by session and year, the yield, and announced dividends.

        :param run_id: Id of a stored run. Default: the newest run.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        """
        return cast("c.DividendPointsView", self._transport.json("GET", f"/analytics/{word(index_id)}/dividend-points", query={"run_id": run_id, "start": start, "end": end}))

    def get_exposures(self, index_id: str, *, run_id: Optional[str] = None, by: Optional[str] = None, groups: Optional[int] = None, interval: Optional[Literal["native", "weekly", "monthly"]] = None, fields: Optional[Sequence[str]] = None, benchmark: Optional[str] = None, table: Optional[Literal["groups", "fields", "concentration"]] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> c.ExposuresView:
        """Returns weights by group and averages of datapoints over time, with concentration and turnover.

        :param run_id: Id of a stored run. Default: the newest run.
        :param by: Reference column to group by. Default: SECTOR. Securities without the column are UNCLASSIFIED; IDENTIFIER groups by security.
        :param groups: Maximum number of groups. All other groups are combined as OTHERS.
        :param interval: Dates of the rows: every date, or the last date of each week or month.
        :param fields: Numeric datapoints, such as DIVIDEND_YIELD, BETA and MARKET_CAP, or expressions over datapoints. Cross-sectional functions cover the securities that the run holds.
        :param benchmark: Benchmark: `index:ID`, which is run from its definition, or `identifier:ID`, a security or series of the data. An id without a prefix is an index if one is stored under it, otherwise an identifier.
        :param table: Table of a CSV, Arrow, Parquet or Excel file. Refused with JSON. Default: `fields` if fields are requested, otherwise `groups`.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.ExposuresView", self._transport.json("GET", f"/analytics/{word(index_id)}/exposures", query={"run_id": run_id, "by": by, "groups": groups, "interval": interval, "fields": fields, "benchmark": benchmark, "table": table, "start": start, "end": end, "format": format}))

    def get_exposures_content(self, index_id: str, media: Literal["text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"], *, run_id: Optional[str] = None, by: Optional[str] = None, groups: Optional[int] = None, interval: Optional[Literal["native", "weekly", "monthly"]] = None, fields: Optional[Sequence[str]] = None, benchmark: Optional[str] = None, table: Optional[Literal["groups", "fields", "concentration"]] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> bytes:
        """Returns weights by group and averages of datapoints over time, with concentration and turnover.

        :param media: What is wanted instead of JSON.
        :param run_id: Id of a stored run. Default: the newest run.
        :param by: Reference column to group by. Default: SECTOR. Securities without the column are UNCLASSIFIED; IDENTIFIER groups by security.
        :param groups: Maximum number of groups. All other groups are combined as OTHERS.
        :param interval: Dates of the rows: every date, or the last date of each week or month.
        :param fields: Numeric datapoints, such as DIVIDEND_YIELD, BETA and MARKET_CAP, or expressions over datapoints. Cross-sectional functions cover the securities that the run holds.
        :param benchmark: Benchmark: `index:ID`, which is run from its definition, or `identifier:ID`, a security or series of the data. An id without a prefix is an index if one is stored under it, otherwise an identifier.
        :param table: Table of a CSV, Arrow, Parquet or Excel file. Refused with JSON. Default: `fields` if fields are requested, otherwise `groups`.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", f"/analytics/{word(index_id)}/exposures", query={"run_id": run_id, "by": by, "groups": groups, "interval": interval, "fields": fields, "benchmark": benchmark, "table": table, "start": start, "end": end, "format": format}, accept=media)

    def get_limits(self, index_id: str, *, run_id: Optional[str] = None, rule: Optional[Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]] = None, by: Optional[str] = None, table: Optional[Literal["state", "rows", "breaches"]] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> c.LimitsView:
        """Checks a published concentration rule on every session, and returns headroom, breaches and their causes.

        :param run_id: Id of a stored run. Default: the newest run.
        :param rule: Default: the rule that triggers rebalances of the index, or UCITS_5_10_40 if there is none. UCITS_5_10_40: No issuer is above 10%. All issuers above 5% together are at most 40%. UCITS_20_35: For funds that replicate an index: no issuer is above 20%, except one issuer with up to 35%. RIC_25_5_50: No issuer is above 25%. All issuers above 5% together are at most 50%. SEC_75_5_10: Positions of at most 5% each add up to at least 75%. The limit of 10% of voting rights is not checked.
        :param by: Reference column of the issuer. With IDENTIFIER, each security is a separate issuer.
        :param table: Table of a CSV, Arrow, Parquet or Excel file. Refused with JSON. Default: `state`.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.LimitsView", self._transport.json("GET", f"/analytics/{word(index_id)}/limits", query={"run_id": run_id, "rule": rule, "by": by, "table": table, "start": start, "end": end, "format": format}))

    def get_limits_content(self, index_id: str, media: Literal["text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"], *, run_id: Optional[str] = None, rule: Optional[Literal["UCITS_5_10_40", "UCITS_20_35", "RIC_25_5_50", "SEC_75_5_10"]] = None, by: Optional[str] = None, table: Optional[Literal["state", "rows", "breaches"]] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> bytes:
        """Checks a published concentration rule on every session, and returns headroom, breaches and their causes.

        :param media: What is wanted instead of JSON.
        :param run_id: Id of a stored run. Default: the newest run.
        :param rule: Default: the rule that triggers rebalances of the index, or UCITS_5_10_40 if there is none. UCITS_5_10_40: No issuer is above 10%. All issuers above 5% together are at most 40%. UCITS_20_35: For funds that replicate an index: no issuer is above 20%, except one issuer with up to 35%. RIC_25_5_50: No issuer is above 25%. All issuers above 5% together are at most 50%. SEC_75_5_10: Positions of at most 5% each add up to at least 75%. The limit of 10% of voting rights is not checked.
        :param by: Reference column of the issuer. With IDENTIFIER, each security is a separate issuer.
        :param table: Table of a CSV, Arrow, Parquet or Excel file. Refused with JSON. Default: `state`.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", f"/analytics/{word(index_id)}/limits", query={"run_id": run_id, "rule": rule, "by": by, "table": table, "start": start, "end": end, "format": format}, accept=media)

    def watch_limits(self, index_id: str, body: c.LimitsRequest, *, run_id: Optional[str] = None, table: Optional[Literal["state", "rows", "breaches"]] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> c.LimitsView:
        """Checks constraints on every session of a run.

        :param run_id: Id of a stored run. Default: the newest run.
        :param table: Table of a CSV, Arrow, Parquet or Excel file. Refused with JSON. Default: `state`.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.LimitsView", self._transport.json("POST", f"/analytics/{word(index_id)}/limits", body=body, query={"run_id": run_id, "table": table, "start": start, "end": end, "format": format}))

    def watch_limits_content(self, index_id: str, body: c.LimitsRequest, media: Literal["text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"], *, run_id: Optional[str] = None, table: Optional[Literal["state", "rows", "breaches"]] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> bytes:
        """Checks constraints on every session of a run.

        :param media: What is wanted instead of JSON.
        :param run_id: Id of a stored run. Default: the newest run.
        :param table: Table of a CSV, Arrow, Parquet or Excel file. Refused with JSON. Default: `state`.
        :param start: First day. Default: the first date of the run.
        :param end: Last day. Default: the last date of the run.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("POST", f"/analytics/{word(index_id)}/limits", body=body, query={"run_id": run_id, "table": table, "start": start, "end": end, "format": format}, accept=media)

    def run_scenarios(self, index_id: str, body: c.ScenarioRequest, *, run_id: Optional[str] = None, table: Optional[Literal["scenarios", "names", "groups", "sessions"]] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> c.ScenariosView:
        """Returns the return of the composition of a run in historical windows and under shocks, by security and group. Nothing is stored.

        :param run_id: Id of a stored run. Default: the newest run.
        :param table: Table of a CSV, Arrow, Parquet or Excel file. Refused with JSON. Default: `scenarios`.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.ScenariosView", self._transport.json("POST", f"/analytics/{word(index_id)}/scenarios", body=body, query={"run_id": run_id, "table": table, "format": format}))

    def run_scenarios_content(self, index_id: str, body: c.ScenarioRequest, media: Literal["text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"], *, run_id: Optional[str] = None, table: Optional[Literal["scenarios", "names", "groups", "sessions"]] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> bytes:
        """Returns the return of the composition of a run in historical windows and under shocks, by security and group. Nothing is stored.

        :param media: What is wanted instead of JSON.
        :param run_id: Id of a stored run. Default: the newest run.
        :param table: Table of a CSV, Arrow, Parquet or Excel file. Refused with JSON. Default: `scenarios`.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("POST", f"/analytics/{word(index_id)}/scenarios", body=body, query={"run_id": run_id, "table": table, "format": format}, accept=media)

    def export_run(self, index_id: str, table: Literal["levels", "weights", "constituents", "closing", "opening", "proforma", "rebalances", "trades", "attribution", "events", "exposures", "limits", "breaches", "risk"], *, run_id: Optional[str] = None, as_known_on: Optional[str] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, date: Optional[c.Date] = None, by: Optional[str] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> c.ExportView:
        """Returns a table of a run as a file, with its whole history.

        :param table: The table.
        :param run_id: Id of a stored run. Default: the newest run.
        :param as_known_on: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
        :param start: First date. Default: the first date of the run.
        :param end: Last date. Default: the last date of the run.
        :param date: Session of `closing`, `opening` and `proforma`: the last session on or before this day. Default: the last session of the run.
        :param by: Reference column of the groups of `exposures` (default: SECTOR) or of the issuers of `limits` and `breaches` (ISSUER), or IDENTIFIER.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.ExportView", self._transport.json("GET", f"/analytics/{word(index_id)}/exports/{word(table)}", query={"run_id": run_id, "as_known_on": as_known_on, "start": start, "end": end, "date": date, "by": by, "format": format}))

    def export_run_content(self, index_id: str, table: Literal["levels", "weights", "constituents", "closing", "opening", "proforma", "rebalances", "trades", "attribution", "events", "exposures", "limits", "breaches", "risk"], media: Literal["text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"], *, run_id: Optional[str] = None, as_known_on: Optional[str] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, date: Optional[c.Date] = None, by: Optional[str] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> bytes:
        """Returns a table of a run as a file, with its whole history.

        :param table: The table.
        :param media: What is wanted instead of JSON.
        :param run_id: Id of a stored run. Default: the newest run.
        :param as_known_on: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
        :param start: First date. Default: the first date of the run.
        :param end: Last date. Default: the last date of the run.
        :param date: Session of `closing`, `opening` and `proforma`: the last session on or before this day. Default: the last session of the run.
        :param by: Reference column of the groups of `exposures` (default: SECTOR) or of the issuers of `limits` and `breaches` (ISSUER), or IDENTIFIER.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", f"/analytics/{word(index_id)}/exports/{word(table)}", query={"run_id": run_id, "as_known_on": as_known_on, "start": start, "end": end, "date": date, "by": by, "format": format}, accept=media)

    def run_sql(self, body: c.SqlRequest, *, store_id: Optional[str] = None, format: Optional[Literal["json", "csv", "arrow", "parquet"]] = None) -> c.SqlResult:
        """Runs an SQL query on runs, prices and reference data.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.SqlResult", self._transport.json("POST", "/sql", body=body, query={"store_id": store_id, "format": format}))

    def run_sql_content(self, body: c.SqlRequest, media: Literal["text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"], *, store_id: Optional[str] = None, format: Optional[Literal["json", "csv", "arrow", "parquet"]] = None) -> bytes:
        """Runs an SQL query on runs, prices and reference data.

        :param media: What is wanted instead of JSON.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("POST", "/sql", body=body, query={"store_id": store_id, "format": format}, accept=media)

    def list_constraint_sets(self, *, limit: Optional[int] = None, after: Optional[str] = None) -> c.ConstraintSetCollection:
        """Lists the stored constraint sets, by id.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        """
        return cast("c.ConstraintSetCollection", self._transport.json("GET", "/optimise/constraint-sets", query={"limit": limit, "after": after}))

    def create_constraint_set(self, body: c.ConstraintSetBody, *, note: Optional[str] = None) -> c.SavedConstraintSet:
        """Stores a new constraint set.

        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.SavedConstraintSet", self._transport.json("POST", "/optimise/constraint-sets", body=body, note=note))

    def validate_constraint_set(self, body: c.ConstraintSetBody, *, store_id: Optional[str] = None) -> c.ValidationReport:
        """Validates a constraint set. Nothing is stored.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.ValidationReport", self._transport.json("POST", "/optimise/constraint-sets/validate", body=body, query={"store_id": store_id}))

    def get_constraint_set(self, constraint_set_id: str) -> c.ConstraintSet:
        """Returns a stored constraint set, in the form that PUT accepts.

        :param constraint_set_id: Id of the constraint set.
        """
        return cast("c.ConstraintSet", self._transport.json("GET", f"/optimise/constraint-sets/{word(constraint_set_id)}"))

    def put_constraint_set(self, constraint_set_id: str, body: c.ConstraintSetBody, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.SavedConstraintSet:
        """Stores or replaces a constraint set.

        :param constraint_set_id: Id of the constraint set.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.SavedConstraintSet", self._transport.json("PUT", f"/optimise/constraint-sets/{word(constraint_set_id)}", body=body, if_match=if_match, note=note))

    def delete_constraint_set(self, constraint_set_id: str, *, purge: Optional[bool] = None, if_match: Optional[str] = None, note: Optional[str] = None) -> None:
        """Deletes a constraint set.

        :param constraint_set_id: Id of the constraint set.
        :param purge: True also removes all versions, even of a deleted document. Requires the scope admin.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        self._transport.json("DELETE", f"/optimise/constraint-sets/{word(constraint_set_id)}", query={"purge": purge}, if_match=if_match, note=note)

    def list_constraint_types(self) -> c.ConstraintTypes:
        """Lists every constraint class with its parameters."""
        return cast("c.ConstraintTypes", self._transport.json("GET", "/optimise/constraint-types"))

    def list_objective_types(self) -> c.ObjectiveTypes:
        """Lists every objective and every model of expected returns with its parameters."""
        return cast("c.ObjectiveTypes", self._transport.json("GET", "/optimise/objective-types"))

    def start_optimisation(self, body: c.OptimisationRunRequest, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None, store_id: Optional[str] = None) -> Job[c.OptimisationRunResult]:
        """Optimises the weights of an index under a constraint set, as a job.

        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return Job(self._transport, self._transport.json("POST", "/optimise/runs", body=body, query={"callback": callback, "priority": priority, "store_id": store_id}))

    def preview_optimisation(self, body: c.OptimisationPreviewRequest, *, store_id: Optional[str] = None) -> c.PreviewResponse:
        """Computes the weights of an optimisation without a job. Nothing is stored.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.PreviewResponse", self._transport.json("POST", "/optimise/preview", body=body, query={"store_id": store_id}))

    def get_optimisation(self, run_id: str) -> c.OptimisationRunResult:
        """Returns the result of a finished optimisation.

        :param run_id: Id of the run.
        """
        return cast("c.OptimisationRunResult", self._transport.json("GET", f"/optimise/runs/{word(run_id)}"))

    def optimise_index(self, index_id: str, body: c.OptimiseRequest, *, note: Optional[str] = None) -> c.SavedIndex:
        """Stores a new index that is optimised relative to this index at each rebalance.

        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.SavedIndex", self._transport.json("POST", f"/indices/{word(index_id)}/optimise", body=body, note=note))

    def list_risk_models(self, *, limit: Optional[int] = None, after: Optional[str] = None) -> c.RiskModelCollection:
        """Lists the stored risk models, by id.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        """
        return cast("c.RiskModelCollection", self._transport.json("GET", "/risk-models", query={"limit": limit, "after": after}))

    def get_risk_model(self, model_id: str, *, date: Optional[c.Date] = None, format: Optional[Literal["json", "arrow"]] = None) -> c.RiskModelView:
        """Returns a risk model with its matrices.

        :param model_id: Id of the risk model.
        :param date: For an imported model, the day whose model is returned. Default: the newest day.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.RiskModelView", self._transport.json("GET", f"/risk-models/{word(model_id)}", query={"date": date, "format": format}))

    def get_risk_model_content(self, model_id: str, media: Literal["application/vnd.apache.arrow.stream"], *, date: Optional[c.Date] = None, format: Optional[Literal["json", "arrow"]] = None) -> bytes:
        """Returns a risk model with its matrices.

        :param model_id: Id of the risk model.
        :param media: What is wanted instead of JSON.
        :param date: For an imported model, the day whose model is returned. Default: the newest day.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", f"/risk-models/{word(model_id)}", query={"date": date, "format": format}, accept=media)

    def delete_risk_model(self, model_id: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> None:
        """Deletes a risk model.

        :param model_id: Id of the risk model.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        self._transport.json("DELETE", f"/risk-models/{word(model_id)}", if_match=if_match, note=note)

    def estimate_risk_model(self, model_id: str, body: Optional[c.RiskModelRequest] = None, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None, store_id: Optional[str] = None) -> Job[c.RiskModelView]:
        """Estimates a risk model as a job.

        :param model_id: Id of the risk model.
        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return Job(self._transport, self._transport.json("POST", f"/risk-models/{word(model_id)}/estimate", body=body, query={"callback": callback, "priority": priority, "store_id": store_id}))

    def validate_risk_model(self, model_id: str, body: Optional[c.RiskValidationRequest] = None, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None, store_id: Optional[str] = None) -> Job[c.RiskValidationView]:
        """Validates the forecasts of a risk model over history, as a job.

        :param model_id: Id of the risk model.
        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return Job(self._transport, self._transport.json("POST", f"/risk-models/{word(model_id)}/validate", body=body, query={"callback": callback, "priority": priority, "store_id": store_id}))

    def import_risk_model(self, model_id: str, body: c.RiskModelImportInput, *, units: Optional[Literal["annual", "daily"]] = None, annualisation: Optional[int] = None, repair: Optional[bool] = None, date: Optional[c.Date] = None, store_id: Optional[str] = None) -> c.RiskModelImportResult:
        """Imports a risk model.

        :param model_id: Id of the risk model.
        :param units: As in the JSON body. Required for a file.
        :param annualisation: As in the JSON body.
        :param repair: As in the JSON body.
        :param date: Date of a file without a column `date`.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.RiskModelImportResult", self._transport.json("POST", f"/risk-models/{word(model_id)}/import", body=body, query={"units": units, "annualisation": annualisation, "repair": repair, "date": date, "store_id": store_id}))

    def export_risk_model(self, model_id: str) -> c.RiskModelImport:
        """Returns a risk model in the form of an import.

        :param model_id: Id of the risk model.
        """
        return cast("c.RiskModelImport", self._transport.json("GET", f"/risk-models/{word(model_id)}/export"))

    def replay_run(self, index_id: str, body: Optional[Mapping[str, Any]] = None, *, run_id: Optional[str] = None, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None) -> Job[c.ReplayView]:
        """Repeats a stored run as a job, and reports whether the results are equal.

        :param run_id: Id of a stored run. Default: the newest run.
        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        """
        return Job(self._transport, self._transport.json("POST", f"/analytics/{word(index_id)}/replay", body=body, query={"run_id": run_id, "callback": callback, "priority": priority}))

    def start_sweep(self, body: c.SweepRequest, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None) -> Job[c.SweepView]:
        """Runs many variants of an index and ranks them, as one job.

        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        """
        return Job(self._transport, self._transport.json("POST", "/analytics/sweeps", body=body, query={"callback": callback, "priority": priority}))

    def get_sweep_rows(self, sweep_id: str, *, block: Optional[int] = None) -> c.SweepRows:
        """Returns the rows of a sweep in blocks.

        :param block: Number of the block, from 0.
        """
        return cast("c.SweepRows", self._transport.json("GET", f"/analytics/sweeps/{word(sweep_id)}/rows", query={"block": block}))

    def list_batches(self, *, limit: Optional[int] = None) -> c.BatchCollection:
        """Lists the results of finished batches, newest first.

        :param limit: Maximum number of batches.
        """
        return cast("c.BatchCollection", self._transport.json("GET", "/optimise/batches", query={"limit": limit}))

    def start_batch(self, body: c.BatchRequest, *, terms: Optional[str] = None, batch_id: Optional[str] = None, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None, store_id: Optional[str] = None) -> Job[c.BatchView]:
        """Computes the trades of many accounts with tax lots that follow an index, as one job on all nodes.

        :param terms: Terms as JSON, for a table. With JSON lines, every line is then an account.
        :param batch_id: Id of the batch for a stream. It replaces the id in the terms.
        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return Job(self._transport, self._transport.json("POST", "/optimise/batches", body=body, query={"terms": terms, "batch_id": batch_id, "callback": callback, "priority": priority, "store_id": store_id}))

    def get_batch_template(self) -> str:
        """Returns a table of accounts as CSV, with every column and two example accounts."""
        return self._transport.content("GET", "/optimise/batches/template").decode()

    def get_batch_accounts(self, batch_id: str, *, block: Optional[int] = None, table: Optional[Literal["accounts", "trades"]] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> c.BatchAccounts:
        """Returns the results of a batch in blocks of 100 accounts.

        :param batch_id: Id of the batch.
        :param block: Number of the block, from 0.
        :param table: Table of a response in a format other than JSON.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.BatchAccounts", self._transport.json("GET", f"/optimise/batches/{word(batch_id)}/accounts", query={"block": block, "table": table, "format": format}))

    def get_batch_accounts_content(self, batch_id: str, media: Literal["text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"], *, block: Optional[int] = None, table: Optional[Literal["accounts", "trades"]] = None, format: Optional[Literal["json", "csv", "arrow", "parquet", "xlsx"]] = None) -> bytes:
        """Returns the results of a batch in blocks of 100 accounts.

        :param batch_id: Id of the batch.
        :param media: What is wanted instead of JSON.
        :param block: Number of the block, from 0.
        :param table: Table of a response in a format other than JSON.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", f"/optimise/batches/{word(batch_id)}/accounts", query={"block": block, "table": table, "format": format}, accept=media)

    def get_batch_common(self, batch_id: str) -> c.BatchCommonData:
        """Returns the data that all accounts of a batch use: prices, weights of the parent, and risk model.

        :param batch_id: Id of the batch.
        """
        return cast("c.BatchCommonData", self._transport.json("GET", f"/optimise/batches/{word(batch_id)}/common"))

    def backtest_account(self, index_id: str, body: c.AccountBacktestRequest, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None, store_id: Optional[str] = None) -> Job[c.AccountBacktestView]:
        """Run one account with tax lots over the history of an index, after tax.

        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return Job(self._transport, self._transport.json("POST", f"/analytics/{word(index_id)}/accounts/backtest", body=body, query={"callback": callback, "priority": priority, "store_id": store_id}))

    def start_rerun(self, body: c.RerunRequest, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None) -> Job[c.RerunView]:
        """Runs all indices and strategies with a stale run again, as one job.

        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        """
        return Job(self._transport, self._transport.json("POST", "/analytics/reruns", body=body, query={"callback": callback, "priority": priority}))

    def get_rerun_rows(self, rerun_id: str, *, block: Optional[int] = None) -> c.RerunRows:
        """Returns the rows of a rerun in blocks.

        :param block: Number of the block, from 0.
        """
        return cast("c.RerunRows", self._transport.json("GET", f"/analytics/reruns/{word(rerun_id)}/rows", query={"block": block}))

    def start_study(self, body: c.StudyRequest, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None, store_id: Optional[str] = None) -> Job[c.StudyView]:
        """Runs many optimisations as one job on all nodes.

        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return Job(self._transport, self._transport.json("POST", "/optimise/studies", body=body, query={"callback": callback, "priority": priority, "store_id": store_id}))

    def get_study_rows(self, study_id: str, *, block: Optional[int] = None) -> c.StudyRows:
        """Returns the rows of a study in blocks.

        :param block: Number of the block, from 0.
        """
        return cast("c.StudyRows", self._transport.json("GET", f"/optimise/studies/{word(study_id)}/rows", query={"block": block}))

    def simulate_index(self, index_id: str, body: Optional[c.SimulationRequest] = None, *, run_id: Optional[str] = None, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None) -> Job[c.SimulationView]:
        """Simulates the future level of a stored run, as a job.

        :param run_id: Id of a stored run. Default: the newest run.
        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        """
        return Job(self._transport, self._transport.json("POST", f"/analytics/{word(index_id)}/simulate", body=body, query={"run_id": run_id, "callback": callback, "priority": priority}))

    def explain_difference(self, index_id: str, body: c.DifferencesRequest, *, run_id: Optional[str] = None, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None) -> Job[c.DifferencesView]:
        """Explains why a level from outside differs from a stored run, as a job.

        :param run_id: Id of a stored run. Default: the newest run.
        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        """
        return Job(self._transport, self._transport.json("POST", f"/analytics/{word(index_id)}/differences", body=body, query={"run_id": run_id, "callback": callback, "priority": priority}))

    def get_rolling_risk(self, index_id: str, *, run_id: Optional[str] = None, window: Optional[int] = None, against: Optional[Literal["index", "benchmark"]] = None, benchmark: Optional[str] = None, half_life: Optional[float] = None) -> c.RollingRiskView:
        """Returns volatility, tracking error, beta and correlation of a run over time.

        :param run_id: Id of a stored run. Default: the newest run.
        :param window: Number of returns of a window. Default: 63, if there is no half-life.
        :param against: Reference of the comparison: the tracked index, or the benchmark of the run. Replaces `benchmark`. Default: the index.
        :param benchmark: Benchmark: `index:ID`, which is run from its definition, or `identifier:ID`, a security or series of the data. An id without a prefix is an index if one is stored under it, otherwise an identifier.
        :param half_life: Half-life in sessions. Replaces the window.
        """
        return cast("c.RollingRiskView", self._transport.json("GET", f"/analytics/{word(index_id)}/rolling", query={"run_id": run_id, "window": window, "against": against, "benchmark": benchmark, "half_life": half_life}))

    def render_report(self, body: c.RenderRequest, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None) -> Job[c.RenderResult]:
        """Renders a template as a PDF, as a job.

        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        """
        return Job(self._transport, self._transport.json("POST", "/reports/render", body=body, query={"callback": callback, "priority": priority}))

    def list_renders(self, *, index_id: Optional[str] = None, template_id: Optional[str] = None, limit: Optional[int] = None, before: Optional[str] = None) -> c.RenderCollection:
        """Finished renders, newest first.

        :param index_id: Only renders of this index.
        :param template_id: Only renders of this template.
        :param limit: Maximum number of renders.
        :param before: Only renders older than this render, for the next page.
        """
        return cast("c.RenderCollection", self._transport.json("GET", "/reports/renders", query={"index_id": index_id, "template_id": template_id, "limit": limit, "before": before}))

    def get_render(self, render_id: str) -> bytes:
        """Returns a rendered report."""
        return self._transport.content("GET", f"/reports/renders/{word(render_id)}")

    def delete_render(self, render_id: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> None:
        """Deletes a rendered report.

        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        self._transport.json("DELETE", f"/reports/renders/{word(render_id)}", if_match=if_match, note=note)

    def list_templates(self, *, limit: Optional[int] = None, after: Optional[str] = None) -> c.ReportTemplateCollection:
        """Lists the stored report templates, and the ids of the built-in templates.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        """
        return cast("c.ReportTemplateCollection", self._transport.json("GET", "/reports/templates", query={"limit": limit, "after": after}))

    def get_template(self, template_id: str) -> c.ReportTemplateDocument:
        """Returns a report template, in the form that PUT accepts."""
        return cast("c.ReportTemplateDocument", self._transport.json("GET", f"/reports/templates/{word(template_id)}"))

    def put_template(self, template_id: str, body: c.ReportTemplateDocumentInput, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.SavedReportTemplate:
        """Stores or replaces a report template.

        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.SavedReportTemplate", self._transport.json("PUT", f"/reports/templates/{word(template_id)}", body=body, if_match=if_match, note=note))

    def delete_template(self, template_id: str, *, purge: Optional[bool] = None, if_match: Optional[str] = None, note: Optional[str] = None) -> None:
        """Deletes a report template. Its rendered reports are kept.

        :param purge: True also removes all versions, even of a deleted document. Requires the scope admin.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        self._transport.json("DELETE", f"/reports/templates/{word(template_id)}", query={"purge": purge}, if_match=if_match, note=note)

    def price_futures(self, body: c.FuturesPriceRequest) -> c.FuturesPriceResponse:
        """Computes the fair value, carry and sensitivities of an index future."""
        return cast("c.FuturesPriceResponse", self._transport.json("POST", "/derivatives/futures/price", body=body))

    def price_trs(self, body: c.TrsPriceRequest) -> c.TrsPriceResponse:
        """Computes the value, par spread and sensitivities of a total return swap."""
        return cast("c.TrsPriceResponse", self._transport.json("POST", "/derivatives/trs/price", body=body))

    def get_roll(self, index_id: str, front_expiry: c.Date, back_expiry: c.Date, *, as_of: Optional[c.Date] = None, risk_free_rate: Optional[float] = None, dividend_yield: Optional[float] = None, borrow_rate: Optional[float] = None, dividends: Optional[Sequence[str]] = None, dividend_source: Optional[Literal["given", "announced"]] = None) -> c.RollResponse:
        """Computes the cost of rolling between two expiries, on the latest stored run.

        :param front_expiry: Expiry of the contract that is sold.
        :param back_expiry: Expiry of the contract that is bought. It must be after the front expiry.
        :param as_of: Valuation date. Default: the date of the latest level.
        :param risk_free_rate: Financing rate. A fraction, annual and continuously compounded. Default: 0.
        :param dividend_yield: Dividend yield. A fraction, annual and continuously compounded. Default: 0.
        :param borrow_rate: Stock borrow. A fraction, annual and continuously compounded. Default: 0.
        :param dividends: Discrete dividends as `EX_DATE:POINTS` between as_of and the last expiry. Cannot be combined with a non-zero dividend_yield.
        :param dividend_source: `announced`: the announced dividends of the latest run up to each expiry, as known on its last date. Excludes `dividends` and a yield.
        """
        return cast("c.RollResponse", self._transport.json("GET", f"/derivatives/{word(index_id)}/roll", query={"front_expiry": front_expiry, "back_expiry": back_expiry, "as_of": as_of, "risk_free_rate": risk_free_rate, "dividend_yield": dividend_yield, "borrow_rate": borrow_rate, "dividends": dividends, "dividend_source": dividend_source}))

    def get_term_structure(self, index_id: str, expiries: Sequence[c.Date], *, as_of: Optional[c.Date] = None, risk_free_rate: Optional[float] = None, dividend_yield: Optional[float] = None, borrow_rate: Optional[float] = None, dividends: Optional[Sequence[str]] = None, dividend_source: Optional[Literal["given", "announced"]] = None) -> c.TermStructureResponse:
        """Computes fair values for several expiries, on the latest stored run.

        :param expiries: 1 to 64 contract expiries, all after as_of.
        :param as_of: Valuation date. Default: the date of the latest level.
        :param risk_free_rate: Financing rate. A fraction, annual and continuously compounded. Default: 0.
        :param dividend_yield: Dividend yield. A fraction, annual and continuously compounded. Default: 0.
        :param borrow_rate: Stock borrow. A fraction, annual and continuously compounded. Default: 0.
        :param dividends: Discrete dividends as `EX_DATE:POINTS` between as_of and the last expiry. Cannot be combined with a non-zero dividend_yield.
        :param dividend_source: `announced`: the announced dividends of the latest run up to each expiry, as known on its last date. Excludes `dividends` and a yield.
        """
        return cast("c.TermStructureResponse", self._transport.json("GET", f"/derivatives/{word(index_id)}/term-structure", query={"expiries": expiries, "as_of": as_of, "risk_free_rate": risk_free_rate, "dividend_yield": dividend_yield, "borrow_rate": borrow_rate, "dividends": dividends, "dividend_source": dividend_source}))

    def list_strategies(self, *, limit: Optional[int] = None, after: Optional[str] = None) -> c.StrategyCollection:
        """Lists the stored strategies, each with its problems.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        """
        return cast("c.StrategyCollection", self._transport.json("GET", "/strategies", query={"limit": limit, "after": after}))

    def create_strategy(self, body: c.StrategyDocumentInput, *, note: Optional[str] = None) -> c.SavedStrategy:
        """Stores a new strategy.

        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.SavedStrategy", self._transport.json("POST", "/strategies", body=body, note=note))

    def validate_strategy(self, body: c.StrategyDocumentInput) -> c.ValidationReport:
        """Validates a strategy in the same way as a save. Nothing is stored."""
        return cast("c.ValidationReport", self._transport.json("POST", "/strategies/validate", body=body))

    def get_strategy(self, strategy_id: str) -> c.StoredStrategy:
        """Returns a stored strategy."""
        return cast("c.StoredStrategy", self._transport.json("GET", f"/strategies/{word(strategy_id)}"))

    def put_strategy(self, strategy_id: str, body: c.StrategyDocumentInput, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.SavedStrategy:
        """Stores or replaces a strategy.

        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.SavedStrategy", self._transport.json("PUT", f"/strategies/{word(strategy_id)}", body=body, if_match=if_match, note=note))

    def delete_strategy(self, strategy_id: str, *, purge: Optional[bool] = None, if_match: Optional[str] = None, note: Optional[str] = None) -> c.StrategyDeletion:
        """Deletes a strategy, its stored runs and all results of its backtests.

        :param purge: True also removes all versions, even of a deleted document. Requires the scope admin.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.StrategyDeletion", self._transport.json("DELETE", f"/strategies/{word(strategy_id)}", query={"purge": purge}, if_match=if_match, note=note))

    def list_stores(self, *, limit: Optional[int] = None, after: Optional[str] = None) -> c.DataStoreCollection:
        """Lists all data stores, and the served store.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        """
        return cast("c.DataStoreCollection", self._transport.json("GET", "/data/stores", query={"limit": limit, "after": after}))

    def create_store(self, body: c.DataStoreCreate, *, note: Optional[str] = None) -> c.DataStore:
        """Registers a folder or database. The service reads all of its data first.

        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.DataStore", self._transport.json("POST", "/data/stores", body=body, note=note))

    def get_store(self, store_id: str) -> c.DataStore:
        """Returns one data store.

        :param store_id: Id of the data store.
        """
        return cast("c.DataStore", self._transport.json("GET", f"/data/stores/{word(store_id)}"))

    def update_store(self, store_id: str, body: c.DataStoreUpdate, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.DataStore:
        """Renames a store, or changes its source, price basis or currency.

        :param store_id: Id of the data store.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.DataStore", self._transport.json("PATCH", f"/data/stores/{word(store_id)}", body=body, if_match=if_match, note=note))

    def delete_store(self, store_id: str, *, purge: Optional[bool] = None, if_match: Optional[str] = None, note: Optional[str] = None) -> None:
        """Deletes a store. The folder of a managed store is also deleted.

        :param store_id: Id of the data store.
        :param purge: True also removes all versions, even of a deleted document. Requires the scope admin.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        self._transport.json("DELETE", f"/data/stores/{word(store_id)}", query={"purge": purge}, if_match=if_match, note=note)

    def activate_store(self, store_id: str, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None, note: Optional[str] = None) -> Job[c.DataStore]:
        """Reads a store again and serves it.

        :param store_id: Id of the data store.
        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return Job(self._transport, self._transport.json("POST", f"/data/stores/{word(store_id)}/activate", query={"callback": callback, "priority": priority}, note=note))

    def refresh_store(self, store_id: str, body: Optional[c.RefreshRequest] = None, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None, note: Optional[str] = None) -> Job[c.RefreshResult]:
        """Refreshes a store from its source.

        :param store_id: Id of the data store.
        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return Job(self._transport, self._transport.json("POST", f"/data/stores/{word(store_id)}/refresh", body=body, query={"callback": callback, "priority": priority}, note=note))

    def sync_data(self, body: Optional[c.RefreshRequest] = None, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None, note: Optional[str] = None) -> Job[c.RefreshResult]:
        """Refreshes the served store.

        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return Job(self._transport, self._transport.json("POST", "/data/sync", body=body, query={"callback": callback, "priority": priority}, note=note))

    def audit_store(self, store_id: str) -> c.DataAudit:
        """Lists probable errors in the data of a store.

        :param store_id: Id of the data store.
        """
        return cast("c.DataAudit", self._transport.json("GET", f"/data/stores/{word(store_id)}/audit"))

    def repair_store(self, store_id: str, body: c.RepairRequest, *, note: Optional[str] = None) -> c.ImportResult:
        """Writes a new store with the selected repairs. The original store does not change.

        :param store_id: Id of the data store.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.ImportResult", self._transport.json("POST", f"/data/stores/{word(store_id)}/repairs", body=body, note=note))

    def inspect_data(self, body: c.InspectRequest) -> c.InspectResult:
        """Inspects data and proposes the mapping to read it."""
        return cast("c.InspectResult", self._transport.json("POST", "/data/inspect", body=body))

    def import_store(self, body: c.ImportRequest, *, name: Optional[str] = None, store_id: Optional[str] = None, dataset: Optional[Literal["market", "reference", "corporate_actions", "universes", "series"]] = None, adjustment: Optional[Literal["none", "splits", "total"]] = None, currency: Optional[str] = None, mapping: Optional[str] = None, activate: Optional[bool] = None, on_exists: Optional[Literal["refuse", "replace", "append"]] = None, note: Optional[str] = None) -> c.ImportResult:
        """Writes tables or an uploaded file into a new store.

        :param name: Id of the store. Required if the body is a table.
        :param store_id: Id of the store. Default: the name in lower case, with other characters replaced by dashes.
        :param dataset: Kind of the table. Default: market.
        :param adjustment: Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends.
        :param currency: Currency of securities without a CURRENCY.
        :param mapping: Mapping of the table, as JSON.
        :param activate: Activate the store immediately.
        :param on_exists: Action if the id is already used. Tables other than the market are appended.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.ImportResult", self._transport.json("POST", "/data/import", body=body, query={"name": name, "store_id": store_id, "dataset": dataset, "adjustment": adjustment, "currency": currency, "mapping": mapping, "activate": activate, "on_exists": on_exists}, note=note))

    def get_import_template(self, *, format: Optional[Literal["xlsx", "csv.zip", "csv"]] = None) -> bytes:
        """Returns an import template with one example row per sheet.

        :param format: Excel workbook, or zip archive of CSV files (`csv` is an earlier name). Default: `Accept`, or the workbook.
        """
        return self._transport.content("GET", "/data/import/template", query={"format": format})

    def generate_synthetic(self, body: Optional[c.GenerateSyntheticRequest] = None, *, callback: Optional[str] = None, priority: Optional[Literal["high", "normal", "low"]] = None, note: Optional[str] = None) -> Job[c.DataStore]:
        """Generates a synthetic market into a new store and serves it.

        :param callback: URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.
        :param priority: Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return Job(self._transport, self._transport.json("POST", "/data/synthetic", body=body, query={"callback": callback, "priority": priority}, note=note))

    def list_price_overrides(self, store_id: str) -> c.PriceOverrides:
        """Lists the prices of a store that people have overridden.

        :param store_id: Id of the data store.
        """
        return cast("c.PriceOverrides", self._transport.json("GET", f"/data/stores/{word(store_id)}/overrides"))

    def override_price(self, store_id: str, body: c.PriceOverrideRequest, *, note: Optional[str] = None) -> c.ChangedOverrides:
        """Overrides a price of a store, or withdraws the override.

        :param store_id: Id of the data store.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.ChangedOverrides", self._transport.json("POST", f"/data/stores/{word(store_id)}/overrides", body=body, note=note))

    def list_data_versions(self, store_id: str, *, limit: Optional[int] = None, before: Optional[int] = None) -> c.DataVersions:
        """Lists the versions of the data of a store that were served, newest first.

        :param store_id: Id of the data store.
        :param limit: Maximum number of versions.
        :param before: Only versions with a smaller number.
        """
        return cast("c.DataVersions", self._transport.json("GET", f"/data/stores/{word(store_id)}/versions", query={"limit": limit, "before": before}))

    def diff_data_versions(self, store_id: str, from_: int, to: int, *, limit: Optional[int] = None, appended: Optional[bool] = None) -> c.DataDifference:
        """Lists the values that differ between two versions of the data.

        :param store_id: Id of the data store.
        :param from_: First version.
        :param to: Second version.
        :param limit: Maximum number of listed values.
        :param appended: True also lists the values of appended bars.
        """
        return cast("c.DataDifference", self._transport.json("GET", f"/data/stores/{word(store_id)}/versions/diff", query={"from": from_, "to": to, "limit": limit, "appended": appended}))

    def get_prices(self, identifier: str, *, as_known_on: Optional[str] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, interval: Optional[Literal["native", "weekly", "monthly"]] = None, columns: Optional[Sequence[str]] = None, adjust: Optional[Literal["none", "splits", "total"]] = None, store_id: Optional[str] = None, format: Optional[Literal["json", "csv", "arrow"]] = None) -> c.PricesResponse:
        """Returns market data of one security, or the values of a series.

        :param identifier: Identifier of the security, percent-encoded.
        :param as_known_on: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
        :param start: First date.
        :param end: Last date.
        :param interval: Frequency of the rows. A weekly or monthly row has the date of the last session with data in the ISO week or month.
        :param columns: Columns, in this order. Default: all columns.
        :param adjust: Price adjustment: as stored, on the share basis of the latest date, or as a holding with reinvested dividends.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.PricesResponse", self._transport.json("GET", f"/data/prices/{word(identifier)}", query={"as_known_on": as_known_on, "start": start, "end": end, "interval": interval, "columns": columns, "adjust": adjust, "store_id": store_id, "format": format}))

    def get_prices_content(self, identifier: str, media: Literal["text/csv", "application/vnd.apache.arrow.stream"], *, as_known_on: Optional[str] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, interval: Optional[Literal["native", "weekly", "monthly"]] = None, columns: Optional[Sequence[str]] = None, adjust: Optional[Literal["none", "splits", "total"]] = None, store_id: Optional[str] = None, format: Optional[Literal["json", "csv", "arrow"]] = None) -> bytes:
        """Returns market data of one security, or the values of a series.

        :param identifier: Identifier of the security, percent-encoded.
        :param media: What is wanted instead of JSON.
        :param as_known_on: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
        :param start: First date.
        :param end: Last date.
        :param interval: Frequency of the rows. A weekly or monthly row has the date of the last session with data in the ISO week or month.
        :param columns: Columns, in this order. Default: all columns.
        :param adjust: Price adjustment: as stored, on the share basis of the latest date, or as a holding with reinvested dividends.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", f"/data/prices/{word(identifier)}", query={"as_known_on": as_known_on, "start": start, "end": end, "interval": interval, "columns": columns, "adjust": adjust, "store_id": store_id, "format": format}, accept=media)

    def get_asset_references(self, identifiers: Sequence[str], *, as_known_on: Optional[str] = None, fields: Optional[Sequence[str]] = None, as_of: Optional[c.Date] = None, store_id: Optional[str] = None, format: Optional[Literal["json", "csv"]] = None) -> c.BatchReferenceResponse:
        """Returns reference data and derived figures of many securities on one date.

        :param identifiers: Identifiers, repeated or separated by commas. Duplicates are removed.
        :param as_known_on: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
        :param fields: Reference or market columns, or MARKET_CAP, FREE_FLOAT_MARKET_CAP, DIVIDEND_YIELD, VALUE_TRADED. Default: every reference column.
        :param as_of: Values as known on this date. Default: the latest.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.BatchReferenceResponse", self._transport.json("GET", "/data/reference", query={"identifiers": identifiers, "as_known_on": as_known_on, "fields": fields, "as_of": as_of, "store_id": store_id, "format": format}))

    def get_asset_references_content(self, identifiers: Sequence[str], media: Literal["text/csv"], *, as_known_on: Optional[str] = None, fields: Optional[Sequence[str]] = None, as_of: Optional[c.Date] = None, store_id: Optional[str] = None, format: Optional[Literal["json", "csv"]] = None) -> bytes:
        """Returns reference data and derived figures of many securities on one date.

        :param identifiers: Identifiers, repeated or separated by commas. Duplicates are removed.
        :param media: What is wanted instead of JSON.
        :param as_known_on: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
        :param fields: Reference or market columns, or MARKET_CAP, FREE_FLOAT_MARKET_CAP, DIVIDEND_YIELD, VALUE_TRADED. Default: every reference column.
        :param as_of: Values as known on this date. Default: the latest.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", "/data/reference", query={"identifiers": identifiers, "as_known_on": as_known_on, "fields": fields, "as_of": as_of, "store_id": store_id, "format": format}, accept=media)

    def get_asset_reference(self, identifier: str, *, as_of: Optional[c.Date] = None, as_known_on: Optional[str] = None, store_id: Optional[str] = None) -> c.ReferenceResponse:
        """Returns reference data and universes of one security.

        :param identifier: Identifier of the security, percent-encoded.
        :param as_of: Values as known on this date. Default: the latest.
        :param as_known_on: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.ReferenceResponse", self._transport.json("GET", f"/data/reference/{word(identifier)}", query={"as_of": as_of, "as_known_on": as_known_on, "store_id": store_id}))

    def get_corporate_actions(self, identifier: str, *, as_known_on: Optional[str] = None, start: Optional[c.Date] = None, end: Optional[c.Date] = None, as_of: Optional[c.Date] = None, store_id: Optional[str] = None) -> c.CorporateActionsResponse:
        """Lists the corporate actions of one security, with their sums.

        :param identifier: Identifier of the security, percent-encoded.
        :param as_known_on: Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).
        :param start: First ex_date.
        :param end: Last ex_date.
        :param as_of: Last date of the trailing figures. Default: the last close of the security.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.CorporateActionsResponse", self._transport.json("GET", f"/data/corporate-actions/{word(identifier)}", query={"as_known_on": as_known_on, "start": start, "end": end, "as_of": as_of, "store_id": store_id}))

    def get_coverage(self, *, store_id: Optional[str] = None) -> c.CoverageResponse:
        """Returns the datasets of the served store and their age.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.CoverageResponse", self._transport.json("GET", "/data/coverage", query={"store_id": store_id}))

    def get_coverage_history(self, *, store_id: Optional[str] = None) -> c.CoverageHistoryResponse:
        """Returns the number of securities of the served store with a price on each date, and the expected number.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.CoverageHistoryResponse", self._transport.json("GET", "/data/coverage/history", query={"store_id": store_id}))

    def get_data_source(self, *, store_id: Optional[str] = None) -> c.DataSourceStatus:
        """Returns the status of the data source.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.DataSourceStatus", self._transport.json("GET", "/data/source", query={"store_id": store_id}))

    def list_fields(self, *, store_id: Optional[str] = None) -> c.FieldList:
        """Lists the fields that rules can read in the served store, its universes, and the values of a new index.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.FieldList", self._transport.json("GET", "/data/fields", query={"store_id": store_id}))

    def list_series(self, *, q: Optional[str] = None, limit: Optional[int] = None, after: Optional[str] = None, store_id: Optional[str] = None) -> c.SeriesCollection:
        """Lists the series of the served store. A series is never a constituent.

        :param q: Part of an identifier or a name. Case is ignored.
        :param limit: Maximum number of securities.
        :param after: Only securities that follow this identifier.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.SeriesCollection", self._transport.json("GET", "/data/series", query={"q": q, "limit": limit, "after": after, "store_id": store_id}))

    def search_identifiers(self, *, q: Optional[str] = None, limit: Optional[int] = None, after: Optional[str] = None, store_id: Optional[str] = None) -> c.IdentifierSearch:
        """Searches the securities of the served store by identifier or name.

        :param q: Part of an identifier or a name. Case is ignored.
        :param limit: Maximum number of securities.
        :param after: Only securities that follow this identifier.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.IdentifierSearch", self._transport.json("GET", "/data/identifiers", query={"q": q, "limit": limit, "after": after, "store_id": store_id}))

    def list_clients(self, *, limit: Optional[int] = None, after: Optional[str] = None, index_id: Optional[str] = None) -> c.ClientCollection:
        """Lists the clients that receive files.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        :param index_id: Only clients with an entitlement to this index.
        """
        return cast("c.ClientCollection", self._transport.json("GET", "/clients", query={"limit": limit, "after": after, "index_id": index_id}))

    def get_client(self, client_id: str) -> c.Client:
        """Returns one client with its entitlements and targets.

        :param client_id: Id of the client.
        """
        return cast("c.Client", self._transport.json("GET", f"/clients/{word(client_id)}"))

    def put_client(self, client_id: str, body: c.ClientBody, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.Client:
        """Creates or replaces a client with its entitlements and targets.

        :param client_id: Id of the client.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.Client", self._transport.json("PUT", f"/clients/{word(client_id)}", body=body, if_match=if_match, note=note))

    def delete_client(self, client_id: str, *, purge: Optional[bool] = None, if_match: Optional[str] = None, note: Optional[str] = None) -> None:
        """Deletes a client and its secrets. Past deliveries remain listed.

        :param client_id: Id of the client.
        :param purge: True also removes all versions, even of a deleted document. Requires the scope admin.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        self._transport.json("DELETE", f"/clients/{word(client_id)}", query={"purge": purge}, if_match=if_match, note=note)

    def list_deliveries(self, client_id: str, *, schedule_id: Optional[str] = None, before: Optional[c.Date] = None, limit: Optional[int] = None) -> c.Deliveries:
        """Lists the files that a client has received or will receive, by day, with the log of attempts.

        :param client_id: Id of the client.
        :param schedule_id: Only days of this schedule.
        :param before: Only days before this day.
        :param limit: Maximum number of days.
        """
        return cast("c.Deliveries", self._transport.json("GET", f"/clients/{word(client_id)}/deliveries", query={"schedule_id": schedule_id, "before": before, "limit": limit}))

    def list_watchlists(self, *, limit: Optional[int] = None, after: Optional[str] = None, store_id: Optional[str] = None) -> c.WatchlistCollection:
        """Every watchlist.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.WatchlistCollection", self._transport.json("GET", "/data/watchlists", query={"limit": limit, "after": after, "store_id": store_id}))

    def get_watchlist(self, watchlist_id: str, *, store_id: Optional[str] = None) -> c.Watchlist:
        """One watchlist.

        :param watchlist_id: Id of the watchlist.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.Watchlist", self._transport.json("GET", f"/data/watchlists/{word(watchlist_id)}", query={"store_id": store_id}))

    def put_watchlist(self, watchlist_id: str, body: c.WatchlistUpsert, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.Watchlist:
        """Creates or replaces a watchlist.

        :param watchlist_id: Id of the watchlist.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.Watchlist", self._transport.json("PUT", f"/data/watchlists/{word(watchlist_id)}", body=body, if_match=if_match, note=note))

    def delete_watchlist(self, watchlist_id: str, *, purge: Optional[bool] = None, if_match: Optional[str] = None, note: Optional[str] = None) -> None:
        """Deletes a watchlist.

        :param watchlist_id: Id of the watchlist.
        :param purge: True also removes all versions, even of a deleted document. Requires the scope admin.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        self._transport.json("DELETE", f"/data/watchlists/{word(watchlist_id)}", query={"purge": purge}, if_match=if_match, note=note)

    def list_plugins(self, *, limit: Optional[int] = None, after: Optional[str] = None) -> c.PluginCollection:
        """Every plug-in.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        """
        return cast("c.PluginCollection", self._transport.json("GET", "/plugins", query={"limit": limit, "after": after}))

    def get_plugin(self, plugin_id: str) -> c.Plugin:
        """One plug-in.

        :param plugin_id: Id of the plug-in.
        """
        return cast("c.Plugin", self._transport.json("GET", f"/plugins/{word(plugin_id)}"))

    def put_plugin(self, plugin_id: str, body: c.PluginUpsert, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.Plugin:
        """Creates or replaces a plug-in.

        :param plugin_id: Id of the plug-in.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.Plugin", self._transport.json("PUT", f"/plugins/{word(plugin_id)}", body=body, if_match=if_match, note=note))

    def delete_plugin(self, plugin_id: str, *, purge: Optional[bool] = None, if_match: Optional[str] = None, note: Optional[str] = None) -> None:
        """Deletes a plug-in.

        :param plugin_id: Id of the plug-in.
        :param purge: True also removes all versions, even of a deleted document. Requires the scope admin.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        self._transport.json("DELETE", f"/plugins/{word(plugin_id)}", query={"purge": purge}, if_match=if_match, note=note)

    def preview_plugin(self, body: c.PluginPreviewRequest, *, store_id: Optional[str] = None) -> c.PluginPreview:
        """Computes the values of a plug-in on one date. Nothing is stored.

        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.PluginPreview", self._transport.json("POST", "/plugins/preview", body=body, query={"store_id": store_id}))

    def list_schedules(self, *, limit: Optional[int] = None, after: Optional[str] = None, days: Optional[int] = None) -> c.ScheduleCollection:
        """Every schedule.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        :param days: Number of latest days of each schedule in the response.
        """
        return cast("c.ScheduleCollection", self._transport.json("GET", "/schedules", query={"limit": limit, "after": after, "days": days}))

    def get_schedule_plan(self, schedule_id: str) -> c.Schedule:
        """One schedule.

        :param schedule_id: Id of the schedule.
        """
        return cast("c.Schedule", self._transport.json("GET", f"/schedules/{word(schedule_id)}"))

    def put_schedule(self, schedule_id: str, body: c.ScheduleBody, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.Schedule:
        """Creates or replaces the daily plan of an index family.

        :param schedule_id: Id of the schedule.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.Schedule", self._transport.json("PUT", f"/schedules/{word(schedule_id)}", body=body, if_match=if_match, note=note))

    def delete_schedule(self, schedule_id: str, *, purge: Optional[bool] = None, if_match: Optional[str] = None, note: Optional[str] = None) -> None:
        """Deletes a schedule. Its days and decisions are kept.

        :param schedule_id: Id of the schedule.
        :param purge: True also removes all versions, even of a deleted document. Requires the scope admin.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        self._transport.json("DELETE", f"/schedules/{word(schedule_id)}", query={"purge": purge}, if_match=if_match, note=note)

    def list_schedule_days(self, schedule_id: str, *, limit: Optional[int] = None, before: Optional[c.Date] = None) -> c.ScheduleDays:
        """Lists the days of a schedule, and returns the start of the next day.

        :param schedule_id: Id of the schedule.
        :param limit: Maximum number of entries.
        :param before: Only days before this day.
        """
        return cast("c.ScheduleDays", self._transport.json("GET", f"/schedules/{word(schedule_id)}/days", query={"limit": limit, "before": before}))

    def get_schedule_day(self, schedule_id: str, date: c.Date, *, wait: Optional[int] = None) -> c.ScheduleDay:
        """Returns a day of a schedule: each step with its results, log and duration.

        :param schedule_id: Id of the schedule.
        :param date: Session.
        :param wait: Maximum time to wait, in seconds.
        """
        return cast("c.ScheduleDay", self._transport.json("GET", f"/schedules/{word(schedule_id)}/days/{word(date)}", query={"wait": wait}))

    def get_schedule_file(self, schedule_id: str, date: c.Date, file_name: str) -> bytes:
        """Returns a file that a step of the day has written.

        :param schedule_id: Id of the schedule.
        :param date: Session.
        :param file_name: Name of the file.
        """
        return self._transport.content("GET", f"/schedules/{word(schedule_id)}/days/{word(date)}/files/{word(file_name)}")

    def list_day_deliveries(self, schedule_id: str, date: c.Date) -> c.Deliveries:
        """Lists the files of the day by client and target, with the log of attempts.

        :param schedule_id: Id of the schedule.
        :param date: Session.
        """
        return cast("c.Deliveries", self._transport.json("GET", f"/schedules/{word(schedule_id)}/days/{word(date)}/deliveries"))

    def run_schedule_day(self, schedule_id: str, date: c.Date, body: Optional[c.DayRun] = None, *, note: Optional[str] = None) -> c.ScheduleDay:
        """Performs a day at once, with the current schedule.

        :param schedule_id: Id of the schedule.
        :param date: Session.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.ScheduleDay", self._transport.json("POST", f"/schedules/{word(schedule_id)}/days/{word(date)}/run", body=body, note=note))

    def waive_schedule_check(self, schedule_id: str, date: c.Date, body: c.DayWaiver, *, note: Optional[str] = None) -> c.ScheduleDay:
        """Accepts findings of a check on a day, with a reason, and resumes the day at once.

        :param schedule_id: Id of the schedule.
        :param date: Session.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.ScheduleDay", self._transport.json("POST", f"/schedules/{word(schedule_id)}/days/{word(date)}/waivers", body=body, note=note))

    def skip_schedule_day(self, schedule_id: str, date: c.Date, body: c.DaySkip, *, note: Optional[str] = None) -> c.ScheduleDay:
        """Ends an unfinished day, with a reason.

        :param schedule_id: Id of the schedule.
        :param date: Session.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.ScheduleDay", self._transport.json("POST", f"/schedules/{word(schedule_id)}/days/{word(date)}/skip", body=body, note=note))

    def backfill_schedule(self, schedule_id: str, body: c.DayBackfill, *, note: Optional[str] = None) -> c.BackfilledDays:
        """Performs the days of a range of sessions, oldest first.

        :param schedule_id: Id of the schedule.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.BackfilledDays", self._transport.json("POST", f"/schedules/{word(schedule_id)}/backfill", body=body, note=note))

    def list_judgements(self, schedule_id: str, *, limit: Optional[int] = None) -> c.Judgements:
        """Lists the register of the decisions about the days of a schedule, with their reasons.

        :param schedule_id: Id of the schedule.
        :param limit: Maximum number of entries.
        """
        return cast("c.Judgements", self._transport.json("GET", f"/schedules/{word(schedule_id)}/judgements", query={"limit": limit}))

    def get_governance(self) -> c.GovernanceOverview:
        """Returns the number of entries of each register, and the published closes and errors of each index."""
        return cast("c.GovernanceOverview", self._transport.json("GET", "/governance"))

    def get_statement(self, index_id: str, *, format: Optional[Literal["json", "md"]] = None) -> c.BenchmarkStatement:
        """Returns the benchmark statement of an index, which is generated from its documents and registers.

        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.BenchmarkStatement", self._transport.json("GET", f"/indices/{word(index_id)}/statement", query={"format": format}))

    def get_statement_content(self, index_id: str, media: Literal["text/markdown"], *, format: Optional[Literal["json", "md"]] = None) -> bytes:
        """Returns the benchmark statement of an index, which is generated from its documents and registers.

        :param media: What is wanted instead of JSON.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", f"/indices/{word(index_id)}/statement", query={"format": format}, accept=media)

    def list_methodology_changes(self, index_id: str, *, limit: Optional[int] = None) -> c.MethodologyChanges:
        """Lists the changes of a methodology: each version with the sentences that it changed, and dated amendments.

        :param limit: Maximum number of entries.
        """
        return cast("c.MethodologyChanges", self._transport.json("GET", f"/indices/{word(index_id)}/changes", query={"limit": limit}))

    def list_procedures(self, *, limit: Optional[int] = None, after: Optional[str] = None) -> c.ProcedureCollection:
        """Lists the procedures of the administrator.

        :param limit: Maximum number of entries.
        :param after: Only entries with an id after this id.
        """
        return cast("c.ProcedureCollection", self._transport.json("GET", "/procedures", query={"limit": limit, "after": after}))

    def get_procedure(self, procedure_id: str) -> c.Procedure:
        """Returns one procedure.

        :param procedure_id: Id of the procedure.
        """
        return cast("c.Procedure", self._transport.json("GET", f"/procedures/{word(procedure_id)}"))

    def put_procedure(self, procedure_id: str, body: c.ProcedureDocument, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.Procedure:
        """Creates or replaces a procedure of the administrator.

        :param procedure_id: Id of the procedure.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.Procedure", self._transport.json("PUT", f"/procedures/{word(procedure_id)}", body=body, if_match=if_match, note=note))

    def delete_procedure(self, procedure_id: str, *, purge: Optional[bool] = None, if_match: Optional[str] = None, note: Optional[str] = None) -> None:
        """Deletes a procedure.

        :param procedure_id: Id of the procedure.
        :param purge: True also removes all versions, even of a deleted document. Requires the scope admin.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        self._transport.json("DELETE", f"/procedures/{word(procedure_id)}", query={"purge": purge}, if_match=if_match, note=note)

    def list_index_versions(self, index_id: str, *, limit: Optional[int] = None, before: Optional[int] = None) -> c.VersionList:
        """Lists the versions of the index, with author, time and note.

        :param limit: Maximum number of versions.
        :param before: Only versions with a smaller number.
        """
        return cast("c.VersionList", self._transport.json("GET", f"/indices/{word(index_id)}/versions", query={"limit": limit, "before": before}))

    def diff_index_versions(self, index_id: str, from_: int, to: int) -> c.VersionDifference:
        """Lists the changes of the index between two versions.

        :param from_: Number of the first version.
        :param to: Number of the second version.
        """
        return cast("c.VersionDifference", self._transport.json("GET", f"/indices/{word(index_id)}/versions/diff", query={"from": from_, "to": to}))

    def get_index_version(self, index_id: str, version: str) -> c.VersionedDocument:
        """Returns one version of the index.

        :param version: Number of the version.
        """
        return cast("c.VersionedDocument", self._transport.json("GET", f"/indices/{word(index_id)}/versions/{word(version)}"))

    def restore_index_version(self, index_id: str, version: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.SavedIndex:
        """Restores a version of the index.

        :param version: Number of the version.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.SavedIndex", self._transport.json("POST", f"/indices/{word(index_id)}/versions/{word(version)}/restore", if_match=if_match, note=note))

    def list_strategy_versions(self, strategy_id: str, *, limit: Optional[int] = None, before: Optional[int] = None) -> c.VersionList:
        """Lists the versions of the strategy, with author, time and note.

        :param limit: Maximum number of versions.
        :param before: Only versions with a smaller number.
        """
        return cast("c.VersionList", self._transport.json("GET", f"/strategies/{word(strategy_id)}/versions", query={"limit": limit, "before": before}))

    def diff_strategy_versions(self, strategy_id: str, from_: int, to: int) -> c.VersionDifference:
        """Lists the changes of the strategy between two versions.

        :param from_: Number of the first version.
        :param to: Number of the second version.
        """
        return cast("c.VersionDifference", self._transport.json("GET", f"/strategies/{word(strategy_id)}/versions/diff", query={"from": from_, "to": to}))

    def get_strategy_version(self, strategy_id: str, version: str) -> c.VersionedDocument:
        """Returns one version of the strategy.

        :param version: Number of the version.
        """
        return cast("c.VersionedDocument", self._transport.json("GET", f"/strategies/{word(strategy_id)}/versions/{word(version)}"))

    def restore_strategy_version(self, strategy_id: str, version: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.SavedStrategy:
        """Restores a version of the strategy.

        :param version: Number of the version.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.SavedStrategy", self._transport.json("POST", f"/strategies/{word(strategy_id)}/versions/{word(version)}/restore", if_match=if_match, note=note))

    def list_constraint_set_versions(self, constraint_set_id: str, *, limit: Optional[int] = None, before: Optional[int] = None) -> c.VersionList:
        """Lists the versions of the constraint set, with author, time and note.

        :param limit: Maximum number of versions.
        :param before: Only versions with a smaller number.
        """
        return cast("c.VersionList", self._transport.json("GET", f"/optimise/constraint-sets/{word(constraint_set_id)}/versions", query={"limit": limit, "before": before}))

    def diff_constraint_set_versions(self, constraint_set_id: str, from_: int, to: int) -> c.VersionDifference:
        """Lists the changes of the constraint set between two versions.

        :param from_: Number of the first version.
        :param to: Number of the second version.
        """
        return cast("c.VersionDifference", self._transport.json("GET", f"/optimise/constraint-sets/{word(constraint_set_id)}/versions/diff", query={"from": from_, "to": to}))

    def get_constraint_set_version(self, constraint_set_id: str, version: str) -> c.VersionedDocument:
        """Returns one version of the constraint set.

        :param version: Number of the version.
        """
        return cast("c.VersionedDocument", self._transport.json("GET", f"/optimise/constraint-sets/{word(constraint_set_id)}/versions/{word(version)}"))

    def restore_constraint_set_version(self, constraint_set_id: str, version: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.SavedConstraintSet:
        """Restores a version of the constraint set.

        :param version: Number of the version.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.SavedConstraintSet", self._transport.json("POST", f"/optimise/constraint-sets/{word(constraint_set_id)}/versions/{word(version)}/restore", if_match=if_match, note=note))

    def list_template_versions(self, template_id: str, *, limit: Optional[int] = None, before: Optional[int] = None) -> c.VersionList:
        """Lists the versions of the report template, with author, time and note.

        :param limit: Maximum number of versions.
        :param before: Only versions with a smaller number.
        """
        return cast("c.VersionList", self._transport.json("GET", f"/reports/templates/{word(template_id)}/versions", query={"limit": limit, "before": before}))

    def diff_template_versions(self, template_id: str, from_: int, to: int) -> c.VersionDifference:
        """Lists the changes of the report template between two versions.

        :param from_: Number of the first version.
        :param to: Number of the second version.
        """
        return cast("c.VersionDifference", self._transport.json("GET", f"/reports/templates/{word(template_id)}/versions/diff", query={"from": from_, "to": to}))

    def get_template_version(self, template_id: str, version: str) -> c.VersionedDocument:
        """Returns one version of the report template.

        :param version: Number of the version.
        """
        return cast("c.VersionedDocument", self._transport.json("GET", f"/reports/templates/{word(template_id)}/versions/{word(version)}"))

    def restore_template_version(self, template_id: str, version: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.SavedReportTemplate:
        """Restores a version of the report template.

        :param version: Number of the version.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.SavedReportTemplate", self._transport.json("POST", f"/reports/templates/{word(template_id)}/versions/{word(version)}/restore", if_match=if_match, note=note))

    def list_watchlist_versions(self, watchlist_id: str, *, limit: Optional[int] = None, before: Optional[int] = None) -> c.VersionList:
        """Lists the versions of the watchlist, with author, time and note.

        :param limit: Maximum number of versions.
        :param before: Only versions with a smaller number.
        """
        return cast("c.VersionList", self._transport.json("GET", f"/data/watchlists/{word(watchlist_id)}/versions", query={"limit": limit, "before": before}))

    def diff_watchlist_versions(self, watchlist_id: str, from_: int, to: int) -> c.VersionDifference:
        """Lists the changes of the watchlist between two versions.

        :param from_: Number of the first version.
        :param to: Number of the second version.
        """
        return cast("c.VersionDifference", self._transport.json("GET", f"/data/watchlists/{word(watchlist_id)}/versions/diff", query={"from": from_, "to": to}))

    def get_watchlist_version(self, watchlist_id: str, version: str) -> c.VersionedDocument:
        """Returns one version of the watchlist.

        :param version: Number of the version.
        """
        return cast("c.VersionedDocument", self._transport.json("GET", f"/data/watchlists/{word(watchlist_id)}/versions/{word(version)}"))

    def restore_watchlist_version(self, watchlist_id: str, version: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.Watchlist:
        """Restores a version of the watchlist.

        :param version: Number of the version.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.Watchlist", self._transport.json("POST", f"/data/watchlists/{word(watchlist_id)}/versions/{word(version)}/restore", if_match=if_match, note=note))

    def list_plugin_versions(self, plugin_id: str, *, limit: Optional[int] = None, before: Optional[int] = None) -> c.VersionList:
        """Lists the versions of the plug-in, with author, time and note.

        :param limit: Maximum number of versions.
        :param before: Only versions with a smaller number.
        """
        return cast("c.VersionList", self._transport.json("GET", f"/plugins/{word(plugin_id)}/versions", query={"limit": limit, "before": before}))

    def diff_plugin_versions(self, plugin_id: str, from_: int, to: int) -> c.VersionDifference:
        """Lists the changes of the plug-in between two versions.

        :param from_: Number of the first version.
        :param to: Number of the second version.
        """
        return cast("c.VersionDifference", self._transport.json("GET", f"/plugins/{word(plugin_id)}/versions/diff", query={"from": from_, "to": to}))

    def get_plugin_version(self, plugin_id: str, version: str) -> c.VersionedDocument:
        """Returns one version of the plug-in.

        :param version: Number of the version.
        """
        return cast("c.VersionedDocument", self._transport.json("GET", f"/plugins/{word(plugin_id)}/versions/{word(version)}"))

    def restore_plugin_version(self, plugin_id: str, version: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.Plugin:
        """Restores a version of the plug-in.

        :param version: Number of the version.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.Plugin", self._transport.json("POST", f"/plugins/{word(plugin_id)}/versions/{word(version)}/restore", if_match=if_match, note=note))

    def list_client_versions(self, client_id: str, *, limit: Optional[int] = None, before: Optional[int] = None) -> c.VersionList:
        """Lists the versions of the client, with author, time and note.

        :param limit: Maximum number of versions.
        :param before: Only versions with a smaller number.
        """
        return cast("c.VersionList", self._transport.json("GET", f"/clients/{word(client_id)}/versions", query={"limit": limit, "before": before}))

    def diff_client_versions(self, client_id: str, from_: int, to: int) -> c.VersionDifference:
        """Lists the changes of the client between two versions.

        :param from_: Number of the first version.
        :param to: Number of the second version.
        """
        return cast("c.VersionDifference", self._transport.json("GET", f"/clients/{word(client_id)}/versions/diff", query={"from": from_, "to": to}))

    def get_client_version(self, client_id: str, version: str) -> c.VersionedDocument:
        """Returns one version of the client.

        :param version: Number of the version.
        """
        return cast("c.VersionedDocument", self._transport.json("GET", f"/clients/{word(client_id)}/versions/{word(version)}"))

    def restore_client_version(self, client_id: str, version: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.Client:
        """Restores a version of the client.

        :param version: Number of the version.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.Client", self._transport.json("POST", f"/clients/{word(client_id)}/versions/{word(version)}/restore", if_match=if_match, note=note))

    def list_schedule_versions(self, schedule_id: str, *, limit: Optional[int] = None, before: Optional[int] = None) -> c.VersionList:
        """Lists the versions of the schedule, with author, time and note.

        :param limit: Maximum number of versions.
        :param before: Only versions with a smaller number.
        """
        return cast("c.VersionList", self._transport.json("GET", f"/schedules/{word(schedule_id)}/versions", query={"limit": limit, "before": before}))

    def diff_schedule_versions(self, schedule_id: str, from_: int, to: int) -> c.VersionDifference:
        """Lists the changes of the schedule between two versions.

        :param from_: Number of the first version.
        :param to: Number of the second version.
        """
        return cast("c.VersionDifference", self._transport.json("GET", f"/schedules/{word(schedule_id)}/versions/diff", query={"from": from_, "to": to}))

    def get_schedule_version(self, schedule_id: str, version: str) -> c.VersionedDocument:
        """Returns one version of the schedule.

        :param version: Number of the version.
        """
        return cast("c.VersionedDocument", self._transport.json("GET", f"/schedules/{word(schedule_id)}/versions/{word(version)}"))

    def restore_schedule_version(self, schedule_id: str, version: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.Schedule:
        """Restores a version of the schedule.

        :param version: Number of the version.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.Schedule", self._transport.json("POST", f"/schedules/{word(schedule_id)}/versions/{word(version)}/restore", if_match=if_match, note=note))

    def list_closures_versions(self, calendar_code: str, *, limit: Optional[int] = None, before: Optional[int] = None) -> c.VersionList:
        """Lists the versions of the calendar, with author, time and note.

        :param calendar_code: Code of the calendar, with a dash in place of a slash (`24-5`, `24-7`).
        :param limit: Maximum number of versions.
        :param before: Only versions with a smaller number.
        """
        return cast("c.VersionList", self._transport.json("GET", f"/calendars/{word(calendar_code)}/closures/versions", query={"limit": limit, "before": before}))

    def diff_closures_versions(self, calendar_code: str, from_: int, to: int) -> c.VersionDifference:
        """Lists the changes of the calendar between two versions.

        :param calendar_code: Code of the calendar, with a dash in place of a slash (`24-5`, `24-7`).
        :param from_: Number of the first version.
        :param to: Number of the second version.
        """
        return cast("c.VersionDifference", self._transport.json("GET", f"/calendars/{word(calendar_code)}/closures/versions/diff", query={"from": from_, "to": to}))

    def get_closures_version(self, calendar_code: str, version: str) -> c.VersionedDocument:
        """Returns one version of the calendar.

        :param calendar_code: Code of the calendar, with a dash in place of a slash (`24-5`, `24-7`).
        :param version: Number of the version.
        """
        return cast("c.VersionedDocument", self._transport.json("GET", f"/calendars/{word(calendar_code)}/closures/versions/{word(version)}"))

    def restore_closures_version(self, calendar_code: str, version: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.CalendarClosures:
        """Restores a version of the calendar.

        :param calendar_code: Code of the calendar, with a dash in place of a slash (`24-5`, `24-7`).
        :param version: Number of the version.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.CalendarClosures", self._transport.json("POST", f"/calendars/{word(calendar_code)}/closures/versions/{word(version)}/restore", if_match=if_match, note=note))

    def list_procedure_versions(self, procedure_id: str, *, limit: Optional[int] = None, before: Optional[int] = None) -> c.VersionList:
        """Lists the versions of the procedure, with author, time and note.

        :param limit: Maximum number of versions.
        :param before: Only versions with a smaller number.
        """
        return cast("c.VersionList", self._transport.json("GET", f"/procedures/{word(procedure_id)}/versions", query={"limit": limit, "before": before}))

    def diff_procedure_versions(self, procedure_id: str, from_: int, to: int) -> c.VersionDifference:
        """Lists the changes of the procedure between two versions.

        :param from_: Number of the first version.
        :param to: Number of the second version.
        """
        return cast("c.VersionDifference", self._transport.json("GET", f"/procedures/{word(procedure_id)}/versions/diff", query={"from": from_, "to": to}))

    def get_procedure_version(self, procedure_id: str, version: str) -> c.VersionedDocument:
        """Returns one version of the procedure.

        :param version: Number of the version.
        """
        return cast("c.VersionedDocument", self._transport.json("GET", f"/procedures/{word(procedure_id)}/versions/{word(version)}"))

    def restore_procedure_version(self, procedure_id: str, version: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.Procedure:
        """Restores a version of the procedure.

        :param version: Number of the version.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.Procedure", self._transport.json("POST", f"/procedures/{word(procedure_id)}/versions/{word(version)}/restore", if_match=if_match, note=note))

    def list_store_versions(self, store_id: str, *, limit: Optional[int] = None, before: Optional[int] = None) -> c.VersionList:
        """Lists the versions of the declaration of a data store, with author, time and note.

        :param limit: Maximum number of versions.
        :param before: Only versions with a smaller number.
        """
        return cast("c.VersionList", self._transport.json("GET", f"/data/stores/{word(store_id)}/document/versions", query={"limit": limit, "before": before}))

    def diff_store_versions(self, store_id: str, from_: int, to: int) -> c.VersionDifference:
        """Lists the changes of the declaration of a data store between two versions.

        :param from_: Number of the first version.
        :param to: Number of the second version.
        """
        return cast("c.VersionDifference", self._transport.json("GET", f"/data/stores/{word(store_id)}/document/versions/diff", query={"from": from_, "to": to}))

    def get_store_version(self, store_id: str, version: str) -> c.VersionedDocument:
        """Returns one version of the declaration of a data store.

        :param version: Number of the version.
        """
        return cast("c.VersionedDocument", self._transport.json("GET", f"/data/stores/{word(store_id)}/document/versions/{word(version)}"))

    def restore_store_version(self, store_id: str, version: str, *, if_match: Optional[str] = None, note: Optional[str] = None) -> c.DataStore:
        """Restores a version of the declaration of a data store.

        :param version: Number of the version.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.DataStore", self._transport.json("POST", f"/data/stores/{word(store_id)}/document/versions/{word(version)}/restore", if_match=if_match, note=note))

    def publish_index(self, index_id: str, body: Optional[c.PublishRequest] = None) -> c.Publication:
        """Publishes the closes of a run that are not yet published. Default: the newest current run; the response states its id."""
        return cast("c.Publication", self._transport.json("POST", f"/analytics/{word(index_id)}/publish", body=body))

    def get_published(self, index_id: str, *, start: Optional[c.Date] = None, end: Optional[c.Date] = None, format: Optional[Literal["json", "ndjson"]] = None) -> c.PublishedLog:
        """Returns the published log of an index, even after the deletion of the index.

        :param start: First date.
        :param end: Last date.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.PublishedLog", self._transport.json("GET", f"/analytics/{word(index_id)}/published", query={"start": start, "end": end, "format": format}))

    def get_published_content(self, index_id: str, media: Literal["application/x-ndjson"], *, start: Optional[c.Date] = None, end: Optional[c.Date] = None, format: Optional[Literal["json", "ndjson"]] = None) -> bytes:
        """Returns the published log of an index, even after the deletion of the index.

        :param media: What is wanted instead of JSON.
        :param start: First date.
        :param end: Last date.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", f"/analytics/{word(index_id)}/published", query={"start": start, "end": end, "format": format}, accept=media)

    def get_published_bundle(self, index_id: str) -> bytes:
        """Returns a signed archive of all inputs that are needed to recompute the published closes of an index."""
        return self._transport.content("GET", f"/analytics/{word(index_id)}/published/bundle")

    def list_published_errors(self, index_id: str, *, limit: Optional[int] = None) -> c.PublishedErrors:
        """Lists the register of errors in published closes: size, decision, and the notice for clients.

        :param limit: Maximum number of entries.
        """
        return cast("c.PublishedErrors", self._transport.json("GET", f"/analytics/{word(index_id)}/published/errors", query={"limit": limit}))

    def get_published_keys(self, index_id: str) -> c.PublicKeys:
        """Lists the public keys that sign published logs."""
        return cast("c.PublicKeys", self._transport.json("GET", f"/analytics/{word(index_id)}/published/keys"))

    def rotate_signing_key(self) -> c.PublicKey:
        """Replaces the signing key."""
        return cast("c.PublicKey", self._transport.json("POST", "/publication/keys"))

    def list_approvals(self, *, state: Optional[Literal["pending", "approved", "used", "rejected", "withdrawn", "expired"]] = None, action: Optional[Literal["publish", "restate", "amend", "action", "override", "waive"]] = None, subject: Optional[str] = None, schedule_id: Optional[str] = None, date: Optional[c.Date] = None, limit: Optional[int] = None, before: Optional[int] = None) -> c.ApprovalCollection:
        """Lists pending and decided approvals of changes.

        :param state: Only approvals in this state.
        :param action: Only approvals of this change.
        :param subject: Only approvals of this index or schedule.
        :param schedule_id: Only requests of days of this schedule.
        :param date: Only requests of the day of this session.
        :param limit: Maximum number of entries.
        :param before: Only approvals with lower numbers.
        """
        return cast("c.ApprovalCollection", self._transport.json("GET", "/approvals", query={"state": state, "action": action, "subject": subject, "schedule_id": schedule_id, "date": date, "limit": limit, "before": before}))

    def get_approval(self, approval_id: int) -> c.Approval:
        """Returns one approval: the change, and the people who requested, commented and decided.

        :param approval_id: Number of the approval.
        """
        return cast("c.Approval", self._transport.json("GET", f"/approvals/{word(approval_id)}"))

    def decide_approval(self, approval_id: int, body: c.ApprovalDecisionRequest, *, note: Optional[str] = None) -> c.Approval:
        """Approves, rejects, withdraws or comments on a pending change.

        :param approval_id: Number of the approval.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.Approval", self._transport.json("POST", f"/approvals/{word(approval_id)}/decisions", body=body, note=note))

    def list_actions(self, *, from_: Optional[c.Date] = None, to: Optional[c.Date] = None, state: Optional[Literal["new", "confirmed", "rejected", "amended"]] = None, identifier: Optional[str] = None, flagged: Optional[bool] = None, indices: Optional[bool] = None, limit: Optional[int] = None, store_id: Optional[str] = None) -> c.DeskActions:
        """Lists coming and recent corporate actions of the served store, with their state and flags.

        :param from_: First ex-date. Default: 10 days before the last session.
        :param to: Last ex-date. Default: 90 days after the last session.
        :param state: Only actions in this state.
        :param identifier: Only actions of this security.
        :param flagged: Only actions with flags.
        :param indices: Also returns the indices that each action affects. They are read from stored runs.
        :param limit: Maximum number of entries.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.DeskActions", self._transport.json("GET", "/actions", query={"from": from_, "to": to, "state": state, "identifier": identifier, "flagged": flagged, "indices": indices, "limit": limit, "store_id": store_id}))

    def get_action(self, action_id: str, *, store_id: Optional[str] = None) -> c.DeskActionDetail:
        """Returns one corporate action with its decisions, and each index before and after it.

        :param action_id: Id of the action.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        """
        return cast("c.DeskActionDetail", self._transport.json("GET", f"/actions/{word(action_id)}", query={"store_id": store_id}))

    def decide_action(self, action_id: str, body: c.DeskDecisionRequest, *, store_id: Optional[str] = None, note: Optional[str] = None) -> c.DeskAction:
        """Confirms, rejects or reopens a corporate action with its current terms.

        :param action_id: Id of the action.
        :param store_id: Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.
        :param note: Reason for the write, stored with the version and in the audit log.
        """
        return cast("c.DeskAction", self._transport.json("POST", f"/actions/{word(action_id)}/decisions", body=body, query={"store_id": store_id}, note=note))

    def get_access(self, kind: Literal["index", "strategy", "constraint-set", "template", "watchlist", "plugin", "store", "closures", "schedule", "procedure", "client"], document_id: str) -> c.DocumentAccess:
        """Returns the owner of a document, and the clients that can read it.

        :param kind: Family of the document.
        """
        return cast("c.DocumentAccess", self._transport.json("GET", f"/access/{word(kind)}/{word(document_id)}"))

    def put_access(self, kind: Literal["index", "strategy", "constraint-set", "template", "watchlist", "plugin", "store", "closures", "schedule", "procedure", "client"], document_id: str, body: c.SharingRequest, *, if_match: Optional[str] = None) -> c.DocumentAccess:
        """Sets the clients that can read a document.

        :param kind: Family of the document.
        :param if_match: The document is changed only if its ETag is one of these ETags.
        """
        return cast("c.DocumentAccess", self._transport.json("PUT", f"/access/{word(kind)}/{word(document_id)}", body=body, if_match=if_match))

    def get_audit(self, *, start: Optional[str] = None, end: Optional[str] = None, kind: Optional[Literal["index", "strategy", "constraint-set", "template", "watchlist", "plugin", "store", "closures", "schedule", "procedure", "client", "judgement", "action-decision", "approval", "paused-kind", "run", "optimisation-run", "risk-model", "render", "publication", "publication-error", "data-version", "signing-key", "key", "job", "authentication", "read"]] = None, id: Optional[str] = None, author: Optional[str] = None, after: Optional[int] = None, limit: Optional[int] = None, format: Optional[Literal["json", "ndjson"]] = None) -> c.AuditLog:
        """Lists every write of a document and every publication, with author, time, request and version.

        :param start: Only entries at or after this day or time.
        :param end: Only entries at or before this day or time.
        :param kind: Kind of document.
        :param id: Id of a document. Entries that belong to the document, such as published closes of an index, are included.
        :param author: Author of the write.
        :param after: Only entries with a higher number.
        :param limit: Maximum number of entries. Default: all.
        :param format: Format of the response. It replaces `Accept`.
        """
        return cast("c.AuditLog", self._transport.json("GET", "/audit", query={"start": start, "end": end, "kind": kind, "id": id, "author": author, "after": after, "limit": limit, "format": format}))

    def get_audit_content(self, media: Literal["application/x-ndjson"], *, start: Optional[str] = None, end: Optional[str] = None, kind: Optional[Literal["index", "strategy", "constraint-set", "template", "watchlist", "plugin", "store", "closures", "schedule", "procedure", "client", "judgement", "action-decision", "approval", "paused-kind", "run", "optimisation-run", "risk-model", "render", "publication", "publication-error", "data-version", "signing-key", "key", "job", "authentication", "read"]] = None, id: Optional[str] = None, author: Optional[str] = None, after: Optional[int] = None, limit: Optional[int] = None, format: Optional[Literal["json", "ndjson"]] = None) -> bytes:
        """Lists every write of a document and every publication, with author, time, request and version.

        :param media: What is wanted instead of JSON.
        :param start: Only entries at or after this day or time.
        :param end: Only entries at or before this day or time.
        :param kind: Kind of document.
        :param id: Id of a document. Entries that belong to the document, such as published closes of an index, are included.
        :param author: Author of the write.
        :param after: Only entries with a higher number.
        :param limit: Maximum number of entries. Default: all.
        :param format: Format of the response. It replaces `Accept`.
        """
        return self._transport.content("GET", "/audit", query={"start": start, "end": end, "kind": kind, "id": id, "author": author, "after": after, "limit": limit, "format": format}, accept=media)

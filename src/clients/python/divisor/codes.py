# Written from the catalogue of error codes by `npm run generate`.
"""An exception for every error code of the service."""

from __future__ import annotations

from typing import Dict, Type

from .errors import DivisorError

class MalformedRequest(DivisorError):
    """The body is not JSON, is nested too deeply, repeats a key, or has an unsupported content type."""


class BodyTooLarge(DivisorError):
    """The body is longer, or has more values, than the route accepts."""


class Unauthenticated(DivisorError):
    """The key is missing, unknown, revoked, expired or wrong."""


class ForbiddenScope(DivisorError):
    """The key is valid but lacks the scope of the route."""


class QuotaExceeded(DivisorError):
    """The documents and versions of the key have reached their storage limit. Purge some of them."""


class ApprovalForbidden(DivisorError):
    """The key cannot decide, because it requested the change or is not an approver."""


class ForbiddenId(DivisorError):
    """The id does not begin with a prefix of the key; see detail.prefixes."""


class ReadOnly(DivisorError):
    """The service runs with --read-only on. It changes nothing and starts no job."""


class ForbiddenOrigin(DivisorError):
    """A service without keys received a request with a foreign host name or web origin."""


class RouteNotFound(DivisorError):
    """No route has this path."""


class IndexNotFound(DivisorError):
    """No index (or strategy) is stored under the id."""


class RunNotFound(DivisorError):
    """The index has no stored run."""


class AssetNotInRun(DivisorError):
    """The stored run never held the security."""


class BenchmarkNotFound(DivisorError):
    """The benchmark is neither a stored index nor an identifier of the data (a security or a series)."""


class ConstraintSetNotFound(DivisorError):
    """No constraint set is stored under the id."""


class RiskModelNotFound(DivisorError):
    """No risk model is stored under the id."""


class StrategyNotFound(DivisorError):
    """No strategy is stored under the id."""


class TemplateNotFound(DivisorError):
    """No report template, or published methodology, has the id."""


class RenderNotFound(DivisorError):
    """No finished render has the id."""


class NothingPublished(DivisorError):
    """No close of the index was ever published."""


class VersionNotFound(DivisorError):
    """The document has no version with the number, or the version is a deletion."""


class WatchlistNotFound(DivisorError):
    """No watchlist is stored under the id."""


class PluginNotFound(DivisorError):
    """No plug-in is stored under the id."""


class ScheduleNotFound(DivisorError):
    """No schedule is stored under the id."""


class CalendarNotFound(DivisorError):
    """No calendar has the code, or none of its changes is recorded."""


class ProcedureNotFound(DivisorError):
    """No procedure is stored under the id."""


class ClientNotFound(DivisorError):
    """No client is stored under the id."""


class FileNotFound(DivisorError):
    """The day has no file with the name, or the file is no longer kept."""


class DayNotFound(DivisorError):
    """The schedule has no day for the session yet."""


class ActionNotFound(DivisorError):
    """The served store has no such corporate action."""


class ApprovalNotFound(DivisorError):
    """No approval has the number."""


class StoreNotFound(DivisorError):
    """No data store is registered under the id."""


class IdentifierNotFound(DivisorError):
    """The data does not contain the identifier."""


class JobNotFound(DivisorError):
    """No job is stored under the id."""


class DocumentUnreadable(DivisorError):
    """The stored document cannot be read. It can still be deleted."""


class MethodNotAllowed(DivisorError):
    """The path does not accept the method; see the header Allow."""


class NotAcceptable(DivisorError):
    """The route cannot return any of the media types in Accept; see detail.accepted."""


class CheckFailed(DivisorError):
    """A check of a schedule holds an index back. Correct the data, or waive the finding."""


class DeliveryFailed(DivisorError):
    """A target did not accept a file. The service tries again in the next attempt of the day."""


class ApprovalRequired(DivisorError):
    """Another person must approve the change first; see detail.approval_id. Repeat the request after the approval."""


class ApprovalClosed(DivisorError):
    """The approval was decided, used or withdrawn, or has expired."""


class DayEnded(DivisorError):
    """The day of the schedule is done, skipped or missed."""


class IndexExists(DivisorError):
    """An index is already stored under the requested id."""


class StrategyExists(DivisorError):
    """A strategy is already stored under the id."""


class TemplateEmpty(DivisorError):
    """The stored template has no blocks."""


class StoreExists(DivisorError):
    """A data store is already registered under the id."""


class StoreActive(DivisorError):
    """The store is active and cannot be deleted."""


class StorePublished(DivisorError):
    """The closes of a published log were computed on the data of the store; see detail.indices. `purge=true` (scope admin) deletes the store anyway."""


class StoreLoading(DivisorError):
    """A store is loading, or the previous store is being read after a restart. Try again after `Retry-After` seconds."""


class StoreRefreshing(DivisorError):
    """The store is being refreshed. Try again after `Retry-After` seconds."""


class FolderRegistered(DivisorError):
    """The folder (or its market file), or the same tables of the database, are already registered as a store."""


class NothingToRefresh(DivisorError):
    """The store has no source for a refresh."""


class StoreNotServed(DivisorError):
    """The store is a folder or a database that is not active. An activation reads its source again; a refresh needs `"load": true`."""


class StoreMismatch(DivisorError):
    """The data store of the run is not active and cannot be read. The message states the reason."""


class JobRunning(DivisorError):
    """A job with the same id is running for a different request."""


class Restatement(DivisorError):
    """The run differs from published closes; see detail.dates, and detail.largest for the largest change of a level. Nothing was appended."""


class NoCurrentRun(DivisorError):
    """All stored runs of the index are stale. Run the index again, or select a run by `run_id`. `detail` contains the newest run and the reason."""


class NotReproduced(DivisorError):
    """The published closes cannot be recomputed from the run and its data. `detail` contains the first difference or the reason."""


class PartialCloses(DivisorError):
    """Closes to be published use prices of only some securities; see detail.closes. Nothing was appended. `allow_partial` publishes these closes."""


class PreconditionFailed(DivisorError):
    """The stored document does not match If-Match."""


class ValidationFailed(DivisorError):
    """The request or document has errors; see detail.findings."""


class InvalidIdentifier(DivisorError):
    """An id in the path is not 1 to 64 letters, digits, dashes and underscores."""


class VersionNotRestorable(DivisorError):
    """The version cannot be restored: it is a deletion, or it belongs to a data store whose files were deleted or whose password is required again."""


class IdMismatch(DivisorError):
    """The id of the document differs from the id in the path or in the request."""


class InvalidRange(DivisorError):
    """The start is after the end."""


class RangeTooShort(DivisorError):
    """The range contains fewer sessions than the computation needs."""


class CalendarNotCovered(DivisorError):
    """The calendar covers no part of the range."""


class NoDataInRange(DivisorError):
    """The data contains no prices in the range."""


class PluginFailed(DivisorError):
    """A plug-in threw an error, exceeded its limit of steps or memory, or did not return a list of values; see detail."""


class NoDataAtDate(DivisorError):
    """There is no data on or before the date."""


class NoDataKnown(DivisorError):
    """No version of the data was known at the time, or the version is no longer available."""


class NoCommonDates(DivisorError):
    """The series have fewer than two common dates."""


class UniverseRequired(DivisorError):
    """The request contains neither identifiers nor an index."""


class ExpiryNotAfterAsOf(DivisorError):
    """The expiry is not after the valuation date."""


class ExpiryOrder(DivisorError):
    """The back expiry is not after the front expiry."""


class RateOutOfRange(DivisorError):
    """The absolute value of a rate is larger than 1 (it is probably in percent), or a series of rates has a value beyond 100 percent."""


class IndexRequired(DivisorError):
    """The template has blocks without an index, and the request contains no index."""


class TemplateBuiltIn(DivisorError):
    """A built-in template cannot be changed or deleted."""


class VariantNotAvailable(DivisorError):
    """The run has no level of the return variant. Its prices include dividends, so only the total return exists."""


class TotalLoss(DivisorError):
    """The return of a period is -100%, so contributions cannot be linked over it."""


class Infeasible(DivisorError):
    """The constraints are infeasible; see detail.conflict."""


class ObjectiveUnattainable(DivisorError):
    """The constraints are feasible, but no weights within them satisfy the requirement of the objective."""


class EmptyIndex(DivisorError):
    """No security passes the rules on the first date, or no security has a weight. `detail.steps` of a backtest counts the securities that remain after each rule, on the reference date `detail.as_of`."""


class NoRate(DivisorError):
    """The withholding tax has neither a rate for a value of its field nor a default; see detail.values."""


class FxMissing(DivisorError):
    """The store lacks an exchange rate that the index needs."""


class RiskInsufficientData(DivisorError):
    """There are too few complete observations for a covariance estimate."""


class LookAhead(DivisorError):
    """A stored risk model is estimated on returns after the decision that uses it; `detail.observed_end` is its last day. The error is also reported if decisions with the data known at the time are requested for an index that rebalances on breaches."""


class ModelLacksNames(DivisorError):
    """A stored risk model has no estimate for a required security; `detail.identifiers` lists these securities."""


class QueryLimit(DivisorError):
    """An SQL query exceeds its limit of time, memory, number of runs, or size of the result. The error is also reported if an immediate computation, such as a preview, takes longer than MAX_QUERY_SECONDS."""


class NumericFailure(DivisorError):
    """A result is not finite."""


class SolverFailed(DivisorError):
    """The solver found neither a solution nor a proof that the problem is infeasible."""


class MissingPrice(DivisorError):
    """A constituent has no price, and the treatment requires an error in this case."""


class RateLimited(DivisorError):
    """The key has reached its limit of waiting jobs, of waiting computations or of requests per second. Try again after `Retry-After` seconds."""


class Internal(DivisorError):
    """A defect of the service. Report it with detail.request_id."""


class NotSupported(DivisorError):
    """This version has no driver for the kind of database."""


class NoDataSource(DivisorError):
    """No data store is active, or the active store could not be read; `detail.error` contains the reason."""


class StoreUnavailable(DivisorError):
    """The document store does not respond, or the active data store is loading after a restart. Try again after `Retry-After` seconds."""


class Overloaded(DivisorError):
    """The queue or the memory budget is full. Try again later."""


class Draining(DivisorError):
    """The service is stopping."""


class StorageFull(DivisorError):
    """The free space of the disk is at its low-water mark. Nothing was written."""


class UnclassifiedFailure(DivisorError):
    """The job failed in an early version that did not store error codes."""


class RiskModelChanged(DivisorError):
    """A stored risk model was estimated again or deleted while a job that uses it was waiting. Submit the job again."""


class WorkerCrashed(DivisorError):
    """The job crashed its thread too often."""


class JobInterrupted(DivisorError):
    """Attempts of the job ended too often for external reasons: their processes ended, stopped responding or returned the job."""


class WorkerOutOfMemory(DivisorError):
    """The worker ran out of memory."""


class JobTimeout(DivisorError):
    """The job exceeded its time limit, or its retry was due after its deadline."""


class IndexDeleted(DivisorError):
    """The index was deleted while the job waited or ran."""


class RenderFailed(DivisorError):
    """The report could not be rendered."""


class StoreReadFailed(DivisorError):
    """The data store could not be read."""


class RefreshRejected(DivisorError):
    """The refresh has a finding with a code of fail_on. Nothing was stored or activated; see detail.findings."""


class StoreWriteFailed(DivisorError):
    """The data store could not be written."""


#: The exception of every code.
BY_CODE: Dict[str, Type[DivisorError]] = {
    "MALFORMED_REQUEST": MalformedRequest,
    "BODY_TOO_LARGE": BodyTooLarge,
    "UNAUTHENTICATED": Unauthenticated,
    "FORBIDDEN_SCOPE": ForbiddenScope,
    "QUOTA_EXCEEDED": QuotaExceeded,
    "APPROVAL_FORBIDDEN": ApprovalForbidden,
    "FORBIDDEN_ID": ForbiddenId,
    "READ_ONLY": ReadOnly,
    "FORBIDDEN_ORIGIN": ForbiddenOrigin,
    "ROUTE_NOT_FOUND": RouteNotFound,
    "INDEX_NOT_FOUND": IndexNotFound,
    "RUN_NOT_FOUND": RunNotFound,
    "ASSET_NOT_IN_RUN": AssetNotInRun,
    "BENCHMARK_NOT_FOUND": BenchmarkNotFound,
    "CONSTRAINT_SET_NOT_FOUND": ConstraintSetNotFound,
    "RISK_MODEL_NOT_FOUND": RiskModelNotFound,
    "STRATEGY_NOT_FOUND": StrategyNotFound,
    "TEMPLATE_NOT_FOUND": TemplateNotFound,
    "RENDER_NOT_FOUND": RenderNotFound,
    "NOTHING_PUBLISHED": NothingPublished,
    "VERSION_NOT_FOUND": VersionNotFound,
    "WATCHLIST_NOT_FOUND": WatchlistNotFound,
    "PLUGIN_NOT_FOUND": PluginNotFound,
    "SCHEDULE_NOT_FOUND": ScheduleNotFound,
    "CALENDAR_NOT_FOUND": CalendarNotFound,
    "PROCEDURE_NOT_FOUND": ProcedureNotFound,
    "CLIENT_NOT_FOUND": ClientNotFound,
    "FILE_NOT_FOUND": FileNotFound,
    "DAY_NOT_FOUND": DayNotFound,
    "ACTION_NOT_FOUND": ActionNotFound,
    "APPROVAL_NOT_FOUND": ApprovalNotFound,
    "STORE_NOT_FOUND": StoreNotFound,
    "IDENTIFIER_NOT_FOUND": IdentifierNotFound,
    "JOB_NOT_FOUND": JobNotFound,
    "DOCUMENT_UNREADABLE": DocumentUnreadable,
    "METHOD_NOT_ALLOWED": MethodNotAllowed,
    "NOT_ACCEPTABLE": NotAcceptable,
    "CHECK_FAILED": CheckFailed,
    "DELIVERY_FAILED": DeliveryFailed,
    "APPROVAL_REQUIRED": ApprovalRequired,
    "APPROVAL_CLOSED": ApprovalClosed,
    "DAY_ENDED": DayEnded,
    "INDEX_EXISTS": IndexExists,
    "STRATEGY_EXISTS": StrategyExists,
    "TEMPLATE_EMPTY": TemplateEmpty,
    "STORE_EXISTS": StoreExists,
    "STORE_ACTIVE": StoreActive,
    "STORE_PUBLISHED": StorePublished,
    "STORE_LOADING": StoreLoading,
    "STORE_REFRESHING": StoreRefreshing,
    "FOLDER_REGISTERED": FolderRegistered,
    "NOTHING_TO_REFRESH": NothingToRefresh,
    "STORE_NOT_SERVED": StoreNotServed,
    "STORE_MISMATCH": StoreMismatch,
    "JOB_RUNNING": JobRunning,
    "RESTATEMENT": Restatement,
    "NO_CURRENT_RUN": NoCurrentRun,
    "NOT_REPRODUCED": NotReproduced,
    "PARTIAL_CLOSES": PartialCloses,
    "PRECONDITION_FAILED": PreconditionFailed,
    "VALIDATION_FAILED": ValidationFailed,
    "INVALID_IDENTIFIER": InvalidIdentifier,
    "VERSION_NOT_RESTORABLE": VersionNotRestorable,
    "ID_MISMATCH": IdMismatch,
    "INVALID_RANGE": InvalidRange,
    "RANGE_TOO_SHORT": RangeTooShort,
    "CALENDAR_NOT_COVERED": CalendarNotCovered,
    "NO_DATA_IN_RANGE": NoDataInRange,
    "PLUGIN_FAILED": PluginFailed,
    "NO_DATA_AT_DATE": NoDataAtDate,
    "NO_DATA_KNOWN": NoDataKnown,
    "NO_COMMON_DATES": NoCommonDates,
    "UNIVERSE_REQUIRED": UniverseRequired,
    "EXPIRY_NOT_AFTER_AS_OF": ExpiryNotAfterAsOf,
    "EXPIRY_ORDER": ExpiryOrder,
    "RATE_OUT_OF_RANGE": RateOutOfRange,
    "INDEX_REQUIRED": IndexRequired,
    "TEMPLATE_BUILT_IN": TemplateBuiltIn,
    "VARIANT_NOT_AVAILABLE": VariantNotAvailable,
    "TOTAL_LOSS": TotalLoss,
    "INFEASIBLE": Infeasible,
    "OBJECTIVE_UNATTAINABLE": ObjectiveUnattainable,
    "EMPTY_INDEX": EmptyIndex,
    "NO_RATE": NoRate,
    "FX_MISSING": FxMissing,
    "RISK_INSUFFICIENT_DATA": RiskInsufficientData,
    "LOOK_AHEAD": LookAhead,
    "MODEL_LACKS_NAMES": ModelLacksNames,
    "QUERY_LIMIT": QueryLimit,
    "NUMERIC_FAILURE": NumericFailure,
    "SOLVER_FAILED": SolverFailed,
    "MISSING_PRICE": MissingPrice,
    "RATE_LIMITED": RateLimited,
    "INTERNAL": Internal,
    "NOT_SUPPORTED": NotSupported,
    "NO_DATA_SOURCE": NoDataSource,
    "STORE_UNAVAILABLE": StoreUnavailable,
    "OVERLOADED": Overloaded,
    "DRAINING": Draining,
    "STORAGE_FULL": StorageFull,
    "UNCLASSIFIED_FAILURE": UnclassifiedFailure,
    "RISK_MODEL_CHANGED": RiskModelChanged,
    "WORKER_CRASHED": WorkerCrashed,
    "JOB_INTERRUPTED": JobInterrupted,
    "WORKER_OUT_OF_MEMORY": WorkerOutOfMemory,
    "JOB_TIMEOUT": JobTimeout,
    "INDEX_DELETED": IndexDeleted,
    "RENDER_FAILED": RenderFailed,
    "STORE_READ_FAILED": StoreReadFailed,
    "REFRESH_REJECTED": RefreshRejected,
    "STORE_WRITE_FAILED": StoreWriteFailed,
}

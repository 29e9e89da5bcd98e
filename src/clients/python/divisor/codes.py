# Written from the catalogue of error codes by `npm run generate`.
"""An exception for every error code of the service."""

from __future__ import annotations

from typing import Dict, Type

from .errors import DivisorError

class MalformedRequest(DivisorError):
    """The body is not JSON, is nested too deeply, repeats a key, or has another content type."""


class BodyTooLarge(DivisorError):
    """The body is longer than the route accepts."""


class Unauthenticated(DivisorError):
    """The key is missing, unknown, revoked, expired or wrong."""


class ForbiddenScope(DivisorError):
    """The key is valid but lacks the scope of the route."""


class QuotaExceeded(DivisorError):
    """The documents and versions of the key have reached their storage limit; purge some."""


class ApprovalForbidden(DivisorError):
    """The key may not decide: it requested the change, or is no approver."""


class ForbiddenId(DivisorError):
    """The id does not begin with a prefix of the key; see detail.prefixes."""


class ReadOnly(DivisorError):
    """The service runs with --read-only on: it changes nothing and starts no job."""


class ForbiddenOrigin(DivisorError):
    """A keyless service was addressed by a foreign host name or web origin."""


class RouteNotFound(DivisorError):
    """No route has this path."""


class IndexNotFound(DivisorError):
    """No index (or strategy) is stored under the id."""


class RunNotFound(DivisorError):
    """The index has no stored run."""


class AssetNotInRun(DivisorError):
    """The stored run never held the security."""


class BenchmarkNotFound(DivisorError):
    """The benchmark is neither a stored index nor an identifier of the data: a security or a series."""


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
    """The document has no version of the number, or it is a deletion."""


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
    """The day has no file of the name, or it is no longer kept."""


class DayNotFound(DivisorError):
    """The schedule has no day of the session yet."""


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
    """The stored document cannot be read; it can still be deleted."""


class MethodNotAllowed(DivisorError):
    """The path exists but not with this method; see Allow."""


class NotAcceptable(DivisorError):
    """None of the media types in Accept is offered; see detail.accepted."""


class CheckFailed(DivisorError):
    """A check of a schedule holds an index back; fix its data or waive the finding."""


class DeliveryFailed(DivisorError):
    """A target did not take a file; it is attempted again in the next round."""


class ApprovalRequired(DivisorError):
    """Another person has to agree first; see detail.approval_id. Repeat the request once it is approved."""


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
    """The store is the active one."""


class StorePublished(DivisorError):
    """Published runs were made on the contents of the store; see detail.indices. `purge=true` (scope admin) deletes it anyway."""


class StoreLoading(DivisorError):
    """A store is already loading, or the previous one is being read after a restart; retry after `Retry-After` seconds."""


class StoreRefreshing(DivisorError):
    """The store is already refreshing; retry after `Retry-After` seconds."""


class FolderRegistered(DivisorError):
    """The folder (or its market file), or the same tables of the database, are already registered as a store."""


class NothingToRefresh(DivisorError):
    """The store has no source to refresh from."""


class StoreNotServed(DivisorError):
    """Answered up to version 0.3.0, where only the active store could be refreshed."""


class StoreMismatch(DivisorError):
    """The run was made on a data store that is not active and cannot be read; the message has the reason."""


class JobRunning(DivisorError):
    """A job with the id runs with a different request."""


class Restatement(DivisorError):
    """The run disagrees with published closes; see detail.dates, and detail.largest for the largest change of a level. Nothing was appended."""


class NoCurrentRun(DivisorError):
    """All stored runs of the index are out of date: run it again, or select a run by `run_id`. `detail` has the newest run and the reason."""


class NotReproduced(DivisorError):
    """The published closes cannot be recomputed from the run and its data; `detail` has the first difference or the reason."""


class PartialCloses(DivisorError):
    """Closes to be published use prices of only some securities; see detail.closes. Nothing was appended; `allow_partial` publishes them."""


class PreconditionFailed(DivisorError):
    """The stored document does not match If-Match."""


class ValidationFailed(DivisorError):
    """The request or document has errors; see detail.findings."""


class InvalidIdentifier(DivisorError):
    """An id in the path is not 1 to 64 letters, digits, dashes and underscores."""


class VersionNotRestorable(DivisorError):
    """The version is a deletion, belongs to a data store whose files were deleted, or to one that needs a password again."""


class IdMismatch(DivisorError):
    """The id in the body differs from the id in the path."""


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
    """There is no data at or before the date."""


class NoDataKnown(DivisorError):
    """No version of the data was known at the time, or the version is no longer available."""


class NoCommonDates(DivisorError):
    """The series share fewer than two dates."""


class UniverseRequired(DivisorError):
    """Neither identifiers nor an index were given."""


class ExpiryNotAfterAsOf(DivisorError):
    """The expiry is not after the valuation date."""


class ExpiryOrder(DivisorError):
    """The back expiry is not after the front expiry."""


class RateOutOfRange(DivisorError):
    """A rate is larger than 1 in magnitude (probably percent), or a series used as one has a value beyond 100 percent."""


class IndexRequired(DivisorError):
    """Template blocks without an index need one."""


class TemplateBuiltIn(DivisorError):
    """A built-in template cannot be changed or deleted."""


class VariantNotAvailable(DivisorError):
    """The run has no level of the return variant: its prices include dividends, so only the total return exists."""


class TotalLoss(DivisorError):
    """A period lost everything, so contributions cannot be linked over it."""


class Infeasible(DivisorError):
    """The constraints are infeasible; see detail.conflict."""


class ObjectiveUnattainable(DivisorError):
    """The constraints are feasible, but no weights within them meet the requirement of the objective."""


class EmptyIndex(DivisorError):
    """No security passes the rules, or none has a weight, on the first date."""


class NoRate(DivisorError):
    """A value of the field of a withholding tax has neither a rate nor a default; see detail.values."""


class FxMissing(DivisorError):
    """The store lacks an exchange rate that the index needs."""


class RiskInsufficientData(DivisorError):
    """Too few complete observations for a covariance estimate."""


class LookAhead(DivisorError):
    """A stored risk model is estimated on returns after the decision it is used for; `detail.observed_end` has its last day. Or decisions on the data known at the time were requested for an index that is rebalanced on breaches."""


class ModelLacksNames(DivisorError):
    """A stored risk model has no estimate for a security that it is used for; `detail.identifiers` lists them."""


class QueryLimit(DivisorError):
    """A SQL query exceeds its limit of time, of memory, of the number of runs, or of the size of its result; or an immediate computation, such as a preview, takes longer than MAX_QUERY_SECONDS."""


class NumericFailure(DivisorError):
    """A result is not finite."""


class SolverFailed(DivisorError):
    """The solver neither solved the problem nor proved it infeasible."""


class MissingPrice(DivisorError):
    """A constituent has no price and the treatment requires a failure."""


class RateLimited(DivisorError):
    """The key has reached its limit of waiting jobs or of requests per second; retry after `Retry-After` seconds."""


class Internal(DivisorError):
    """A defect of the service; report detail.request_id."""


class NotSupported(DivisorError):
    """This build has no driver for the kind."""


class NoDataSource(DivisorError):
    """No data store is active, or the active one could not be read: `detail.error` says why."""


class StoreUnavailable(DivisorError):
    """The document store does not respond, or the active data store is still loading after a restart; retry after `Retry-After` seconds."""


class Overloaded(DivisorError):
    """The queue or the memory budget is full; retry later."""


class Draining(DivisorError):
    """The service is stopping."""


class StorageFull(DivisorError):
    """The disk is at its low-water mark; nothing was written."""


class UnclassifiedFailure(DivisorError):
    """The job failed before codes were recorded."""


class RiskModelChanged(DivisorError):
    """A stored risk model was estimated again or deleted while the job that uses it waited; submit it again."""


class WorkerCrashed(DivisorError):
    """The job crashed its thread too many times."""


class JobInterrupted(DivisorError):
    """Attempts of the job ended too often for external reasons: their processes ended, became silent or returned the job."""


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
    """The refresh has a finding listed in fail_on; nothing was stored or activated. See detail.findings."""


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

import { removeNumberNoise } from './numbers.js';
import { type Finding, hasErrors, selectFindings } from './findings.js';

/**
 * All error codes of the service, each with its HTTP status and its meaning for clients. Failed jobs use the same
 * codes; `status: null` marks codes that only jobs use.
 */
export const ERRORS = {
  MALFORMED_REQUEST: {
    status: 400,
    help: 'The body is not JSON, is nested too deeply, repeats a key, or has an unsupported content type.',
  },
  BODY_TOO_LARGE: { status: 400, help: 'The body is longer, or has more values, than the route accepts.' },
  UNAUTHENTICATED: { status: 401, help: 'The key is missing, unknown, revoked, expired or wrong.' },
  FORBIDDEN_SCOPE: { status: 403, help: 'The key is valid but lacks the scope of the route.' },
  QUOTA_EXCEEDED: {
    status: 403,
    help: 'The documents and versions of the key have reached their storage limit. Purge some of them.',
  },
  APPROVAL_FORBIDDEN: {
    status: 403,
    help: 'The key cannot decide, because it requested the change or is not an approver.',
  },
  FORBIDDEN_ID: { status: 403, help: 'The id does not begin with a prefix of the key; see detail.prefixes.' },
  READ_ONLY: { status: 403, help: 'The service runs with --read-only on. It changes nothing and starts no job.' },
  FORBIDDEN_ORIGIN: {
    status: 403,
    help: 'A service without keys received a request with a foreign host name or web origin.',
  },
  ROUTE_NOT_FOUND: { status: 404, help: 'No route has this path.' },
  INDEX_NOT_FOUND: {
    status: 404,
    help: 'No index (or strategy) is stored under the id. GET /indices (listIndices) lists the ids.',
  },
  RUN_NOT_FOUND: { status: 404, help: 'The index has no stored run.' },
  ASSET_NOT_IN_RUN: { status: 404, help: 'The stored run never held the security.' },
  BENCHMARK_NOT_FOUND: {
    status: 404,
    help: 'The benchmark is neither a stored index nor an identifier of the data (a security or a series).',
  },
  CONSTRAINT_SET_NOT_FOUND: { status: 404, help: 'No constraint set is stored under the id.' },
  RISK_MODEL_NOT_FOUND: { status: 404, help: 'No risk model is stored under the id.' },
  STRATEGY_NOT_FOUND: { status: 404, help: 'No strategy is stored under the id.' },
  TEMPLATE_NOT_FOUND: { status: 404, help: 'No report template, or published methodology, has the id.' },
  RENDER_NOT_FOUND: { status: 404, help: 'No finished render has the id.' },
  NOTHING_PUBLISHED: { status: 404, help: 'No close of the index was ever published.' },
  VERSION_NOT_FOUND: {
    status: 404,
    help: 'The document has no version with the number, or the version is a deletion.',
  },
  WATCHLIST_NOT_FOUND: { status: 404, help: 'No watchlist is stored under the id.' },
  PLUGIN_NOT_FOUND: { status: 404, help: 'No plug-in is stored under the id.' },
  SCHEDULE_NOT_FOUND: { status: 404, help: 'No schedule is stored under the id.' },
  CALENDAR_NOT_FOUND: { status: 404, help: 'No calendar has the code, or none of its changes is recorded.' },
  PROCEDURE_NOT_FOUND: { status: 404, help: 'No procedure is stored under the id.' },
  CLIENT_NOT_FOUND: { status: 404, help: 'No client is stored under the id.' },
  FILE_NOT_FOUND: { status: 404, help: 'The day has no file with the name, or the file is no longer kept.' },
  DAY_NOT_FOUND: { status: 404, help: 'The schedule has no day for the session yet.' },
  ACTION_NOT_FOUND: { status: 404, help: 'The served store has no such corporate action.' },
  APPROVAL_NOT_FOUND: { status: 404, help: 'No approval has the number.' },
  STORE_NOT_FOUND: { status: 404, help: 'No data store is registered under the id.' },
  IDENTIFIER_NOT_FOUND: { status: 404, help: 'The data does not contain the identifier.' },
  JOB_NOT_FOUND: { status: 404, help: 'No job is stored under the id.' },
  DOCUMENT_UNREADABLE: { status: 404, help: 'The stored document cannot be read. It can still be deleted.' },
  METHOD_NOT_ALLOWED: { status: 405, help: 'The path does not accept the method; see the header Allow.' },
  NOT_ACCEPTABLE: {
    status: 406,
    help: 'The route cannot return any of the media types in Accept; see detail.accepted.',
  },
  CHECK_FAILED: {
    status: null,
    help: 'A check of a schedule holds an index back. Correct the data, or waive the finding.',
  },
  DELIVERY_FAILED: {
    status: null,
    help: 'A target did not accept a file. The service tries again in the next attempt of the day.',
  },
  APPROVAL_REQUIRED: {
    status: 409,
    help: 'Another person must approve the change first; see detail.approval_id. Repeat the request after the approval.',
  },
  APPROVAL_CLOSED: { status: 409, help: 'The approval was decided, used or withdrawn, or has expired.' },
  DAY_ENDED: { status: 409, help: 'The day of the schedule is done, skipped or missed.' },
  INDEX_EXISTS: { status: 409, help: 'An index is already stored under the requested id.' },
  STRATEGY_EXISTS: { status: 409, help: 'A strategy is already stored under the id.' },
  TEMPLATE_EMPTY: { status: 409, help: 'The stored template has no blocks.' },
  STORE_EXISTS: { status: 409, help: 'A data store is already registered under the id.' },
  STORE_ACTIVE: { status: 409, help: 'The store is active and cannot be deleted.' },
  STORE_PUBLISHED: {
    status: 409,
    help: 'The closes of a published log were computed on the data of the store; see detail.indices. `purge=true` (scope admin) deletes the store anyway.',
  },
  STORE_LOADING: {
    status: 409,
    help: 'A store is loading, or the previous store is being read after a restart. Try again after `Retry-After` seconds.',
  },
  STORE_REFRESHING: { status: 409, help: 'The store is being refreshed. Try again after `Retry-After` seconds.' },
  FOLDER_REGISTERED: {
    status: 409,
    help: 'The folder (or its market file), or the same tables of the database, are already registered as a store.',
  },
  NOTHING_TO_REFRESH: { status: 409, help: 'The store has no source for a refresh.' },
  STORE_NOT_SERVED: {
    status: 409,
    help: 'The store is a folder or a database that is not active. An activation reads its source again; a refresh needs `"load": true`.',
  },
  STORE_MISMATCH: {
    status: 409,
    help: 'The data store of the run is not active and cannot be read. The message states the reason.',
  },
  JOB_RUNNING: { status: 409, help: 'A job with the same id is running for a different request.' },
  RESTATEMENT: {
    status: 409,
    help: 'The run differs from published closes; see detail.dates, and detail.largest for the largest change of a level. Nothing was appended.',
  },
  NO_CURRENT_RUN: {
    status: 409,
    help: 'All stored runs of the index are stale. Run the index again, or select a run by `run_id`. `detail` contains the newest run and the reason.',
  },
  NOT_REPRODUCED: {
    status: 409,
    help: 'The published closes cannot be recomputed from the run and its data. `detail` contains the first difference or the reason.',
  },
  PARTIAL_CLOSES: {
    status: 409,
    help: 'Closes to be published use prices of only some securities; see detail.closes. Nothing was appended. `allow_partial` publishes these closes.',
  },
  PRECONDITION_FAILED: { status: 412, help: 'The stored document does not match If-Match.' },
  VALIDATION_FAILED: { status: 422, help: 'The request or document has errors; see detail.findings.' },
  INVALID_IDENTIFIER: {
    status: 422,
    help: 'An id in the path is not 1 to 64 letters, digits, dashes and underscores.',
  },
  VERSION_NOT_RESTORABLE: {
    status: 422,
    help: 'The version cannot be restored: it is a deletion, or it belongs to a data store whose files were deleted or whose password is required again.',
  },
  ID_MISMATCH: { status: 422, help: 'The id of the document differs from the id in the path or in the request.' },
  INVALID_RANGE: { status: 422, help: 'The start is after the end.' },
  RANGE_TOO_SHORT: { status: 422, help: 'The range contains fewer sessions than the computation needs.' },
  CALENDAR_NOT_COVERED: { status: 422, help: 'The calendar covers no part of the range.' },
  NO_DATA_IN_RANGE: { status: 422, help: 'The data contains no prices in the range.' },
  PLUGIN_FAILED: {
    status: 422,
    help: 'A plug-in threw an error, exceeded its limit of steps or memory, or did not return a list of values; see detail.',
  },
  NO_DATA_AT_DATE: { status: 422, help: 'There is no data on or before the date.' },
  NO_DATA_KNOWN: {
    status: 422,
    help: 'No version of the data was known at the time, or the version is no longer available.',
  },
  NO_COMMON_DATES: { status: 422, help: 'The series have fewer than two common dates.' },
  UNIVERSE_REQUIRED: { status: 422, help: 'The request contains neither identifiers nor an index.' },
  EXPIRY_NOT_AFTER_AS_OF: { status: 422, help: 'The expiry is not after the valuation date.' },
  EXPIRY_ORDER: { status: 422, help: 'The back expiry is not after the front expiry.' },
  RATE_OUT_OF_RANGE: {
    status: 422,
    help: 'The absolute value of a rate is larger than 1 (it is probably in percent), or a series of rates has a value beyond 100 percent.',
  },
  INDEX_REQUIRED: { status: 422, help: 'The template has blocks without an index, and the request contains no index.' },
  TEMPLATE_BUILT_IN: { status: 422, help: 'A built-in template cannot be changed or deleted.' },
  VARIANT_NOT_AVAILABLE: {
    status: 422,
    help: 'The run has no level of the return variant. Its prices include dividends, so only the total return exists.',
  },
  TOTAL_LOSS: { status: 422, help: 'The return of a period is -100%, so contributions cannot be linked over it.' },
  INFEASIBLE: { status: 422, help: 'The constraints are infeasible; see detail.conflict.' },
  OBJECTIVE_UNATTAINABLE: {
    status: 422,
    help: 'The constraints are feasible, but no weights within them satisfy the requirement of the objective.',
  },
  EMPTY_INDEX: {
    status: 422,
    help: 'No security passes the rules on the first date, or no security has a weight. `detail.steps` of a backtest counts the securities that remain after each rule, on the reference date `detail.as_of`.',
  },
  NO_RATE: {
    status: 422,
    help: 'The withholding tax has neither a rate for a value of its field nor a default; see detail.values.',
  },
  FX_MISSING: { status: 422, help: 'The store lacks an exchange rate that the index needs.' },
  RISK_INSUFFICIENT_DATA: { status: 422, help: 'There are too few complete observations for a covariance estimate.' },
  LOOK_AHEAD: {
    status: 422,
    help: 'A stored risk model is estimated on returns after the decision that uses it; `detail.observed_end` is its last day. The error is also reported if decisions with the data known at the time are requested for an index that rebalances on breaches.',
  },
  MODEL_LACKS_NAMES: {
    status: 422,
    help: 'A stored risk model has no estimate for a required security; `detail.identifiers` lists these securities.',
  },
  QUERY_LIMIT: {
    status: 422,
    help: 'An SQL query exceeds its limit of time, memory, number of runs, or size of the result. The error is also reported if an immediate computation, such as a preview, takes longer than MAX_QUERY_SECONDS.',
  },
  NUMERIC_FAILURE: { status: 422, help: 'A result is not finite.' },
  SOLVER_FAILED: {
    status: 422,
    help: 'The solver found neither a solution nor a proof that the problem is infeasible.',
  },
  MISSING_PRICE: { status: 422, help: 'A constituent has no price, and the treatment requires an error in this case.' },
  RATE_LIMITED: {
    status: 429,
    help: 'The key has reached its limit of waiting jobs, of waiting computations or of requests per second. Try again after `Retry-After` seconds.',
  },
  INTERNAL: { status: 500, help: 'A defect of the service. Report it with detail.request_id.' },
  NOT_SUPPORTED: { status: 501, help: 'This version has no driver for the kind of database.' },
  NO_DATA_SOURCE: {
    status: 503,
    help: 'No data store is active, or the active store could not be read; `detail.error` contains the reason.',
  },
  STORE_UNAVAILABLE: {
    status: 503,
    help: 'The document store does not respond, or the active data store is loading after a restart. Try again after `Retry-After` seconds.',
  },
  OVERLOADED: { status: 503, help: 'The queue or the memory budget is full. Try again later.' },
  DRAINING: { status: 503, help: 'The service is stopping.' },
  STORAGE_FULL: { status: 503, help: 'The free space of the disk is at its low-water mark. Nothing was written.' },
  UNCLASSIFIED_FAILURE: { status: null, help: 'The job failed in an early version that did not store error codes.' },
  RISK_MODEL_CHANGED: {
    status: null,
    help: 'A stored risk model was estimated again or deleted while a job that uses it was waiting. Submit the job again.',
  },
  WORKER_CRASHED: { status: null, help: 'The job crashed its thread too often.' },
  JOB_INTERRUPTED: {
    status: null,
    help: 'Attempts of the job ended too often for external reasons: their processes ended, stopped responding or returned the job.',
  },
  WORKER_OUT_OF_MEMORY: { status: null, help: 'The worker ran out of memory.' },
  JOB_TIMEOUT: {
    status: null,
    help: 'The job exceeded its time limit, or its retry was due after its deadline.',
  },
  INDEX_DELETED: { status: null, help: 'The index was deleted while the job waited or ran.' },
  RENDER_FAILED: { status: null, help: 'The report could not be rendered.' },
  STORE_READ_FAILED: { status: null, help: 'The data store could not be read.' },
  REFRESH_REJECTED: {
    status: null,
    help: 'The refresh has a finding with a code of fail_on. Nothing was stored or activated; see detail.findings.',
  },
  STORE_WRITE_FAILED: { status: null, help: 'The data store could not be written.' },
} as const satisfies Record<string, { status: number | null; help: string }>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * Seconds after which a client may try again, by error code: codes with status 503 or 429, and other temporary
 * conditions.
 */
const RETRY_AFTER_SECONDS: Readonly<Partial<Record<ErrorCode, number>>> = {
  OVERLOADED: 2,
  RATE_LIMITED: 2,
  STORAGE_FULL: 60,
  STORE_LOADING: 5,
  STORE_REFRESHING: 5,
};
const RETRY_AFTER_DEFAULT_SECONDS = 5;

/** Returns the seconds after which a client may try again; undefined if the condition is not temporary. */
export function getRetrySeconds(code: ErrorCode): number | undefined {
  const { status } = ERRORS[code];
  const isTemporary = status === 503 || status === 429;
  return RETRY_AFTER_SECONDS[code] ?? (isTemporary ? RETRY_AFTER_DEFAULT_SECONDS : undefined);
}

/** Error object of the service: the body of a refusal, and the `error` of a failed job. */
export interface ErrorDetail {
  readonly code: ErrorCode;
  readonly message: string;
  readonly detail: Readonly<Record<string, unknown>> | null;
}

/** Error on which the caller can act. Any other thrown value is a defect of the service. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: ErrorCode;
  readonly detail: Readonly<Record<string, unknown>> | null;

  constructor(
    code: ErrorCode,
    message: string,
    detail: Readonly<Record<string, unknown>> | null = null,
    options: ErrorOptions = {},
  ) {
    super(removeNumberNoise(message), options);
    this.code = code;
    this.detail = detail;
  }

  toDetail(): ErrorDetail {
    return { code: this.code, message: this.message, detail: this.detail };
  }
}

/** Returns true if an error means temporary unavailability. */
export const isStoreUnavailable = (thrown: unknown): thrown is Refusal =>
  thrown instanceof Refusal && thrown.code === 'STORE_UNAVAILABLE';

/**
 * Returns a refusal with at most `MAX_FINDINGS` findings, under one of the 422 codes; `more` counts the others. Default:
 * `VALIDATION_FAILED`.
 */
export function refuseWithFindings(
  subject: string,
  findings: readonly Finding[],
  code: ErrorCode = 'VALIDATION_FAILED',
): Refusal {
  const errors = findings.filter(({ severity }) => severity === 'error');
  const countedErrors = errors.filter(({ code, count: stands }) => code !== 'MORE_FINDINGS' || stands !== undefined);
  const total = countedErrors.reduce((sum, { count: stands = 1 }) => sum + stands, 0);
  const count = countedErrors.length < errors.length ? `More than ${total}` : String(total);
  const message = `${count} ${count === '1' ? 'error' : 'errors'} in the ${subject}.`;
  const { findings: listed, more } = selectFindings(findings);
  return new Refusal(code, message, more === 0 ? { findings: listed } : { findings: listed, more });
}

export function assertNoErrors(subject: string, findings: readonly Finding[]): void {
  if (hasErrors(findings)) throw refuseWithFindings(subject, findings);
}

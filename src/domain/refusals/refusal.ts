import { hasErrors, sortFindings, type Finding } from './findings.js';

/**
 * All error codes of the service, each with its HTTP status and its meaning for clients. Failed jobs use the same
 * codes; `status: null` marks codes that only jobs use.
 */
export const ERRORS = {
  MALFORMED_REQUEST: {
    status: 400,
    help: 'The body is not JSON, is nested too deeply, repeats a key, or has another content type.',
  },
  BODY_TOO_LARGE: { status: 400, help: 'The body is longer than the route accepts.' },
  UNAUTHENTICATED: { status: 401, help: 'The key is missing, unknown, revoked, expired or wrong.' },
  FORBIDDEN_SCOPE: { status: 403, help: 'The key is valid but lacks the scope of the route.' },
  QUOTA_EXCEEDED: {
    status: 403,
    help: 'The documents and versions of the key have reached their storage limit; purge some.',
  },
  APPROVAL_FORBIDDEN: { status: 403, help: 'The key may not decide: it requested the change, or is no approver.' },
  FORBIDDEN_ID: { status: 403, help: 'The id does not begin with a prefix of the key; see detail.prefixes.' },
  READ_ONLY: { status: 403, help: 'The service runs with --read-only on: it changes nothing and starts no job.' },
  FORBIDDEN_ORIGIN: { status: 403, help: 'A keyless service was addressed by a foreign host name or web origin.' },
  ROUTE_NOT_FOUND: { status: 404, help: 'No route has this path.' },
  INDEX_NOT_FOUND: { status: 404, help: 'No index (or strategy) is stored under the id.' },
  RUN_NOT_FOUND: { status: 404, help: 'The index has no stored run.' },
  ASSET_NOT_IN_RUN: { status: 404, help: 'The stored run never held the security.' },
  BENCHMARK_NOT_FOUND: {
    status: 404,
    help: 'The benchmark is neither a stored index nor an identifier of the data: a security or a series.',
  },
  CONSTRAINT_SET_NOT_FOUND: { status: 404, help: 'No constraint set is stored under the id.' },
  RISK_MODEL_NOT_FOUND: { status: 404, help: 'No risk model is stored under the id.' },
  STRATEGY_NOT_FOUND: { status: 404, help: 'No strategy is stored under the id.' },
  TEMPLATE_NOT_FOUND: { status: 404, help: 'No report template, or published methodology, has the id.' },
  RENDER_NOT_FOUND: { status: 404, help: 'No finished render has the id.' },
  NOTHING_PUBLISHED: { status: 404, help: 'No close of the index was ever published.' },
  VERSION_NOT_FOUND: { status: 404, help: 'The document has no version of the number, or it is a deletion.' },
  WATCHLIST_NOT_FOUND: { status: 404, help: 'No watchlist is stored under the id.' },
  PLUGIN_NOT_FOUND: { status: 404, help: 'No plug-in is stored under the id.' },
  SCHEDULE_NOT_FOUND: { status: 404, help: 'No schedule is stored under the id.' },
  CALENDAR_NOT_FOUND: { status: 404, help: 'No calendar has the code, or none of its changes is recorded.' },
  PROCEDURE_NOT_FOUND: { status: 404, help: 'No procedure is stored under the id.' },
  CLIENT_NOT_FOUND: { status: 404, help: 'No client is stored under the id.' },
  FILE_NOT_FOUND: { status: 404, help: 'The day has no file of the name, or it is no longer kept.' },
  DAY_NOT_FOUND: { status: 404, help: 'The schedule has no day of the session yet.' },
  ACTION_NOT_FOUND: { status: 404, help: 'The served store has no such corporate action.' },
  APPROVAL_NOT_FOUND: { status: 404, help: 'No approval has the number.' },
  STORE_NOT_FOUND: { status: 404, help: 'No data store is registered under the id.' },
  IDENTIFIER_NOT_FOUND: { status: 404, help: 'The data does not contain the identifier.' },
  JOB_NOT_FOUND: { status: 404, help: 'No job is stored under the id.' },
  DOCUMENT_UNREADABLE: { status: 404, help: 'The stored document cannot be read; it can still be deleted.' },
  METHOD_NOT_ALLOWED: { status: 405, help: 'The path exists but not with this method; see Allow.' },
  NOT_ACCEPTABLE: { status: 406, help: 'None of the media types in Accept is offered; see detail.accepted.' },
  CHECK_FAILED: { status: null, help: 'A check of a schedule holds an index back; fix its data or waive the finding.' },
  DELIVERY_FAILED: { status: null, help: 'A target did not take a file; it is attempted again in the next round.' },
  APPROVAL_REQUIRED: {
    status: 409,
    help: 'Another person has to agree first; see detail.approval_id. Repeat the request once it is approved.',
  },
  APPROVAL_CLOSED: { status: 409, help: 'The approval was decided, used or withdrawn, or has expired.' },
  DAY_ENDED: { status: 409, help: 'The day of the schedule is done, skipped or missed.' },
  INDEX_EXISTS: { status: 409, help: 'An index is already stored under the requested id.' },
  STRATEGY_EXISTS: { status: 409, help: 'A strategy is already stored under the id.' },
  TEMPLATE_EMPTY: { status: 409, help: 'The stored template has no blocks.' },
  STORE_EXISTS: { status: 409, help: 'A data store is already registered under the id.' },
  STORE_ACTIVE: { status: 409, help: 'The store is the active one.' },
  STORE_PUBLISHED: {
    status: 409,
    help: 'Published runs were made on the contents of the store; see detail.indices. `purge=true` (scope admin) deletes it anyway.',
  },
  STORE_LOADING: {
    status: 409,
    help: 'A store is already loading, or the previous one is being read after a restart; retry after `Retry-After` seconds.',
  },
  STORE_REFRESHING: { status: 409, help: 'The store is already refreshing; retry after `Retry-After` seconds.' },
  FOLDER_REGISTERED: {
    status: 409,
    help: 'The folder (or its market file), or the same tables of the database, are already registered as a store.',
  },
  NOTHING_TO_REFRESH: { status: 409, help: 'The store has no source to refresh from.' },
  STORE_NOT_SERVED: {
    status: 409,
    help: 'Answered up to version 0.3.0, where only the active store could be refreshed.',
  },
  STORE_MISMATCH: {
    status: 409,
    help: 'The run was made on a data store that is not active and cannot be read; the message has the reason.',
  },
  JOB_RUNNING: { status: 409, help: 'A job with the id runs with a different request.' },
  RESTATEMENT: {
    status: 409,
    help: 'The run disagrees with published closes; see detail.dates, and detail.largest for the largest change of a level. Nothing was appended.',
  },
  NO_CURRENT_RUN: {
    status: 409,
    help: 'All stored runs of the index are out of date: run it again, or select a run by `run_id`. `detail` has the newest run and the reason.',
  },
  NOT_REPRODUCED: {
    status: 409,
    help: 'The published closes cannot be recomputed from the run and its data; `detail` has the first difference or the reason.',
  },
  PARTIAL_CLOSES: {
    status: 409,
    help: 'Closes to be published use prices of only some securities; see detail.closes. Nothing was appended; `allow_partial` publishes them.',
  },
  PRECONDITION_FAILED: { status: 412, help: 'The stored document does not match If-Match.' },
  VALIDATION_FAILED: { status: 422, help: 'The request or document has errors; see detail.findings.' },
  INVALID_IDENTIFIER: {
    status: 422,
    help: 'An id in the path is not 1 to 64 letters, digits, dashes and underscores.',
  },
  VERSION_NOT_RESTORABLE: {
    status: 422,
    help: 'The version is a deletion, belongs to a data store whose files were deleted, or to one that needs a password again.',
  },
  ID_MISMATCH: { status: 422, help: 'The id in the body differs from the id in the path.' },
  INVALID_RANGE: { status: 422, help: 'The start is after the end.' },
  RANGE_TOO_SHORT: { status: 422, help: 'The range contains fewer sessions than the computation needs.' },
  CALENDAR_NOT_COVERED: { status: 422, help: 'The calendar covers no part of the range.' },
  NO_DATA_IN_RANGE: { status: 422, help: 'The data contains no prices in the range.' },
  PLUGIN_FAILED: {
    status: 422,
    help: 'A plug-in threw an error, exceeded its limit of steps or memory, or did not return a list of values; see detail.',
  },
  NO_DATA_AT_DATE: { status: 422, help: 'There is no data at or before the date.' },
  NO_DATA_KNOWN: {
    status: 422,
    help: 'No version of the data was known at the time, or the version is no longer available.',
  },
  NO_COMMON_DATES: { status: 422, help: 'The series share fewer than two dates.' },
  UNIVERSE_REQUIRED: { status: 422, help: 'Neither identifiers nor an index were given.' },
  EXPIRY_NOT_AFTER_AS_OF: { status: 422, help: 'The expiry is not after the valuation date.' },
  EXPIRY_ORDER: { status: 422, help: 'The back expiry is not after the front expiry.' },
  RATE_OUT_OF_RANGE: {
    status: 422,
    help: 'A rate is larger than 1 in magnitude (probably percent), or a series used as one has a value beyond 100 percent.',
  },
  INDEX_REQUIRED: { status: 422, help: 'Template blocks without an index need one.' },
  TEMPLATE_BUILT_IN: { status: 422, help: 'A built-in template cannot be changed or deleted.' },
  VARIANT_NOT_AVAILABLE: {
    status: 422,
    help: 'The run has no level of the return variant: its prices include dividends, so only the total return exists.',
  },
  TOTAL_LOSS: { status: 422, help: 'A period lost everything, so contributions cannot be linked over it.' },
  INFEASIBLE: { status: 422, help: 'The constraints are infeasible; see detail.conflict.' },
  OBJECTIVE_UNATTAINABLE: {
    status: 422,
    help: 'The constraints are feasible, but no weights within them meet the requirement of the objective.',
  },
  EMPTY_INDEX: { status: 422, help: 'No security passes the rules, or none has a weight, on the first date.' },
  NO_RATE: {
    status: 422,
    help: 'A value of the field of a withholding tax has neither a rate nor a default; see detail.values.',
  },
  FX_MISSING: { status: 422, help: 'The store lacks an exchange rate that the index needs.' },
  RISK_INSUFFICIENT_DATA: { status: 422, help: 'Too few complete observations for a covariance estimate.' },
  LOOK_AHEAD: {
    status: 422,
    help: 'A stored risk model is estimated on returns after the decision it is used for; `detail.observed_end` has its last day. Or decisions on the data known at the time were requested for an index that is rebalanced on breaches.',
  },
  MODEL_LACKS_NAMES: {
    status: 422,
    help: 'A stored risk model has no estimate for a security that it is used for; `detail.identifiers` lists them.',
  },
  QUERY_LIMIT: {
    status: 422,
    help: 'A SQL query exceeds its limit of time, of memory, of the number of runs, or of the size of its result; or an immediate computation, such as a preview, takes longer than MAX_QUERY_SECONDS.',
  },
  NUMERIC_FAILURE: { status: 422, help: 'A result is not finite.' },
  SOLVER_FAILED: { status: 422, help: 'The solver neither solved the problem nor proved it infeasible.' },
  MISSING_PRICE: { status: 422, help: 'A constituent has no price and the treatment requires a failure.' },
  RATE_LIMITED: {
    status: 429,
    help: 'The key has reached its limit of waiting jobs or of requests per second; retry after `Retry-After` seconds.',
  },
  INTERNAL: { status: 500, help: 'A defect of the service; report detail.request_id.' },
  NOT_SUPPORTED: { status: 501, help: 'This build has no driver for the kind.' },
  NO_DATA_SOURCE: {
    status: 503,
    help: 'No data store is active, or the active one could not be read: `detail.error` says why.',
  },
  STORE_UNAVAILABLE: {
    status: 503,
    help: 'The document store does not respond, or the active data store is still loading after a restart; retry after `Retry-After` seconds.',
  },
  OVERLOADED: { status: 503, help: 'The queue or the memory budget is full; retry later.' },
  DRAINING: { status: 503, help: 'The service is stopping.' },
  STORAGE_FULL: { status: 503, help: 'The disk is at its low-water mark; nothing was written.' },
  UNCLASSIFIED_FAILURE: { status: null, help: 'The job failed before codes were recorded.' },
  RISK_MODEL_CHANGED: {
    status: null,
    help: 'A stored risk model was estimated again or deleted while the job that uses it waited; submit it again.',
  },
  WORKER_CRASHED: { status: null, help: 'The job crashed its thread too many times.' },
  JOB_INTERRUPTED: {
    status: null,
    help: 'Attempts of the job ended too often for external reasons: their processes ended, became silent or returned the job.',
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
    help: 'The refresh has a finding listed in fail_on; nothing was stored or activated. See detail.findings.',
  },
  STORE_WRITE_FAILED: { status: null, help: 'The data store could not be written.' },
} as const satisfies Record<string, { status: number | null; help: string }>;

export type ErrorCode = keyof typeof ERRORS;

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
    super(message, options);
    this.code = code;
    this.detail = detail;
  }

  toDetail(): ErrorDetail {
    return { code: this.code, message: this.message, detail: this.detail };
  }
}

/** Returns true if an error means temporary unavailability. */
export const isUnavailable = (thrown: unknown): thrown is Refusal =>
  thrown instanceof Refusal && thrown.code === 'STORE_UNAVAILABLE';

/** Returns a refusal with findings, under one of the 422 codes. Default: `VALIDATION_FAILED`. */
export function refuseWithFindings(
  subject: string,
  findings: readonly Finding[],
  code: ErrorCode = 'VALIDATION_FAILED',
): Refusal {
  const errors = findings.filter(({ severity }) => severity === 'error');
  const counted = errors.filter(({ code, count: stands }) => code !== 'MORE_FINDINGS' || stands !== undefined);
  const total = counted.reduce((sum, { count: stands = 1 }) => sum + stands, 0);
  const count = counted.length < errors.length ? `More than ${total}` : String(total);
  const message = `${count} ${count === '1' ? 'error' : 'errors'} in the ${subject}.`;
  return new Refusal(code, message, { findings: sortFindings(findings) });
}

/** Throws a refusal if any finding is an error. */
export function assertNoErrors(subject: string, findings: readonly Finding[]): void {
  if (hasErrors(findings)) throw refuseWithFindings(subject, findings);
}

import type { Health, HealthCheck } from '#contract/health.js';
import { Refusal, type ErrorCode } from '#domain/refusals/refusal.js';
import type { JobReader, LaneLoad, LaneLoads } from '#jobs/queue.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { FreshnessReader } from './freshness.js';

/**
 * Check of one part of the service. The module of that part registers it. A check must be fast, because it runs at
 * every health request.
 */
export interface Check {
  readonly name: string;
  /** Returns undefined if the part is healthy; otherwise a sentence that describes the problem. */
  readonly look: () => string | undefined;
  /** Returns details about a healthy subject. */
  readonly note?: () => string;
  /** Returns what needs attention about a healthy subject. Returns undefined if nothing does. */
  readonly warn?: (freshness: Health['freshness']) => string | undefined;
  /** Error code of `/health/ready` while the check fails. Absent if the service stays ready. */
  readonly unready?: ErrorCode;
}

export type HealthReport = Omit<Health, 'limits'>;

export interface HealthService {
  /** Version of the running engine. */
  readonly version: string;
  /**
   * Returns the health report without the limits, which never change. Callers in the same turn of the event loop share
   * one response. If a response is ready, no promise is returned.
   */
  health(): HealthReport | Promise<HealthReport>;
  /**
   * Reads the state that the health report shows during an outage, and records changes of it. An outage does not reject
   * this call.
   */
  look(): Promise<void>;
  /** Returns the checks if the service accepts work. @throws Refusal DRAINING, or the code of the first failed check */
  readiness(): readonly HealthCheck[];
}

export interface HealthDependencies {
  readonly version: string;
  readonly build: Health['build'];
  readonly startedAt: Date;
  /** Monotonic clock in milliseconds. */
  readonly monotonic: () => number;
  readonly draining: () => boolean;
  readonly store: () => Promise<Health['store']>;
  /** Compares the data stores in use with their calendars. */
  readonly freshness: FreshnessReader;
  readonly jobs: Pick<JobReader, 'counts' | 'lanes'>;
  /** Returns true if the sources that `read` and `look` use can be reached. */
  readonly isReachable: () => boolean;
  readonly checks: readonly Check[];
}

/** Parts of the health report that come from documents and jobs. */
type StoredHealth = Pick<Health, 'store' | 'jobs' | 'freshness'>;

const NO_LOAD: LaneLoad = { waiting: 0, running: 0, places: 0, oldestSeconds: null };
const UNREAD_HEALTH: StoredHealth = {
  store: { active: null, status: null, end: null, partial_dates: null },
  jobs: { pending: 0, running: 0, lanes: createLanes({ heavy: NO_LOAD, huge: NO_LOAD, light: NO_LOAD }) },
  freshness: [],
};

/** Maximum time that health waits for its sources. */
const READ_MS = 2000;

/** Maximum number of states that health lists. */
const STATES_MAX = 20;

export function createHealth(dependencies: HealthDependencies): HealthService {
  const { version, build, startedAt, monotonic, draining, checks } = dependencies;
  const { read, last } = createReader(dependencies);
  const startedMs = monotonic();
  const startTime = formatTimestamp(startedAt.getTime());
  const runChecks = (): HealthCheck[] =>
    checks.map(({ name, look, note, warn }) => {
      const fault = look();
      const warning = fault === undefined ? warn?.(last.freshness) : undefined;
      const message = fault ?? warning ?? note?.() ?? null;
      return { name, ok: fault === undefined, warning: warning !== undefined, message };
    });
  let states: Health['states'] = [];
  /** Appends a state to the history if it differs from the last one. */
  const noteState = (status: Health['status'], reason: string | null): void => {
    const last = states.at(-1);
    if (last?.status === status && last.reason === reason) return;
    const sinceTime = formatTimestamp(startedAt.getTime() + Math.round(monotonic() - startedMs));
    states = [...states.slice(1 - STATES_MAX), { since: sinceTime, status, reason }];
  };
  const createReport = async (): Promise<HealthReport> => {
    const { store, jobs, freshness } = await read();
    const results = runChecks();
    const reason = findReason(store.active, results);
    const status = reason === null ? 'ok' : 'degraded';
    noteState(status, findCause(reason, results));
    return {
      status,
      reason,
      version,
      build,
      started_at: startTime,
      uptime_seconds: Math.round(monotonic() - startedMs) / 1000,
      store,
      jobs,
      checks: results,
      freshness,
      states,
    };
  };
  let cachedReport: HealthReport | Promise<HealthReport> | undefined;
  return {
    version,
    async look() {
      await createReport();
    },
    health() {
      if (cachedReport !== undefined) return cachedReport;
      const request = createReport();
      cachedReport = request;
      setImmediate(() => (cachedReport = undefined));
      return request.then((healthReport) => {
        if (cachedReport === request) cachedReport = healthReport;
        return healthReport;
      });
    },
    readiness() {
      if (draining()) throw new Refusal('DRAINING', 'The service is stopping.');
      const results = runChecks();
      for (const [i, { ok, name, message }] of results.entries()) {
        const code = checks[i]?.unready;
        if (!ok && code !== undefined)
          throw new Refusal(code, `The check ${name} fails: ${message}`, { checks: results });
      }
      return results;
    },
  };
}

/**
 * Creates a reader of documents and jobs for the health report. If they are unavailable, it returns the previous
 * values.
 */
function createReader({ store, jobs, freshness, isReachable }: HealthDependencies): {
  readonly read: () => Promise<StoredHealth>;
  /** Values that were read last. */
  readonly last: StoredHealth;
} {
  const last = { ...UNREAD_HEALTH };
  async function readStore(): Promise<void> {
    last.store = await store();
    last.freshness = await freshness(last.store);
  }
  async function readJobs(): Promise<void> {
    last.jobs = { ...(await jobs.counts()), lanes: createLanes(await jobs.lanes()) };
  }
  const read = async () => {
    if (!isReachable()) return last;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, READ_MS).unref()));
    try {
      await Promise.race([Promise.all([readStore(), readJobs()]), timeout]);
    } catch (failure) {
      if (!(failure instanceof Refusal)) throw failure; // a check reports the reason
    } finally {
      clearTimeout(timer);
    }
    return last;
  };
  return { read, last };
}

/** Returns the reason why a service is degraded; null if it is not degraded. */
function findReason(active: string | null, checks: readonly HealthCheck[]): string | null {
  const failedNames = checks.filter(({ ok }) => !ok).map(({ name }) => name);
  if (failedNames.length > 0) return `Checks that fail: ${failedNames.join(', ')}.`;
  return active === null ? 'No data store is active.' : null;
}

/** Returns a reason and the messages of the failing checks. A message may change while the reason stays the same. */
function findCause(reason: string | null, checks: readonly HealthCheck[]): string | null {
  const failureMessages = checks.filter(({ ok }) => !ok).map(({ message }) => message);
  return reason === null ? null : [reason, ...failureMessages].join(' ');
}

function createLanes({ heavy, huge, light }: LaneLoads): Health['jobs']['lanes'] {
  const createLane = ({ waiting, running, places, oldestSeconds }: LaneLoad) => ({
    waiting,
    running,
    places,
    oldest_wait_seconds: oldestSeconds,
  });
  return { heavy: createLane(heavy), huge: createLane(huge), light: createLane(light) };
}

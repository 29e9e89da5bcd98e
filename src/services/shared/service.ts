import { compareVersions, parseVersion } from '#base/version.js';
import type {
  ChangelogEntryView,
  ChangelogResponse,
  ChangelogSectionView,
  Health,
  HealthCheck,
} from '#contract/service.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { type ErrorCode, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { formatDay, parseDay, toLocalDay } from '#domain/base/time.js';
import { readIndex } from '#domain/definition/index-validation.js';
import { createStoreFinder } from '#domain/definition/references.js';
import type { JobReader, LaneLoad, LaneLoads } from '#jobs/port/queue.js';
import { formatTimestamp } from '#store/port.js';
import type { Context } from './context.js';
import { readDataset } from './store-documents.js';

export interface Changelog {
  /**
   * Returns the releases of the changelog. @param since returns only releases after this version. @throws Refusal
   * VALIDATION_FAILED if `since` is not a version
   */
  read(since: string | undefined): ChangelogResponse;
}

const UNRELEASED = 'Unreleased';

/** @param text changelog in Markdown, with the headings of Keep a Changelog */
export function createChangelog(text: string, { engineVersion: version }: Context): Changelog {
  const entries = parseChangelog(text).filter((entry) => entry.version === UNRELEASED || entry.sections.length > 0);
  return {
    read(sinceText) {
      if (sinceText === undefined) return { version, entries };
      const floor = parseVersion(sinceText);
      if (floor === undefined) {
        const message = `since must be a semantic version such as ${version}, not ${JSON.stringify(sinceText)}.`;
        throw refuseWithFindings('query', [
          { severity: 'error', code: 'WRONG_TYPE', message, path: 'since', value: sinceText },
        ]);
      }
      const isLater = (entry: ChangelogEntryView) => {
        const release = parseVersion(entry.version);
        return release === undefined || compareVersions(release, floor) > 0;
      };
      return { version, entries: entries.filter(isLater) };
    },
  };
}

type Heading = ChangelogSectionView['heading'];
const HEADINGS: Record<Heading, true> = {
  Added: true,
  Changed: true,
  Fixed: true,
  Removed: true,
  Deprecated: true,
  Security: true,
};
const isHeading = (text: string): text is Heading => Object.hasOwn(HEADINGS, text);

const RELEASE = /^## \[?([^\]\s]+)\]?(?: - (\d{4}-\d{2}-\d{2}))?/;
const SECTION = /^### (\w+)/;
const ITEM = /^[-*] (.*)$/;
const CONTINUATION = /^\s+\S/;

/**
 * Returns the entries in the order of the file, newest first. A section is left out if it has no items or another
 * heading.
 */
export function parseChangelog(text: string): ChangelogEntryView[] {
  const entries: { version: string; date: string | null; sections: { heading: string; items: string[] }[] }[] = [];
  for (const line of text.split('\n')) {
    const release = RELEASE.exec(line);
    const heading = SECTION.exec(line)?.[1];
    const item = ITEM.exec(line)?.[1];
    const items = entries.at(-1)?.sections.at(-1)?.items;
    if (release !== null) entries.push({ version: release[1]!, date: release[2] ?? null, sections: [] });
    else if (heading !== undefined) entries.at(-1)?.sections.push({ heading, items: [] });
    else if (item !== undefined) items?.push(item.trim());
    else if (items !== undefined && items.length > 0 && CONTINUATION.test(line))
      items.push(`${items.pop()} ${line.trim()}`);
  }
  return entries.map(({ sections, ...entry }) => ({ ...entry, sections: sections.flatMap(toSection) }));
}

function toSection({ heading, items }: { readonly heading: string; readonly items: string[] }): ChangelogSectionView[] {
  return isHeading(heading) && items.length > 0 ? [{ heading, items }] : [];
}

type Freshness = Health['freshness'];

/** Function that compares the data stores in use with their calendars. */
type FreshnessReader = (served: Pick<Health['store'], 'active' | 'end'>) => Promise<Freshness>;

/**
 * Maximum age in ms of a comparison. Health is requested every few seconds, and a comparison reads every index; another
 * index or session then appears within a minute.
 */
const KEPT_MS = 60_000;

/**
 * Creates a reader of the newest dates of the served store and of each store that an index names. Each store is compared
 * with the calendars of its indices. A comparison is repeated after a minute, and if the served data changes.
 */
export function createFreshnessReader(context: Context): FreshnessReader {
  toLocalDay('UTC', 0); // the first use of a time zone loads their data for 35 ms, which no request should pay
  let cached: { readonly key: string; readonly until: number; readonly freshness: Freshness } | undefined;
  return async ({ active, end }) => {
    const time = context.now();
    const key = `${active} ${end}`;
    if (cached?.key !== key || cached.until <= time)
      cached = { key, until: time + KEPT_MS, freshness: await compareStores(context, { active, end }, time) };
    return cached.freshness;
  };
}

async function compareStores(
  { documents, calendars }: Context,
  { active, end }: Parameters<FreshnessReader>[0],
  time: number,
): Promise<Freshness> {
  const { documents: indices } = await documents.list('index', readIndex);
  const findStoreOf = createStoreFinder(new Map(indices.map((index) => [index.id, index])));
  const uses = indices.flatMap(({ id, calendar }) => {
    const storeId = findStoreOf(id) ?? active;
    return storeId === null ? [] : [{ storeId, calendar }];
  });
  const { documents: stores } = await documents.list('store', readDataset);
  const ends = new Map(stores.map(({ store_id: id, end: lastDate }) => [id, lastDate]));
  if (active !== null) ends.set(active, end);
  const pairs = new Map(uses.map((use) => [`${use.storeId} ${use.calendar}`, use]));
  return [...pairs]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, { storeId, calendar: code }]) => {
      const calendar = calendars.get(code);
      const dataThrough = ends.get(storeId) ?? null;
      const lastDay = dataThrough === null ? undefined : parseDay(dataThrough);
      if (calendar === undefined || dataThrough === null || lastDay === undefined) return [];
      const { sessions, tz } = calendar;
      const latest = findLastAtMost(sessions, toLocalDay(tz, time) - 1); // the current day may still trade
      const latestDay = sessions[latest];
      if (latestDay === undefined) return [];
      return [
        {
          store_id: storeId,
          calendar: code,
          data_through: dataThrough,
          latest_session: formatDay(latestDay),
          sessions_behind: Math.max(0, latest - findLastAtMost(sessions, lastDay)),
        },
      ];
    });
}

/**
 * Check of one part of the service. The module of that part registers it. A check must be fast, because it runs at
 * every health request.
 */
export interface PartCheck {
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

export interface HealthSources {
  readonly build: Health['build'];
  readonly startedAt: Date;
  /** Monotonic clock in milliseconds. */
  readonly monotonic: () => number;
  readonly draining: () => boolean;
  readonly store: () => Promise<Health['store']>;
  /** Compares the data stores in use with their calendars. */
  readonly freshness: FreshnessReader;
  /** Returns true if the sources that `read` and `look` use can be reached. */
  readonly isReachable: () => boolean;
  readonly checks: readonly PartCheck[];
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

const STATES_MAX = 20;

export function createHealth({ jobs, engineVersion }: Context, sources: HealthSources): HealthService {
  const { build, startedAt, monotonic, draining, checks } = sources;
  const { read, last } = createReader(jobs, sources);
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
      version: engineVersion,
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
    version: engineVersion,
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
function createReader(
  jobs: JobReader,
  { store, freshness, isReachable }: HealthSources,
): {
  readonly read: () => Promise<StoredHealth>;
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

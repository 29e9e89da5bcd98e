import {
  type DataStore,
  type DivisorClient,
  DivisorError,
  type ImportResult,
  type JobKindState,
  type RefreshResult,
} from '#clients/typescript/divisor.js';
import type { FindingCode } from '#domain/base/findings.js';
import type { JobKindName } from '#domain/outputs/jobs.js';
import { UsageError } from '../usage.js';
import { readStandardInput } from './command-line.js';
import { NOTE } from './documents.js';
import { formatFindings, shortenStore } from './import.js';
import {
  computeFindingsStatus,
  createOperationView,
  createViewCommand,
  formatMembers,
  type JobCommand,
  parseFailingCodes,
} from './job-command.js';

const STORE = { name: 'STORE', help: 'Id of a data store.' };

const stores = createOperationView({
  operation: 'listStores',
  summary: 'List the data stores.',
  examples: ['divisor stores'],
  records: (result) => result.stores,
  columns: ['store_id', 'name', 'kind', 'active', 'status', 'identifiers', 'start', 'end'],
});

/** Runs `divisor audit STORE`. Without STORE, the command exports or verifies the audit log. */
export const auditStore = createOperationView({
  operation: 'auditStore',
  summary:
    'List the data warnings of a data store: first the dates with bars of only some securities, then all others by confidence.',
  words: [STORE],
  examples: ['divisor audit desk'],
  records: ({ doubts, partial_dates: partialDates }) => [
    ...partialDates.map(({ code, path, message }) => ({ id: `${code} ${path}`, confidence: 1, repair: null, message })),
    ...doubts
      .map(({ repair, ...doubt }) => ({ ...doubt, repair: repair?.kind ?? null }))
      .toSorted((a, b) => b.confidence - a.confidence),
  ],
  columns: ['id', 'confidence', 'repair', 'message'],
});

const jobs = createOperationView({
  operation: 'listJobs',
  summary: 'List jobs, the newest first.',
  flags: {
    kind: { type: 'string', value: 'KINDS', help: 'Only jobs of these kinds, separated by commas.' },
    status: { type: 'string', value: 'STATES', help: 'Only jobs in these states, separated by commas.' },
    limit: { type: 'number', value: 'N', help: 'Maximum number of rows. Default: 50.', otherwise: 50 },
  },
  examples: ['divisor jobs --kind backtest,render', 'divisor jobs --status failed'],
  records: (result) => result.jobs,
  columns: ['job_id', 'status', 'progress', 'created_at', 'finished_at', 'message'],
});

const watchlists = createOperationView({
  operation: 'listWatchlists',
  summary: 'List the watchlists.',
  examples: ['divisor watchlist list'],
  records: (result) =>
    result.watchlists.map(({ identifiers, unknown: unknownIdentifiers = [], ...rest }) => ({
      ...rest,
      names: identifiers.join(' '),
      unknown: unknownIdentifiers.join(' '),
    })),
  columns: ['watchlist_id', 'name', 'names', 'unknown', 'updated_at'],
});

const putWatchlist = createViewCommand({
  summary: 'Store a watchlist, which definitions can use as their universe.',
  words: [
    { name: 'ID', help: 'Id of the watchlist.' },
    { name: 'NAMES', help: 'Identifiers, separated by commas; - reads them from standard input, one per line.' },
  ],
  flags: { name: { type: 'string', value: 'NAME', help: 'Display name. Default: the id.' }, ...NOTE },
  examples: ['divisor watchlist put favourites AAPL,MSFT,NVDA', 'divisor watchlist put favourites - < names.txt'],
  async ask(client, [watchlist_id = '', names = ''], flags) {
    const identifiers = listNames(names === '-' ? await readStandardInput() : names);
    if (identifiers.length === 0)
      throw new UsageError(
        `${names === '-' ? 'Standard input' : 'NAMES'} contains no identifier; a watchlist needs at least one`,
      );
    const body = { name: flags.text('name') ?? watchlist_id, identifiers };
    const list = await client.call('putWatchlist', { params: { watchlist_id }, body, note: flags.text('note') });
    const unknownIdentifiers = list.unknown ?? [];
    if (unknownIdentifiers.length > 0) process.stderr.write(`divisor: ${describeUnknown(unknownIdentifiers)}\n`);
    return list;
  },
  records: ({ identifiers, unknown: unknownIdentifiers = [] }) =>
    identifiers.map((identifier) => ({ identifier, is_held: !unknownIdentifiers.includes(identifier) })),
});

/** Splits a text into identifiers, by lines or by commas. */
const listNames = (text: string) =>
  text
    .split(/[,\n]/)
    .map((name) => name.trim())
    .filter((name) => name !== '');

/** Maximum number of unknown identifiers to list. */
const UNKNOWN_LISTED_MAX = 20;

function describeUnknown(unknownIdentifiers: readonly string[]): string {
  const hiddenCount = unknownIdentifiers.length - UNKNOWN_LISTED_MAX;
  const list = unknownIdentifiers.slice(0, UNKNOWN_LISTED_MAX).join(', ');
  return `the served store has no ${list}${hiddenCount > 0 ? ` and ${hiddenCount} more` : ''}: the watchlist contains them, but no universe does`;
}

const renders = createOperationView({
  operation: 'listRenders',
  summary: 'List rendered reports, the newest first.',
  flags: {
    index: {
      type: 'string',
      value: 'ID',
      member: 'index_id',
      help: 'Only renders of built-in templates for this index.',
    },
    template: { type: 'string', value: 'ID', member: 'template_id', help: 'Only renders of this template.' },
    limit: { type: 'number', value: 'N', help: 'Maximum number of rows. Default: 50.', otherwise: 50 },
  },
  examples: ['divisor renders --index CORE-100'],
  records: (result) => result.renders,
  columns: ['render_id', 'template_id', 'index_id', 'pages', 'bytes', 'rendered_at'],
});

/** Store, with a mark if it was already served before. */
type ActivatedStore = DataStore & { readonly already_served?: true };

const activate: JobCommand<ActivatedStore> = {
  summary:
    'Serve a data store. The previous store is served until the new store is loaded. The command has no effect if the store is already served.',
  words: [STORE],
  flags: NOTE,
  examples: ['divisor activate desk', 'divisor activate desk --note "The corrected history"'],
  async submit(client, [store_id = ''], flags) {
    try {
      return { job: await client.call('activateStore', { params: { store_id }, note: flags.text('note') }) };
    } catch (refusal) {
      if (!(refusal instanceof DivisorError) || refusal.code !== 'STORE_ACTIVE') throw refusal;
      return { result: { ...(await client.call('getStore', { params: { store_id } })), already_served: true } };
    }
  },
  lines: (store) => ({ event: '', records: [], rest: shortenStore(store) }),
  show: (store) =>
    [
      formatMembers(store, ['store_id', 'identifiers', 'start', 'end', 'content_hash']),
      store.already_served === true ? `The data store ${store.store_id} is already served.\n` : '',
    ].join(''),
};

interface RefreshBody {
  readonly full: boolean;
  readonly until: string | null;
  readonly dry_run: boolean;
  readonly load: true;
  readonly fail_on: FindingCode[];
}

const isSameRequest = (request: unknown, body: RefreshBody): boolean => {
  const { full, until, dry_run: isTrial, fail_on: failOn } = request as Partial<RefreshBody>; // the request body of the job
  return (
    full === body.full &&
    (until ?? null) === body.until &&
    (isTrial ?? false) === body.dry_run &&
    [failOn ?? []].flat().join() === body.fail_on.join()
  );
};

/** Returns the refresh or sync of a store that is running, if any. */
async function findRunningJob(client: DivisorClient, storeId: string) {
  const openRefreshes = ['refresh', 'sync'].map((kind) =>
    client.call('getJob', { params: { job_id: `${kind}:${storeId}` } }).catch(ignoreAbsent),
  );
  return (await Promise.all(openRefreshes)).find((job) => job?.status === 'pending' || job?.status === 'running');
}

/** Ignores a job that does not exist or has failed. Only the end of the job matters here. */
const ignoreAbsent = (failure: unknown): undefined => {
  if (!(failure instanceof DivisorError)) throw failure;
  return undefined;
};

/** Maximum number of starts of a refresh. Each start after the first follows the end of another refresh of the store. */
const STARTS_MAX = 10;

export const refresh: JobCommand<RefreshResult> = {
  summary: 'Refresh a data store from its source, active or not.',
  keepsServed: true,
  words: [STORE],
  flags: {
    full: {
      type: 'boolean',
      help: 'Read every value again and report restatements. Default: read only later dates, and only of securities with an unchanged history or a history restated for a split.',
    },
    until: { type: 'string', value: 'DATE', help: 'Last date to load. Default: the latest date.' },
    'dry-run': { type: 'boolean', help: 'Report the changes of the refresh without storing or serving them.' },
    'fail-on': {
      type: 'string',
      value: 'CODES',
      help: 'Codes of findings, separated by commas, for example PARTIAL_DATE,HISTORY_CHANGED. If a finding has one of these codes, the whole refresh is rejected before anything is stored or served, and the exit status is 3.',
    },
    ...NOTE,
  },
  examples: [
    'divisor refresh desk',
    'divisor refresh desk --dry-run',
    'divisor refresh desk --full',
    'divisor refresh desk --fail-on PARTIAL_DATE,HISTORY_CHANGED',
  ],
  notes:
    'If the same refresh is already running, the command waits for its result. If another refresh of the store is running, the command waits for its end and then starts. A finding about stored dates, such as an incomplete date among the last five dates, does not reject the refresh, but the exit status is still 3.',
  async submit(client, [store_id = ''], flags) {
    const body: RefreshBody = {
      full: flags.isSet('full') ?? false,
      until: flags.text('until') ?? null,
      dry_run: flags.isSet('dry-run') ?? false,
      load: true,
      fail_on: [...parseFailingCodes(flags)],
    };
    for (let starts = 1; ; starts++) {
      try {
        return { job: await client.call('refreshStore', { params: { store_id }, body, note: flags.text('note') }) };
      } catch (failure) {
        const isBusy = failure instanceof DivisorError && failure.code === 'STORE_REFRESHING';
        if (!isBusy || starts === STARTS_MAX) throw failure;
        const job = await findRunningJob(client, store_id);
        if (job?.kind === 'refresh' && isSameRequest(job.request, body))
          return { job: job as typeof job & { readonly result: RefreshResult | null } }; // a refresh job has this result
        // If a service was stopped, its job continues in the process of this command. The command waits, because its
        // exit would stop the job again.
        if (job !== undefined) await client.waitForJob(job).catch(ignoreAbsent);
      }
    }
  },
  notices: ({ findings }) => findings.map(({ code, path, message }) => `${code} ${path}: ${message}`),
  show: (result) =>
    [
      formatMembers(result, [
        'store_id',
        'dry_run',
        'dates_added',
        'rows_added',
        'rows_changed',
        'identifiers_added',
        'rejected_total',
        'start',
        'end',
      ]),
      result.findings.length === 0 ? '' : formatFindings(result.findings),
    ].join(''),
  exitStatus: ({ findings }, flags) => computeFindingsStatus(findings, flags),
};

const repair: JobCommand<ImportResult> = {
  summary: 'Write a new data store in which data warnings are repaired. The old store does not change.',
  words: [STORE],
  flags: {
    doubts: {
      type: 'string',
      value: 'IDS',
      help: 'Ids of data warnings, as listed by divisor audit, separated by commas.',
    },
    confidence: {
      type: 'number',
      value: 'C',
      help: 'Minimum confidence (0 to 1) of the repairs to apply, instead of --doubts.',
    },
    id: { type: 'string', value: 'STORE', help: 'Id of the new store.' },
    activate: { type: 'boolean', help: 'Serve the store.' },
    ...NOTE,
  },
  examples: ['divisor repair desk --confidence 0.95 --id desk-clean --activate'],
  async submit(client, [store_id = ''], flags) {
    const minConfidence = flags.number('confidence');
    const warningKinds = flags.text('doubts');
    if ((minConfidence === undefined) === (warningKinds === undefined))
      throw new UsageError('divisor repair requires either --doubts or --confidence');
    const audit = minConfidence === undefined ? undefined : await client.call('auditStore', { params: { store_id } });
    const warnings =
      warningKinds?.split(',').map((id) => id.trim()) ??
      audit!.doubts.filter((doubt) => doubt.repair !== null && doubt.confidence >= minConfidence!).map(({ id }) => id);
    if (warnings.length === 0) throw new UsageError(`no data warning of ${store_id} has a repair with this confidence`);
    const body = { doubts: warnings, store_id: flags.text('id'), activate: flags.isSet('activate') ?? false };
    return { result: await client.call('repairStore', { params: { store_id }, body, note: flags.text('note') }) };
  },
  show: ({ store }) => formatMembers(store, ['store_id', 'identifiers', 'start', 'end', 'content_hash']),
};

/** Parses a kind of job. @param name name of the word or flag, for the error @throws UsageError */
async function requireKind(name: string, text: string): Promise<JobKindName> {
  // Loaded only when needed: the job kinds import every payload.
  const { JOB_KINDS } = await import('#domain/outputs/jobs.js');
  const kind = JOB_KINDS.find((jobKind) => jobKind === text.trim());
  if (kind === undefined) throw new UsageError(`${name} must be one of ${JOB_KINDS.join(', ')}, not ${text}`);
  return kind;
}

const KIND = { name: 'KIND', help: 'Kind of job, such as sweep.' };

const jobKinds = createOperationView({
  operation: 'listJobKinds',
  summary: 'List the kinds of jobs, and show which kinds are paused.',
  examples: ['divisor jobs kinds'],
  records: ({ kinds }) => kinds.map(toRecord),
});

const pauseKind = createViewCommand({
  summary: 'Stop starting jobs of a kind. Running jobs continue.',
  words: [KIND],
  flags: { reason: { type: 'string', value: 'TEXT', help: 'Reason, which is shown with the kind.' } },
  examples: ['divisor jobs pause sweep --reason "month end"'],
  ask: async (client, [kind = ''], flags) =>
    client.call('pauseJobKind', {
      params: { job_kind: await requireKind('KIND', kind) },
      body: { reason: flags.text('reason') ?? null },
    }),
  records: (state) => [toRecord(state)],
});

const resumeKind = createViewCommand({
  summary: 'Start jobs of a paused kind again.',
  words: [KIND],
  examples: ['divisor jobs resume sweep'],
  ask: async (client, [kind = '']) =>
    client.call('resumeJobKind', { params: { job_kind: await requireKind('KIND', kind) } }),
  records: (state) => [toRecord(state)],
});

const toRecord = ({ kind, lane, pause }: JobKindState) => ({
  kind,
  lane,
  paused_at: pause?.paused_at ?? null,
  author: pause?.author ?? null,
  reason: pause?.reason ?? null,
});

/** Matches a date. It means midnight UTC at the start of the day. */
const DATE = /^\d{4}-\d{2}-\d{2}$/;

const retryJobs = createViewCommand({
  summary: 'Queue failed jobs again, each with its stored input.',
  flags: {
    failed: { type: 'boolean', help: 'Select failed jobs (required).' },
    kind: { type: 'string', value: 'KINDS', help: 'Only jobs of these kinds, separated by commas.' },
    since: {
      type: 'string',
      value: 'TIME',
      help: 'Only jobs that failed at or after this time: a date, or a time with an offset. Default: no limit.',
    },
    limit: { type: 'number', value: 'N', help: 'Maximum number of jobs, the newest first. Default: 500.' },
  },
  examples: ['divisor jobs retry --failed --kind backtest,sweep --since 2024-06-28'],
  async ask(client, _words, flags) {
    if (!flags.isSet('failed')) throw new UsageError('divisor jobs retry requires --failed');
    const sinceTime = flags.text('since');
    const kinds = flags.text('kind')?.split(',');
    const body = {
      kinds: kinds && (await Promise.all(kinds.map((text) => requireKind('--kind', text)))),
      since: sinceTime !== undefined && DATE.test(sinceTime) ? `${sinceTime}T00:00:00Z` : sinceTime,
      limit: flags.number('limit'),
    };
    return client.call('retryJobs', { body });
  },
  records: ({ retried, refused }) => [
    ...retried.map((job_id) => ({ job_id, outcome: 'queued', message: null })),
    ...refused.map(({ job_id, code, message }) => ({ job_id, outcome: code, message })),
  ],
  notices: ({ is_complete: isComplete }) => (isComplete ? [] : ['More failed jobs match: run the command again.']),
});

export const STORE_COMMANDS = {
  stores,
  activate,
  refresh,
  repair,
  jobs,
  'jobs retry': retryJobs,
  'jobs kinds': jobKinds,
  'jobs pause': pauseKind,
  'jobs resume': resumeKind,
  renders,
};

export const WATCHLIST_COMMANDS = {
  'watchlist list': watchlists,
  'watchlist put': putWatchlist,
};

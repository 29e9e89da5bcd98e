import {
  type DataStore,
  type DivisorClient,
  DivisorError,
  type ImportResult,
  type JobKindState,
  type RefreshResult,
  type ChangedOverrides,
  type DataDifference,
  type DataVersions,
  type DeskAction,
  type DeskDecisionRequest,
} from '#clients/typescript/divisor.js';
import type { FindingCode } from '#domain/base/findings.js';
import type { JobKindName } from '#domain/outputs/jobs.js';
import { UsageError } from '../usage.js';
import { readStandardInput } from './command-line.js';
import { NOTE, ALL_VERSIONS } from './documents.js';
import { formatFindings, shortenStore } from './import.js';
import {
  computeFindingsStatus,
  createOperationView,
  createViewCommand,
  formatMembers,
  type JobCommand,
  parseFailingCodes,
} from './job-command.js';
import { formatCount } from '#domain/base/numbers.js';
import { DESK_STATES } from '#domain/definition/action-desk.js';

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
    kind: { value: 'KINDS', help: 'Only jobs of these kinds, separated by commas.' },
    status: { value: 'STATES', help: 'Only jobs in these states, separated by commas.' },
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
  flags: { name: { value: 'NAME', help: 'Display name. Default: the id.' }, ...NOTE },
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
    index: { value: 'ID', member: 'index_id', help: 'Only renders of built-in templates for this index.' },
    template: { value: 'ID', member: 'template_id', help: 'Only renders of this template.' },
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
    until: { value: 'DATE', help: 'Last date to load. Default: the latest date.' },
    'dry-run': { type: 'boolean', help: 'Report the changes of the refresh without storing or serving them.' },
    'fail-on': {
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
    doubts: { value: 'IDS', help: 'Ids of data warnings, as listed by divisor audit, separated by commas.' },
    confidence: {
      type: 'number',
      value: 'C',
      help: 'Minimum confidence (0 to 1) of the repairs to apply, instead of --doubts.',
    },
    id: { value: 'STORE', help: 'Id of the new store.' },
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
  flags: { reason: { value: 'TEXT', help: 'Reason, which is shown with the kind.' } },
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
    kind: { value: 'KINDS', help: 'Only jobs of these kinds, separated by commas.' },
    since: {
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

const ACTION = { name: 'ACTION', help: 'Id of a corporate action.' };
const COLUMNS = ['action_id', 'ex_date', 'identifier', 'type', 'value', 'state', 'flags'];
const createRow = ({ flags, ...action }: DeskAction) => ({ ...action, flags: flags.join(' ') });
const formatHistory = ({ decisions }: DeskAction): string[] =>
  decisions.map(
    ({ at, author, decision, comment }) => `${at} ${author} ${decision}${comment === null ? '' : `: ${comment}`}`,
  );

const deskActions = createOperationView({
  operation: 'listActions',
  summary: 'List coming and recent corporate actions with their state and flags.',
  fixed: { limit: 1000 },
  flags: {
    from: { value: 'DATE', help: 'First ex-date. Default: 10 days before the last session.' },
    to: { value: 'DATE', help: 'Last ex-date. Default: 90 days after the last session.' },
    state: { value: 'STATE', help: `One of ${DESK_STATES.join(', ')}. Default: all.` },
    security: { value: 'ID', member: 'identifier', help: 'Security. Default: all.' },
    flagged: { type: 'boolean', otherwise: false, help: 'Only actions with flags.' },
  },
  examples: ['divisor action list --state new', 'divisor action list --flagged'],
  records: ({ actions }) => actions.map(createRow),
  columns: COLUMNS,
  notices: ({ actions, total }) =>
    total > actions.length ? [`${total - actions.length} more; narrow the dates.`] : [],
});

const deskAction = createOperationView({
  operation: 'getAction',
  summary: 'Show the effect of a corporate action on each index, before and after.',
  words: [ACTION],
  examples: ['divisor action show 4be1c0ffee4be1c0ffee'],
  records: ({ effects }) => effects,
  notices: (action) => [
    `${action.type} of ${action.identifier} on ${action.ex_date}, ${action.value}: ${action.state}`,
    ...action.flags,
    ...formatHistory(action),
  ],
});

function createDecisionCommand(verb: string, decision: DeskDecisionRequest['decision'], summary: string) {
  return createViewCommand({
    summary,
    words: [ACTION],
    flags: {
      comment: { value: 'TEXT', help: 'Comment, for the history and the audit log.' },
      source: { value: 'NAME', help: 'Other source with which the action was compared.' },
      value: { type: 'number', value: 'X', help: 'Value in the other source.' },
    },
    examples: [`divisor action ${verb} 4be1c0ffee4be1c0ffee --source "Notice of the issuer" --value 2`],
    ask(client: DivisorClient, [action_id = ''], flags) {
      const name = flags.text('source');
      const sources = name === undefined ? [] : [{ name, value: flags.number('value') ?? null, ex_date: null }];
      const body = { decision, sources, comment: flags.text('comment') ?? null };
      return client.call('decideAction', { params: { action_id }, body });
    },
    records: (action) => [createRow(action)],
    columns: COLUMNS,
    notices: formatHistory,
  });
}

const confirmAction = createDecisionCommand(
  'confirm',
  'confirmed',
  'Confirm a corporate action with its current terms.',
);
const rejectAction = createDecisionCommand('reject', 'rejected', 'Reject a corporate action.');
const reopenAction = createDecisionCommand('reopen', 'reopened', 'Return a corporate action to the queue.');

const closures = createOperationView({
  operation: 'listClosures',
  summary: 'List calendars with recorded changes of their sessions.',
  examples: ['divisor closure list'],
  records: ({ calendars }) =>
    calendars.map((calendarClosures) => ({ ...calendarClosures, changes: calendarClosures.changes.length })),
  columns: ['calendar', 'name', 'version', 'changes', 'updated_at'],
});

const showClosures = createOperationView({
  operation: 'getClosures',
  summary: 'Show the recorded changes of a calendar: closures, half days, late openings, additional sessions.',
  words: [{ name: 'CODE', help: 'Code of the calendar.' }],
  examples: ['divisor closure show XNYS'],
  records: ({ changes }) => changes,
  columns: ['date', 'session', 'opens', 'closes', 'reason'],
});

const recordClosures = createOperationView({
  operation: 'putClosures',
  summary: 'Record the changes of a calendar, and show their effect. They replace all changes recorded before.',
  words: [
    { name: 'CODE', help: 'Code of the calendar.' },
    { name: 'FILE', help: 'Changes as JSON; - reads standard input.', isBody: true },
  ],
  flags: {
    ...NOTE,
    'dry-run': { type: 'boolean', otherwise: false, help: 'Only show the effect of the changes.' },
  },
  examples: [
    'divisor closure put XNYS changes.json --dry-run',
    'divisor closure put XNYS changes.json --note "Notice of the exchange"',
  ],
  records: ({ effect }) =>
    effect.indices.map(({ index_id, before, after, published, unpublished, stale }) => ({
      index_id,
      moved: before.map(({ date }) => date).join(' '),
      to: after.map(({ date }) => date).join(' '),
      published: published.join(' '),
      unpublished: unpublished.join(' '),
      stale: stale.join(' '),
    })),
  columns: ['index_id', 'moved', 'to', 'published', 'unpublished', 'stale'],
  notices: ({ dry_run: isDry, version, effect }) => [
    isDry ? 'Nothing was stored.' : `Stored as version ${version}.`,
    ...formatDates('Sessions lost', effect.removed),
    ...formatDates('Sessions added', effect.added),
    ...formatDates('Other hours', effect.hours),
    ...effect.schedules.flatMap(({ schedule_id: id, ended, missing }) => [
      ...formatDates(`Days of ${id} that end`, ended),
      ...formatDates(`Days of ${id} to backfill`, missing),
    ]),
  ],
});

const formatDates = (label: string, dates: readonly string[]): string[] =>
  dates.length === 0 ? [] : [`${label}: ${dates.join(', ')}.`];

const NAME = { name: 'NAME', help: 'Identifier of a security, or of a series.' };
const START = { value: 'DATE', help: 'First date. Default: the first date of the store.' } as const;
const END = { value: 'DATE', help: 'Last date. Default: the last date of the store.' } as const;
const LIMIT = { type: 'number', value: 'N', help: 'Maximum number of rows. Default: 1000.', otherwise: 1000 } as const;

const prices = createOperationView({
  operation: 'getPrices',
  summary: 'Print market data of one security by date.',
  words: [NAME],
  flags: {
    start: START,
    end: END,
    columns: { value: 'A,B', isList: true, help: 'Columns, separated by commas. Default: all.' },
    interval: {
      value: 'native|weekly|monthly',
      choices: ['native', 'weekly', 'monthly'],
      help: 'Frequency of the bars: daily, weekly or monthly.',
    },
    adjust: {
      value: 'none|splits|total',
      choices: ['none', 'splits', 'total'],
      help: 'Price adjustment: as stored, adjusted for later splits, or also adjusted for dividends.',
    },
  },
  examples: ['divisor data prices AAPL --start 2024-01-02', 'divisor data prices AAPL --columns CLOSE --csv'],
  records: ({ prices: { index, columns, data } }) =>
    index.map((date, t) => ({ date, ...Object.fromEntries(columns.map((name, c) => [name, data[t]![c]!])) })),
});

const reference = createOperationView({
  operation: 'getAssetReferences',
  summary: 'Print reference data of securities on one date.',
  words: [{ name: 'NAMES', help: 'Identifiers, separated by commas.', isList: true, member: 'identifiers' }],
  flags: {
    fields: { value: 'A,B', isList: true, help: 'Columns and datapoints, separated by commas.' },
    'as-of': { value: 'DATE', help: 'Date. Default: the latest date of the store.' },
  },
  examples: ['divisor data reference AAPL,MSFT --fields SECTOR,MARKET_CAP'],
  records: ({ entries }) => entries.map(({ identifier, found, fields }) => ({ identifier, found, ...fields })),
});

const actions = createOperationView({
  operation: 'getCorporateActions',
  summary: 'List the corporate actions of one security.',
  words: [NAME],
  flags: { start: START, end: END },
  examples: ['divisor data actions AAPL'],
  records: (answer) => answer.actions,
});

const names = createOperationView({
  operation: 'searchIdentifiers',
  summary: 'List the securities of the served store, with their first and last dates.',
  flags: {
    find: { value: 'TEXT', member: 'q', help: 'Only identifiers that contain this text.' },
    limit: LIMIT,
  },
  examples: ['divisor data names --find energy'],
  records: ({ identifiers }) => identifiers,
  notices: ({ next }) => (next === null ? [] : [`more rows follow, from ${next}`]),
});

const series = createOperationView({
  operation: 'listSeries',
  summary: 'List the series of the served store: benchmarks, rates and currencies, which are never constituents.',
  examples: ['divisor data series'],
  records: (answer) => answer.series,
  notices: ({ next }) => (next === null ? [] : [`more rows follow, from ${next}`]),
});

const fields = createOperationView({
  operation: 'listFields',
  summary: 'List the datapoints that rules can use, and their sources.',
  examples: ['divisor data fields'],
  records: (answer) => answer.fields,
});

const OVERRIDE_STORE = { name: 'STORE', help: 'Id of the data store.' };
const PRICE_ARGUMENTS = [
  OVERRIDE_STORE,
  { name: 'SECURITY', help: 'Security.', member: 'identifier' },
  { name: 'DATE', help: 'Session of the price.', member: 'date' },
];
const OVERRIDES_COLUMNS = ['date', 'identifier', 'price', 'source_price', 'author', 'at', 'reason'];
const REASON = {
  reason: { value: 'TEXT', help: 'Reason, including the source of the price (required).' },
} as const;

const overrides = createOperationView({
  operation: 'listPriceOverrides',
  summary: 'List the prices of a data store that people have overridden.',
  words: [OVERRIDE_STORE],
  examples: ['divisor override list us'],
  records: ({ overrides: priceOverrides }) => priceOverrides,
  columns: OVERRIDES_COLUMNS,
});

const listNotices = ({ job_id: id }: ChangedOverrides): string[] => [
  id === null ? 'The next refresh applies it.' : `The job ${id} applies it.`,
];

const overridePrice = createOperationView({
  operation: 'overridePrice',
  summary: 'Override a price of a data store; the source is not changed.',
  words: PRICE_ARGUMENTS,
  flags: {
    price: { type: 'number', value: 'X', help: 'CLOSE that replaces the price of the source (required).' },
    ...REASON,
  },
  examples: ['divisor override put us NECZ 2024-12-31 --price 46.27 --reason "Closing price of the exchange"'],
  records: ({ overrides: priceOverrides }) => priceOverrides,
  columns: OVERRIDES_COLUMNS,
  notices: listNotices,
});

const withdrawOverride = createOperationView({
  operation: 'overridePrice',
  fixed: { price: null },
  summary: 'Withdraw the override of a price. The price of the source then applies again.',
  words: PRICE_ARGUMENTS,
  flags: REASON,
  examples: ['divisor override withdraw us NECZ 2024-12-31 --reason "The vendor corrected its file"'],
  records: ({ overrides: priceOverrides }) => priceOverrides,
  columns: OVERRIDES_COLUMNS,
  notices: listNotices,
});

const dataVersions = createOperationView({
  operation: 'listDataVersions',
  summary: 'List the versions of a data store: time, author and changed rows.',
  words: [STORE],
  fixed: ALL_VERSIONS,
  examples: ['divisor data versions desk'],
  records: (result) => result.versions,
  columns: [
    'version',
    'known_at',
    'source',
    'rows_added',
    'rows_changed',
    'rows_removed',
    'author',
    'note',
    'readable',
  ],
  notices: ({ copy }: DataVersions) => (copy === null || copy === 'made' ? [] : [COPIES[copy]]),
});

const COPIES = {
  pending: 'the copy of the latest data is pending; until it exists, only the source can restore the data',
  missing: 'there is no copy of the latest data; only the source can restore it',
} as const;

const dataDifference = createOperationView({
  operation: 'diffDataVersions',
  summary: 'List the values that differ between two versions of the data.',
  words: [
    STORE,
    { name: 'FROM', help: 'Number of a version.', member: 'from' },
    { name: 'TO', help: 'Number of another version.', member: 'to' },
  ],
  flags: {
    appended: { type: 'boolean', help: 'Also list bars after the last session of FROM.' },
    limit: { type: 'number', value: 'N', help: 'Maximum number of values. Default: 100.', otherwise: 100 },
  },
  examples: ['divisor data diff desk 2 3', 'divisor data diff desk 2 3 --appended'],
  records: (result) => result.changes,
  columns: ['table', 'identifier', 'date', 'field', 'before', 'after'],
  notices: ({ cells, appended }: DataDifference) => [
    `${cells} values of earlier rows differ`,
    ...(appended === null
      ? []
      : [
          `${formatCount(appended.rows, 'bar')} of ${formatCount(appended.sessions, 'session')} appended, ${appended.start} to ${appended.end}`,
        ]),
  ],
});

export const DATA_COMMANDS = {
  'data names': names,
  'data prices': prices,
  'data reference': reference,
  'data actions': actions,
  'data series': series,
  'data fields': fields,
  'data versions': dataVersions,
  'data diff': dataDifference,
};

export const ACTION_COMMANDS = {
  'action list': deskActions,
  'action show': deskAction,
  'action confirm': confirmAction,
  'action reject': rejectAction,
  'action reopen': reopenAction,
};

export const OVERRIDE_COMMANDS = {
  'override list': overrides,
  'override put': overridePrice,
  'override withdraw': withdrawOverride,
  'closure list': closures,
  'closure show': showClosures,
  'closure put': recordClosures,
};

import type {
  ChangedOverrides,
  DataDifference,
  DataVersions,
  DeskAction,
  DeskDecisionRequest,
  DivisorClient,
} from '#clients/typescript/divisor.js';
import { formatCount } from '#domain/base/numbers.js';
import { DESK_STATES } from '#domain/definition/action-desk.js';
import { ALL_VERSIONS, NOTE } from './documents.js';
import { createOperationView, createViewCommand } from './job-command.js';

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
    from: { type: 'string', value: 'DATE', help: 'First ex-date. Default: 10 days before the last session.' },
    to: { type: 'string', value: 'DATE', help: 'Last ex-date. Default: 90 days after the last session.' },
    state: { type: 'string', value: 'STATE', help: `One of ${DESK_STATES.join(', ')}. Default: all.` },
    security: { type: 'string', value: 'ID', member: 'identifier', help: 'Security. Default: all.' },
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
      comment: { type: 'string', value: 'TEXT', help: 'Comment, for the history and the audit log.' },
      source: { type: 'string', value: 'NAME', help: 'Other source with which the action was compared.' },
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
const START = { type: 'string', value: 'DATE', help: 'First date. Default: the first date of the store.' } as const;
const END = { type: 'string', value: 'DATE', help: 'Last date. Default: the last date of the store.' } as const;
const LIMIT = { type: 'number', value: 'N', help: 'Maximum number of rows. Default: 1000.', otherwise: 1000 } as const;

const prices = createOperationView({
  operation: 'getPrices',
  summary: 'Print market data of one security by date.',
  words: [NAME],
  flags: {
    start: START,
    end: END,
    columns: { type: 'string', value: 'A,B', isList: true, help: 'Columns, separated by commas. Default: all.' },
    interval: {
      type: 'string',
      value: 'native|weekly|monthly',
      choices: ['native', 'weekly', 'monthly'],
      help: 'Frequency of the bars: daily, weekly or monthly.',
    },
    adjust: {
      type: 'string',
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
    fields: { type: 'string', value: 'A,B', isList: true, help: 'Columns and datapoints, separated by commas.' },
    'as-of': { type: 'string', value: 'DATE', help: 'Date. Default: the latest date of the store.' },
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
    find: { type: 'string', value: 'TEXT', member: 'q', help: 'Only identifiers that contain this text.' },
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

const STORE = { name: 'STORE', help: 'Id of the data store.' };
const PRICE_ARGUMENTS = [
  STORE,
  { name: 'SECURITY', help: 'Security.', member: 'identifier' },
  { name: 'DATE', help: 'Session of the price.', member: 'date' },
];
const OVERRIDES_COLUMNS = ['date', 'identifier', 'price', 'source_price', 'author', 'at', 'reason'];
const REASON = {
  reason: { type: 'string', value: 'TEXT', help: 'Reason, including the source of the price (required).' },
} as const;

const overrides = createOperationView({
  operation: 'listPriceOverrides',
  summary: 'List the prices of a data store that people have overridden.',
  words: [STORE],
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

const DATA_STORE = { name: 'STORE', help: 'Id of a data store.' };

const dataVersions = createOperationView({
  operation: 'listDataVersions',
  summary: 'List the versions of a data store: time, author and changed rows.',
  words: [DATA_STORE],
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
    DATA_STORE,
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

import { createViewCommand } from './view-command.js';

const NAME = { name: 'NAME', help: 'Identifier of a security, or of a series.' };
const START = { type: 'string', value: 'DATE', help: 'First date. Default: the first date of the store.' } as const;
const END = { type: 'string', value: 'DATE', help: 'Last date. Default: the last date of the store.' } as const;
const LIMIT = { type: 'number', value: 'N', help: 'Maximum number of rows. Default: 1000.' } as const;
/** Maximum number of rows in one response of a listing. */
const ROWS_MAX = 1000;

const splitList = (text: string | undefined) => text?.split(',');

export const prices = createViewCommand({
  summary: 'Print market data of one security by date.',
  words: [NAME],
  flags: {
    start: START,
    end: END,
    columns: { type: 'string', value: 'A,B', help: 'Columns, separated by commas. Default: all.' },
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
  ask: (client, [identifier = ''], flags) =>
    client.call('getPrices', {
      params: { identifier },
      query: {
        start: flags.text('start'),
        end: flags.text('end'),
        columns: splitList(flags.text('columns')),
        interval: flags.text<'native' | 'weekly' | 'monthly'>('interval'),
        adjust: flags.text<'none' | 'splits' | 'total'>('adjust'),
      },
    }),
  records: ({ prices: { index, columns, data } }) =>
    index.map((date, t) => ({ date, ...Object.fromEntries(columns.map((name, c) => [name, data[t]![c]!])) })),
});

export const reference = createViewCommand({
  summary: 'Print reference data of securities on one date.',
  words: [{ name: 'NAMES', help: 'Identifiers, separated by commas.', isList: true }],
  flags: {
    fields: { type: 'string', value: 'A,B', help: 'Columns and datapoints, separated by commas.' },
    'as-of': { type: 'string', value: 'DATE', help: 'Date. Default: the latest date of the store.' },
  },
  examples: ['divisor data reference AAPL,MSFT --fields SECTOR,MARKET_CAP'],
  ask: (client, [names = ''], flags) =>
    client.call('getAssetReferences', {
      query: {
        identifiers: names.split(','),
        fields: splitList(flags.text('fields')),
        as_of: flags.text('as-of'),
      },
    }),
  records: ({ entries }) => entries.map(({ identifier, found, fields }) => ({ identifier, found, ...fields })),
});

export const actions = createViewCommand({
  summary: 'List the corporate actions of one security.',
  words: [NAME],
  flags: { start: START, end: END },
  examples: ['divisor data actions AAPL'],
  ask: (client, [identifier = ''], flags) =>
    client.call('getCorporateActions', {
      params: { identifier },
      query: { start: flags.text('start'), end: flags.text('end') },
    }),
  records: (answer) => answer.actions,
});

export const names = createViewCommand({
  summary: 'List the securities of the served store, with their first and last dates.',
  words: [],
  flags: { find: { type: 'string', value: 'TEXT', help: 'Only identifiers that contain this text.' }, limit: LIMIT },
  examples: ['divisor data names --find energy'],
  ask: (client, _words, flags) =>
    client.call('searchIdentifiers', { query: { q: flags.text('find'), limit: flags.number('limit') ?? ROWS_MAX } }),
  records: ({ identifiers }) => identifiers,
  notices: ({ next }) => (next === null ? [] : [`more rows follow, from ${next}`]),
});

export const series = createViewCommand({
  summary: 'List the series of the served store: benchmarks, rates and currencies, which are never constituents.',
  words: [],
  flags: {},
  examples: ['divisor data series'],
  ask: (client) => client.call('listSeries', {}),
  records: (answer) => answer.series,
  notices: ({ next }) => (next === null ? [] : [`more rows follow, from ${next}`]),
});

export const fields = createViewCommand({
  summary: 'List the datapoints that rules can use, and their sources.',
  words: [],
  flags: {},
  examples: ['divisor data fields'],
  ask: (client) => client.call('listFields', {}),
  records: (answer) => answer.fields,
});

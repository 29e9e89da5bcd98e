import type { ChangedOverrides, DivisorClient, PriceOverrideRequest } from '#clients/typescript/divisor.js';
import { createViewCommand } from './view-command.js';

const STORE = { name: 'STORE', help: 'Id of the data store.' };
const PRICE_ARGUMENTS = [
  STORE,
  { name: 'SECURITY', help: 'Security.' },
  { name: 'DATE', help: 'Session of the price.' },
];
const COLUMNS = ['date', 'identifier', 'price', 'source_price', 'author', 'at', 'reason'];
const REASON = {
  reason: { type: 'string', value: 'TEXT', help: 'Reason, including the source of the price (required).' },
} as const;

export const overrides = createViewCommand({
  summary: 'List the prices of a data store that people have overridden.',
  words: [STORE],
  flags: {},
  examples: ['divisor override list us'],
  ask: (client, [store_id = '']) => client.call('listPriceOverrides', { params: { store_id } }),
  records: ({ overrides: priceOverrides }) => priceOverrides,
  columns: COLUMNS,
});

interface OverrideTerms {
  readonly price: number | null | undefined;
  readonly reason: string | undefined;
}

const change = (
  client: DivisorClient,
  [store_id = '', identifier = '', date = '']: readonly string[],
  overrideTerms: OverrideTerms,
) =>
  client.call('overridePrice', {
    params: { store_id },
    // The service refuses a request that has no price or no reason.
    body: { identifier, date, ...overrideTerms } as PriceOverrideRequest,
  });

const listNotices = ({ job_id: id }: ChangedOverrides): string[] => [
  id === null ? 'The next refresh applies it.' : `The job ${id} applies it.`,
];

export const overridePrice = createViewCommand({
  summary: 'Override a price of a data store; the source is not changed.',
  words: PRICE_ARGUMENTS,
  flags: {
    price: { type: 'number', value: 'X', help: 'CLOSE that replaces the price of the source (required).' },
    ...REASON,
  },
  examples: ['divisor override put us NECZ 2024-12-31 --price 46.27 --reason "Closing price of the exchange"'],
  ask: (client, words, flags) => change(client, words, { price: flags.number('price'), reason: flags.text('reason') }),
  records: ({ overrides: priceOverrides }) => priceOverrides,
  columns: COLUMNS,
  notices: listNotices,
});

export const withdrawOverride = createViewCommand({
  summary: 'Withdraw the override of a price. The price of the source then applies again.',
  words: PRICE_ARGUMENTS,
  flags: REASON,
  examples: ['divisor override withdraw us NECZ 2024-12-31 --reason "The vendor corrected its file"'],
  ask: (client, words, flags) => change(client, words, { price: null, reason: flags.text('reason') }),
  records: ({ overrides: priceOverrides }) => priceOverrides,
  columns: COLUMNS,
  notices: listNotices,
});

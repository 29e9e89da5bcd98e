import { fraction, money, number, text, type ExportTable } from '../exports/export-table.js';

/** Table of the orders of a pack. Money is in the currency of the index. */
export const ORDERS = {
  help: 'The orders of every account.',
  row: 'an order, by account then identifier',
  columns: {
    account: text('Name of the account.'),
    identifier: text('Identifier of the security.'),
    side: text('`buy` or `sell`.'),
    shares: number('Number of shares traded, in whole lots.', 'shares'),
    price: money('Price per share.'),
    value: money('Traded.'),
    weight_before: fraction('Weight in the value before the trades.'),
    weight_target: fraction('Wanted.'),
    weight_after: fraction('Weight in the value after trades and costs.'),
    adv_shares: number('Mean volume; null if unknown.', 'shares'),
    adv_share: fraction('Traded shares divided by the mean volume; null if unknown.'),
    days_to_trade: number('Number of days at the requested participation; null without a volume.', 'days'),
    cost: money('Expected.'),
    reason: text('`add`, `delete` or `reweight`.'),
  },
} as const satisfies ExportTable;

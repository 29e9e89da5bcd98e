import { createFractionColumn, createMoneyColumn, number, text, type ExportTable } from '../exports/export-table.js';

/** Table of the orders of a pack. Money is in the currency of the index. */
export const ORDERS = {
  help: 'The orders of every account.',
  row: 'an order, by account then identifier',
  columns: {
    account: text('Name of the account.'),
    identifier: text('Identifier of the security.'),
    side: text('`buy` or `sell`.'),
    shares: number('Number of shares traded, in whole lots.', 'shares'),
    price: createMoneyColumn('Price per share.'),
    value: createMoneyColumn('Traded.'),
    weight_before: createFractionColumn('Weight in the value before the trades.'),
    weight_target: createFractionColumn('Wanted.'),
    weight_after: createFractionColumn('Weight in the value after trades and costs.'),
    adv_shares: number('Mean volume; null if unknown.', 'shares'),
    adv_share: createFractionColumn('Shares traded over the mean volume; null if unknown.'),
    days_to_trade: number('Days at the requested participation; null without a volume.', 'days'),
    cost: createMoneyColumn('Expected.'),
    reason: text('`add`, `delete` or `reweight`.'),
  },
} as const satisfies ExportTable;

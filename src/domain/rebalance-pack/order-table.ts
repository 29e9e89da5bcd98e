import {
  createFractionColumn,
  createMoneyColumn,
  createNumberColumn,
  createTextColumn,
  type ExportTable,
} from '../exports/export-table.js';

/** Table of the orders of a pack. Money is in the currency of the index. */
export const ORDERS = {
  help: 'The orders of every account.',
  row: 'an order, by account then identifier',
  columns: {
    account: createTextColumn('Name of the account.'),
    identifier: createTextColumn('Identifier of the security.'),
    side: createTextColumn('`buy` or `sell`.'),
    shares: createNumberColumn('Number of shares traded, in whole lots.', 'shares'),
    price: createMoneyColumn('Price per share.'),
    value: createMoneyColumn('Traded.'),
    weight_before: createFractionColumn('Weight in the value before the trades.'),
    weight_target: createFractionColumn('Wanted.'),
    weight_after: createFractionColumn('Weight in the value after trades and costs.'),
    adv_shares: createNumberColumn('Mean volume; null if unknown.', 'shares'),
    adv_share: createFractionColumn('Traded shares divided by the mean volume; null if unknown.'),
    days_to_trade: createNumberColumn('Number of days at the requested participation; null without a volume.', 'days'),
    cost: createMoneyColumn('Expected.'),
    reason: createTextColumn('`add`, `delete` or `reweight`.'),
  },
} as const satisfies ExportTable;

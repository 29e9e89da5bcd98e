import { fraction, money, number, text, type ExportTable } from '../exports/export-table.js';

/** The orders of a pack as a table. Money is in the currency of the index. */
export const ORDERS = {
  help: 'The orders of every account.',
  row: 'an order, by account then identifier',
  columns: {
    account: text('The account.'),
    identifier: text('The name.'),
    side: text('`buy` or `sell`.'),
    shares: number('Traded, whole lots.', 'shares'),
    price: money('Of a share.'),
    value: money('Traded.'),
    weight_before: fraction('Of the value before the trades.'),
    weight_target: fraction('Wanted.'),
    weight_after: fraction('Of the value behind trades and costs.'),
    adv_shares: number('Mean volume; null where none is known.', 'shares'),
    adv_share: fraction('Traded over the mean volume; null where none is known.'),
    days_to_trade: number('At the participation asked for; null without a volume.', 'days'),
    cost: money('Expected.'),
    reason: text('`add`, `delete` or `reweight`.'),
  },
} as const satisfies ExportTable;

import { listAccountColumns, formatCell, listOwnColumns } from './account-columns.js';

/** Account as stated by a client. */
export interface StatedAccount {
  readonly account_id: string;
  readonly lots?: readonly Readonly<Record<string, unknown>>[];
  readonly recent?: readonly Readonly<Record<string, unknown>>[];
  readonly [field: string]: unknown;
}

/** Returns the rows of a table of accounts below its header; `parseAccountTable` is the inverse. */
export function createAccountTable(accounts: readonly StatedAccount[]): string[][] {
  const rows = accounts.flatMap((account) => {
    const { account_id, lots = [], recent = [] } = account;
    const accountCells = listOwnColumns().map(
      ({ name, form }) => [name, formatCell(getAtPath(account, name), form)] as const,
    );
    const tradeRows = [...lots, ...recent.map(({ date, ...trade }) => ({ ...trade, traded: date }))];
    return (tradeRows.length === 0 ? [{}] : tradeRows).map((row, position) => ({
      account_id,
      ...row,
      ...(position === 0 ? Object.fromEntries(accountCells) : {}),
    }));
  });
  return rows.map((row: Readonly<Record<string, unknown>>) =>
    listAccountColumns().map(({ name }) =>
      typeof row[name] === 'number' ? String(row[name]) : ((row[name] as string) ?? ''),
    ),
  );
}

const getAtPath = (account: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], account);

/** Example accounts of the template; each column has a value in one of them. */
export const EXAMPLE_ACCOUNTS: readonly StatedAccount[] = [
  {
    account_id: 'EXAMPLE-1',
    cash: 25_000,
    lots: [
      { identifier: 'EXMPL-A', shares: 120, cost: 80.5, acquired: '2022-03-01' },
      { identifier: 'EXMPL-A', shares: 40, cost: 131.2, acquired: '2024-11-04' },
      { identifier: 'EXMPL-B', shares: 300, cost: 21.75, acquired: '2023-06-15', bought: '2024-01-08' },
    ],
    recent: [{ identifier: 'EXMPL-B', date: '2024-12-16', shares: -50, price: 19.4, cost: 24 }],
    exclusions: ['EXMPL-C', 'EXMPL-D'],
    tilts: { 'EXMPL-A': 0.01, 'EXMPL-B': -0.005 },
    tracking_error_limit: 0.02,
    minimum_trade: 250,
    substitutes: [
      ['EXMPL-A', 'EXMPL-E'],
      ['EXMPL-B', 'EXMPL-F'],
    ],
    tax: {
      short_rate: 0.408,
      long_rate: 0.238,
      carry_forward: 3000,
      realised: { short: -1200, long: 4500 },
      wash_sale_days: 30,
      wash_sales: 'forbid',
      lot_method: 'hifo',
      netting: 'us',
      weight: 1,
      loss_value: 0.1,
      budget: 10_000,
      limit: 2500,
    },
  },
  {
    account_id: 'EXAMPLE-2',
    cash: 100_000,
    lots: [],
    recent: [],
    tax: { short_rate: 0.24, long_rate: 0.15 },
  },
];

/** Returns the template of a table of accounts as CSV: all columns, and two example accounts to replace. */
export function createAccountTemplate(): string {
  const lines = [listAccountColumns().map(({ name }) => name), ...createAccountTable(EXAMPLE_ACCOUNTS)];
  return `${lines.map((cells) => cells.join(',')).join('\r\n')}\r\n`;
}

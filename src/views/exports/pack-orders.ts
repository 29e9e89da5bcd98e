import type { ExportFormat } from '#domain/exports/formats.js';
import { ORDERS } from '#domain/rebalance-pack/order-table.js';
import type { PackAccount, PackTrade } from '#domain/rebalance-pack/pack.js';
import { toTextValues, type NamedColumn, type ColumnValues } from './batch.js';
import { createTableFile } from './table-file.js';

const NAME = 'orders';

/** Returns the orders of a rebalance pack as a complete file. It has at most a few thousand rows. */
export function createPackOrders(
  indexId: string,
  accounts: readonly PackAccount[],
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  return createTableFile(
    { runId: indexId, name: NAME, columns: ORDERS.columns, rows: createOrderRows(accounts) },
    format,
  );
}

type Order = PackTrade & { readonly account: string };

function createOrderRows(accounts: readonly PackAccount[]): {
  readonly columns: NamedColumn[];
  readonly count: number;
} {
  const orders = accounts.flatMap(({ name, trades }) => trades.map((trade): Order => ({ ...trade, account: name })));
  const columns = Object.entries(ORDERS.columns).map(([name, { type }]): NamedColumn => {
    const cells = orders.map((order) => order[name as keyof Order]); // the table contains only members of an order
    return { name, type, values: getValues(cells) };
  });
  return { columns, count: orders.length };
}

function getValues(cells: readonly (string | number | null)[]): ColumnValues {
  return cells.some((cell) => typeof cell === 'string')
    ? toTextValues(cells.map(String))
    : Float64Array.from(cells, (cell) => (typeof cell === 'number' ? cell : Number.NaN));
}

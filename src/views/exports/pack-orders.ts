import type { ExportFormat } from '#domain/exports/formats.js';
import { ORDERS } from '#domain/rebalance-pack/order-table.js';
import type { PackAccount, PackTrade } from '#domain/rebalance-pack/pack.js';
import { textValues, type NamedColumn, type Values } from './batch.js';
import { PART_WRITERS } from './part-writer.js';
import { workbookOf } from './workbook.js';

const NAME = 'orders';

/** The orders of a pack as a file, made whole: a pack has some thousand rows. */
export async function packOrders(
  indexId: string,
  accounts: readonly PackAccount[],
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  const { columns, count } = orderRows(accounts);
  if (format === 'xlsx') {
    const stream = workbookOf({ name: NAME, columns: ORDERS.columns, batches: [{ columns, count }] });
    return new Uint8Array(await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
  }
  const pieces: Uint8Array[] = [];
  const writer = PART_WRITERS[format]({
    runId: indexId,
    table: NAME,
    columns: ORDERS.columns,
    from: { at: 0, rows: 0 },
    sink: { append: (piece) => void pieces.push(piece.slice()) },
  });
  writer.rows(columns, count);
  writer.end(true);
  return Buffer.concat(pieces);
}

type Order = PackTrade & { readonly account: string };

function orderRows(accounts: readonly PackAccount[]): { readonly columns: NamedColumn[]; readonly count: number } {
  const orders = accounts.flatMap(({ name, trades }) => trades.map((trade): Order => ({ ...trade, account: name })));
  const columns = Object.entries(ORDERS.columns).map(([name, { type }]): NamedColumn => {
    const cells = orders.map((order) => order[name as keyof Order]); // The table has the members of an order.
    return { name, type, values: valuesOf(cells) };
  });
  return { columns, count: orders.length };
}

function valuesOf(cells: readonly (string | number | null)[]): Values {
  return cells.some((cell) => typeof cell === 'string')
    ? textValues(cells.map(String))
    : Float64Array.from(cells, (cell) => (typeof cell === 'number' ? cell : Number.NaN));
}

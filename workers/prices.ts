import { formatDay } from '#domain/days.js';
import { priceSeries, type DatedTable } from '#market/price-series.js';
import type { PricesInput, Task } from '#jobs/tasks.js';
import { encodeArrowTable } from '#views/arrow-table.js';
import { outputBytes } from './hand-over.js';

/** The body of PricesResponse as JSON, or as an Arrow stream with all but the table in its metadata. */
export const prices: Task<'prices'> = ({ identifier, bars, request, format }: PricesInput) => {
  const table = priceSeries(bars, request);
  const body = { identifier, interval: request.interval };
  return outputBytes(format === 'arrow' ? encodeArrowTable(table, body) : pricesJson(table, body));
};

function pricesJson({ days, columns }: DatedTable, body: { readonly identifier: string; readonly interval: string }): string {
  const index = Array.from(days, formatDay);
  const data = index.map((_, row) => columns.map(({ values }) => (Number.isFinite(values[row]) ? values[row]! : null)));
  return JSON.stringify({ ...body, prices: { index, columns: columns.map(({ name }) => name), data } });
}

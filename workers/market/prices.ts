import { computePriceSeries, type DatedTable } from '#market/serving/price-series.js';
import type { Task } from '#jobs/tasks.js';
import type { PricesInput } from '#jobs/tasks/markets.js';
import { writeDatedCsv } from '#views/csv-table.js';
import { encodeArrowTable } from '#views/arrow-table.js';
import { createJsonWriter } from '#views/json-writer.js';
import { writeDatedTable } from '#views/table-json.js';
import { answerBytes } from '../output/hand-over.js';

/**
 * Writes the body of PricesResponse as JSON, its table as CSV, or an Arrow stream. The metadata of the stream contains
 * the other members of the body.
 */
export const readPrices: Task<'prices'> = ({ identifier, bars, request, format }: PricesInput) => {
  const table = computePriceSeries(bars, request);
  const body = { identifier, interval: request.interval };
  if (format === 'csv') return answerBytes(new TextEncoder().encode(writeDatedCsv(table)));
  return answerBytes(format === 'arrow' ? encodeArrowTable(table, body) : formatPricesJson(table, body));
};

/** Approximate number of bytes of a number and its comma. */
const NUMBER_BYTES = 10;

function formatPricesJson(
  table: DatedTable,
  { identifier, interval }: { readonly identifier: string; readonly interval: string },
): Uint8Array {
  const json = createJsonWriter(1024 + table.days.length * (table.columns.length + 2) * NUMBER_BYTES);
  json.raw(`{"identifier":${JSON.stringify(identifier)},"interval":"${interval}","prices":`);
  writeDatedTable(json, table);
  json.raw('}');
  return json.bytes();
}

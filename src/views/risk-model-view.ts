import {
  Field,
  Float64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
  type Data,
} from 'apache-arrow';
import { canonicalJson } from '#domain/json/canonical-json.js';
import { correlationRow, unpackRow, volatilitiesOf, type PackedMatrix } from '#domain/risk/packed-matrix.js';
import type { RiskModelPart } from '#domain/risk/risk-model-part.js';
import { createJsonWriter } from './json-writer.js';

/**
 * Names beyond which the body of an Arrow stream leaves the correlation to its reader: its text would be longer than
 * the table.
 */
const CORRELATION_NAMES_MAX = 2_000;

/** Rows of a frame with commas between them, or the object of volatilities. */
export function writeRiskModelPart(matrix: PackedMatrix, part: RiskModelPart): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter();
  const volatilities = volatilitiesOf(matrix);
  if (part.part === 'volatilities') {
    json.raw(canonicalJson(byName(part.assetIds, volatilities)));
    return json.bytes();
  }
  const row = new Float64Array(matrix.order);
  for (let i = part.from; i < part.to; i++) {
    if (part.part === 'covariance') unpackRow(matrix, i, row);
    else correlationRow(matrix, volatilities, i, row);
    json.raw(i === part.from ? '[' : ',[');
    json.numbers(row);
    json.raw(']');
  }
  return json.bytes();
}

/**
 * The covariance as an Arrow IPC stream: `asset_id`, then a column a name; the rest of the body as JSON in the schema's
 * metadata.
 */
export function encodeRiskModel(
  matrix: PackedMatrix,
  assetIds: readonly string[],
  body: Readonly<Record<string, unknown>>,
): Uint8Array {
  const rows = assetIds.map((_, i) => {
    const row = new Float64Array(matrix.order);
    unpackRow(matrix, i, row); // symmetric: row i is column i
    return row;
  });
  const volatilities = volatilitiesOf(matrix);
  const rest = {
    ...body,
    asset_ids: assetIds,
    volatilities: byName(assetIds, volatilities),
    correlation: matrix.order > CORRELATION_NAMES_MAX ? null : correlationFrame(matrix, volatilities, assetIds),
  };
  const schema = new Schema(
    [new Field('asset_id', new Utf8(), false), ...assetIds.map((assetId) => new Field(assetId, new Float64(), false))],
    new Map([['body', canonicalJson(rest)]]),
  );
  const children: Data[] = [
    vectorFromArray([...assetIds], new Utf8()).data[0]!,
    ...rows.map((values) => makeData({ type: new Float64(), length: values.length, nullCount: 0, data: values })),
  ];
  const batch = new RecordBatch(
    schema,
    makeData({ type: new Struct(schema.fields), length: matrix.order, nullCount: 0, children }),
  );
  return tableToIPC(new Table(schema, [batch]), 'stream');
}

/** Names that are digits would leave their order in an object: it is written by `canonicalJson` only. */
function byName(assetIds: readonly string[], values: Float64Array): Record<string, number> {
  return Object.fromEntries(assetIds.map((assetId, i) => [assetId, values[i]!]));
}

function correlationFrame(matrix: PackedMatrix, volatilities: Float64Array, assetIds: readonly string[]): unknown {
  const row = new Float64Array(matrix.order);
  const data = assetIds.map((_, i) => {
    correlationRow(matrix, volatilities, i, row);
    return [...row];
  });
  return { index: assetIds, columns: assetIds, data };
}

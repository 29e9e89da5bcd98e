import {
  type Data,
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
} from 'apache-arrow';
import { toCanonicalJson } from '#domain/base/json.js';
import type { FactorModel } from '#domain/risk/model-terms.js';
import type { RiskModelPart } from '#domain/risk/risk-models.js';
import {
  computeCorrelationRow,
  computeVolatilities,
  type PackedMatrix,
  unpackRow,
} from '#domain/risk/stored-models.js';
import { createJsonWriter, type JsonWriter } from './json/writer.js';

/**
 * Maximum number of securities for which an Arrow stream contains the correlation. With more, the JSON text of the
 * correlation would be longer than the table.
 */
const CORRELATION_NAMES_MAX = 2_000;

/**
 * Writes a part of a risk model as JSON: rows of the covariance or correlation separated by commas, or the object with
 * the volatilities.
 */
export function writeRiskModelPart(matrix: PackedMatrix, part: RiskModelPart): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter();
  const volatilities = computeVolatilities(matrix);
  if (part.part === 'volatilities') {
    json.raw(toCanonicalJson(groupByName(part.assetIds, volatilities)));
    return json.bytes();
  }
  const row = new Float64Array(matrix.order);
  for (let i = part.from; i < part.to; i++) {
    if (part.part === 'covariance') unpackRow(matrix, i, row);
    else computeCorrelationRow(matrix, volatilities, i, row);
    json.raw(i === part.from ? '[' : ',[');
    json.numbers(row);
    json.raw(']');
  }
  return json.bytes();
}

interface ExportedModel {
  readonly date: string;
  readonly names: readonly string[];
  readonly matrix: () => PackedMatrix;
  /** Factors of the model; null for a covariance without factors. */
  readonly factors: FactorModel | null;
}

/** Writes a model on one date as a member of an import file. */
export function writeExportedModel({ date, names, matrix, factors }: ExportedModel): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter();
  json.raw(`{"date":${JSON.stringify(date)}`);
  if (factors === null) {
    const packedMatrix = matrix();
    const row = new Float64Array(packedMatrix.order);
    writeFrame(json, { name: 'covariance', index: names, columns: names }, (i) => {
      unpackRow(packedMatrix, i, row);
      return row;
    });
  } else {
    const { factors: factorNames, exposures, covariance, specific } = factors;
    const K = factorNames.length;
    const createRowReader = (packedRows: Float64Array) => (i: number) => packedRows.subarray(i * K, (i + 1) * K);
    writeFrame(json, { name: 'exposures', index: names, columns: factorNames }, createRowReader(exposures));
    writeFrame(
      json,
      { name: 'factor_covariance', index: factorNames, columns: factorNames },
      createRowReader(covariance),
    );
    json.raw(`,"specific_variances":${toCanonicalJson(groupByName(names, specific))}`);
  }
  json.raw('}');
  return json.bytes();
}

interface FrameTerms {
  readonly name: string;
  readonly index: readonly string[];
  readonly columns: readonly string[];
}

function writeFrame(json: JsonWriter, { name, index, columns }: FrameTerms, rowAt: (i: number) => Float64Array): void {
  json.raw(`,"${name}":{"index":${JSON.stringify(index)},"columns":${JSON.stringify(columns)},"data":[`);
  index.forEach((_, i) => {
    json.raw(i === 0 ? '[' : ',[');
    json.numbers(rowAt(i));
    json.raw(']');
  });
  json.raw(']}');
}

/**
 * Encodes the covariance as an Arrow IPC stream: a column `asset_id`, and one column per security. The rest of the body
 * is stored as JSON in the schema metadata.
 */
export function encodeRiskModel(
  matrix: PackedMatrix,
  assetIds: readonly string[],
  body: Readonly<Record<string, unknown>>,
): Uint8Array {
  const rows = assetIds.map((_, i) => {
    const row = new Float64Array(matrix.order);
    unpackRow(matrix, i, row); // the matrix is symmetric, so row i is column i
    return row;
  });
  const volatilities = computeVolatilities(matrix);
  const summary = {
    ...body,
    asset_ids: assetIds,
    volatilities: groupByName(assetIds, volatilities),
    correlation: matrix.order > CORRELATION_NAMES_MAX ? null : createCorrelationFrame(matrix, volatilities, assetIds),
  };
  const schema = new Schema(
    [new Field('asset_id', new Utf8(), false), ...assetIds.map((assetId) => new Field(assetId, new Float64(), false))],
    new Map([['body', toCanonicalJson(summary)]]),
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

/**
 * Returns values by identifier. JSON.stringify would write identifiers that consist of digits first. Therefore only
 * `toCanonicalJson` may write the object.
 */
function groupByName(assetIds: readonly string[], values: Float64Array): Record<string, number> {
  return Object.fromEntries(assetIds.map((assetId, i) => [assetId, values[i]!]));
}

function createCorrelationFrame(
  matrix: PackedMatrix,
  volatilities: Float64Array,
  assetIds: readonly string[],
): unknown {
  const row = new Float64Array(matrix.order);
  const data = assetIds.map((_, i) => {
    computeCorrelationRow(matrix, volatilities, i, row);
    return [...row];
  });
  return { index: assetIds, columns: assetIds, data };
}

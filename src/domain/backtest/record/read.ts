import { decodeUtf8 } from '#base/text/utf8.js';
import type { ComparedIdentifiers, ArraySource, WeightsFrame } from './field.js';
import { readNumbersAt, type StoredNumbers } from './number-places.js';
import { JSON_FIELDS, ARRAY_FIELDS, type RunRecord } from './schema.js';

/** JSON of a stored record: see `record/README.md`. */
export interface Description {
  readonly identifiers: readonly string[];
  readonly plain: unknown;
  readonly rest: unknown;
}

export function readDescription(bytes: Uint8Array): Description {
  return JSON.parse(decodeUtf8(bytes)) as Description; // Written by packRecord or extendRecord.
}

/** Reads the record of a stored run. @throws Refusal DOCUMENT_UNREADABLE if a part is missing */
export function readPacked(description: Uint8Array, stored: StoredNumbers): RunRecord {
  const { identifiers, plain, rest } = readDescription(description);
  const recordIdentifiers = [...identifiers];
  const reading = readRecord(stored, recordIdentifiers);
  return { identifiers: recordIdentifiers, ...JSON_FIELDS.read(plain, reading), ...ARRAY_FIELDS.read(rest, reading) };
}

/**
 * Creates a reader of the record's arrays.
 * @param identifiers receives the securities that occur only in the portfolio frame
 */
export function readRecord(stored: StoredNumbers, identifiers: string[]): ArraySource {
  let frame: WeightsFrame | undefined;
  return {
    numbers: (place) => readNumbersAt(stored, place),
    portfolioFrame: (rows) => (frame ??= readPortfolioFrame(stored, rows, identifiers)),
  };
}

/**
 * Returns the path of the first field in which two records differ. The order of identifiers does not count. Returns
 * null if the records are equal.
 */
export function findRecordDifference(stored: RunRecord, replayed: RunRecord): string | null {
  const names: ComparedIdentifiers = { stored: stored.identifiers, replayed: replayed.identifiers };
  return JSON_FIELDS.differs(stored, replayed, names) ?? ARRAY_FIELDS.differs(stored, replayed, names);
}

/**
 * Returns the last rows of the portfolio weights, and adds securities that occur only in those rows to the identifiers.
 */
function readPortfolioFrame(stored: StoredNumbers, rowCount: number, identifiers: string[]): WeightsFrame {
  const { dates, names } = stored;
  const positionByIdentifier = new Map(identifiers.map((identifier, place) => [identifier, place]));
  const width = names.length;
  return {
    days: stored.i32('days', dates - rowCount, dates),
    columns: Int32Array.from(names, (name) => positionByIdentifier.get(name) ?? identifiers.push(name) - 1),
    weights: stored.f64('weights', (dates - rowCount) * width, dates * width),
  };
}

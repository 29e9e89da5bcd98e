import { memberOf } from '../record/field.js';
import {
  BOOK,
  GAPS,
  TRANSACTIONS,
  type RecordedTransactions,
  type RunRecord,
  type Snapshot,
} from '../record/schema.js';
import type { RecordedGaps } from '../record/rows.js';
import { numbersAt, POOLS, type StoredNumbers } from '../record/places.js';
import { readDescription, readPacked } from '../record/read.js';
import { unreadable } from './read-header.js';
import type { RunColumns } from './read.js';
import { isBlockName, type BlockName } from './schema.js';

/** The record of a stored run. @throws Refusal DOCUMENT_UNREADABLE when the file has none */
export function readRecord(columns: RunColumns): RunRecord {
  return readPacked(columns.u8('record'), storedNumbers(columns));
}

/** Parts of the record of a stored run: each is read when it is asked for. */
export interface RecordParts {
  /** What positions of names are positions in. */
  readonly identifiers: readonly string[];
  /** Latest compositions of the index itself. */
  snapshots(): readonly Snapshot[];
  transactions(): RecordedTransactions;
  /** Names held, or due to be, without a bar on a session of their exchange; `columns` are positions in `identifiers`. */
  gaps(): RecordedGaps;
  /** Cost of a unit of traded notional. */
  costRate(): number;
}

/** @throws Refusal DOCUMENT_UNREADABLE when the file has no record, as those of version 0.1.0 */
export function recordParts(columns: RunColumns): RecordParts {
  const { identifiers, rest } = readDescription(columns.u8('record'));
  const stored = storedNumbers(columns);
  const reading = {
    numbers: (place: Parameters<typeof numbersAt>[1]) => numbersAt(stored, place),
    portfolioFrame(): never {
      throw new Error('compositions and transactions have no weights of a portfolio');
    },
  };
  const portfolio = memberOf(rest, 'portfolio');
  const index = memberOf(rest, 'optimised') ?? memberOf(rest, 'target');
  return {
    identifiers,
    snapshots: () => BOOK.fields.snapshots.read(memberOf(index, 'snapshots'), reading),
    transactions: () => TRANSACTIONS.read(memberOf(portfolio, 'transactions'), reading),
    gaps: () => GAPS.read(memberOf(rest, 'gaps'), reading),
    costRate: () => memberOf(portfolio, 'costRate') as number, // Written by the field of the record.
  };
}

/** The numbers of a stored run, as its record refers to them. */
export function storedNumbers(columns: RunColumns): StoredNumbers {
  const {
    header: { dates, names, blocks },
  } = columns;
  return {
    dates,
    names,
    f64: (block, from, to) => columns.f64(known(block), from, to),
    i32: (block, from, to) => columns.i32(known(block), from, to),
    u8: (block, from, to) => columns.u8(known(block), from, to),
    poolLength: (type) => blocks[POOLS[type]]?.length ?? 0,
  };
}

function known(name: string): BlockName {
  if (!isBlockName(name)) throw unreadable(`its record refers to the block ${name}, which no run has`);
  return name;
}

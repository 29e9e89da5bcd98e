import type { DatedSeries } from '../../analytics/relative.js';
import { memberOf, type Reading } from '../record/field.js';
import {
  BOOK,
  GAPS,
  PLAIN,
  PRICING,
  REBALANCES,
  SNAPSHOT,
  TRANSACTIONS,
  type RecordedTransactions,
  type RunRecord,
  type Snapshot,
} from '../record/schema.js';
import type { RecordedGaps, RecordedPricing } from '../record/rows.js';
import { numbersAt, POOLS, type StoredNumbers } from '../record/places.js';
import { readDescription, readPacked } from '../record/read.js';
import { unreadable } from './read-header.js';
import type { RunColumns } from './read.js';
import { isBlockName, type BlockName } from './schema.js';

/** The record of a stored run. @throws Refusal DOCUMENT_UNREADABLE when the file has none */
export function readRecord(columns: RunColumns): RunRecord {
  return readPacked(columns.u8('record'), storedNumbers(columns));
}

/** The rebalances of a stored run, and whose positions their columns are. */
export interface StoredRebalances {
  readonly identifiers: readonly string[];
  readonly rebalances: readonly Snapshot[];
}

/** The rebalances that the result of a stored run shows. @throws Refusal DOCUMENT_UNREADABLE when the file has none */
export function readRebalances(columns: RunColumns): StoredRebalances {
  const { identifiers } = readDescription(columns.u8('record'));
  return { identifiers, rebalances: REBALANCES.read(packedRebalances(columns), readingWithoutWeights(columns)) };
}

/** Weights of the latest of them. */
export function latestWeights(columns: RunColumns): Float64Array {
  const packed = packedRebalances(columns) as readonly unknown[]; // Written by packRecord or extendRecord.
  return SNAPSHOT.fields.weights.read(memberOf(packed.at(-1), 'weights'), readingWithoutWeights(columns));
}

function packedRebalances(columns: RunColumns): unknown {
  return JSON.parse(new TextDecoder().decode(columns.u8('snapshots')));
}

/** Reads all of a record but frames. */
function readingWithoutWeights(columns: RunColumns): Reading {
  const stored = storedNumbers(columns);
  return {
    numbers: (place) => numbersAt(stored, place),
    portfolioFrame(): never {
      throw new Error('compositions, transactions and levels have no weights of a portfolio');
    },
  };
}

/** Parts of the record of a stored run: each is read when it is asked for. */
export interface RecordParts {
  /** Identifiers that positions refer to. */
  readonly identifiers: readonly string[];
  /** Latest compositions of the index itself. */
  snapshots(): readonly Snapshot[];
  transactions(): RecordedTransactions;
  /** Names held, or due to be, without a bar on a session of their exchange; `columns` are positions in `identifiers`. */
  gaps(): RecordedGaps;
  /** Cost of a unit of traded notional. */
  costRate(): number;
  initialCapital(): number;
  /** Effective date of each rebalance, and the session it was priced from. */
  pricing(): RecordedPricing;
  metrics(): RunRecord['metrics'];
  findings(): RunRecord['findings'];
  /** Levels of the benchmark, or of the index that a derived one was made from, or null. */
  levels(book: 'benchmark' | 'parent'): DatedSeries | null;
}

/** @throws Refusal DOCUMENT_UNREADABLE when the file has no record, as those of version 0.1.0 */
export function recordParts(columns: RunColumns): RecordParts {
  const { identifiers, plain, rest } = readDescription(columns.u8('record'));
  const reading = readingWithoutWeights(columns);
  const portfolio = memberOf(rest, 'portfolio');
  const index = memberOf(rest, 'optimised') ?? memberOf(rest, 'target');
  return {
    identifiers,
    snapshots: () => BOOK.fields.snapshots.read(memberOf(index, 'snapshots'), reading),
    transactions: () => TRANSACTIONS.read(memberOf(portfolio, 'transactions'), reading),
    gaps: () => GAPS.read(memberOf(rest, 'gaps'), reading),
    costRate: () => memberOf(portfolio, 'costRate') as number, // Written by the fields of the record, as what follows.
    initialCapital: () => memberOf(portfolio, 'initialCapital') as number,
    pricing: () => PRICING.read(memberOf(rest, 'pricing'), reading),
    metrics: () => PLAIN.fields.metrics.read(memberOf(plain, 'metrics'), reading),
    findings: () => PLAIN.fields.findings.read(memberOf(plain, 'findings'), reading),
    levels(book) {
      const packed = memberOf(rest, book === 'benchmark' ? 'benchmark' : 'target');
      const isThere = packed !== null && (book === 'benchmark' || memberOf(rest, 'optimised') !== null);
      return isThere
        ? {
            days: BOOK.fields.days.read(memberOf(packed, 'days'), reading),
            values: BOOK.fields.levels.read(memberOf(packed, 'levels'), reading),
          }
        : null;
    },
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

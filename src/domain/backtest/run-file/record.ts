import { decodeUtf8 } from '#base/text/utf8.js';
import type { DatedSeries } from '../../analytics/relative.js';
import { readMember, type ArraySource } from '../record/field.js';
import {
  BOOK,
  GAPS,
  JSON_FIELDS,
  PRICING,
  REBALANCES,
  SNAPSHOT,
  TRANSACTIONS,
  type RecordedTransactions,
  type RunRecord,
  type Snapshot,
} from '../record/schema.js';
import type { RecordedGaps, RecordedPricing } from '../record/rows.js';
import { readNumbersAt, POOLS, type StoredNumbers } from '../record/number-places.js';
import { readDescription, readPacked } from '../record/read.js';
import { createUnreadableError } from './read-header.js';
import type { RunColumns } from './read.js';
import { isBlockName, type BlockName } from './schema.js';

/**
 * Reads the record of a stored run.
 * @throws Refusal DOCUMENT_UNREADABLE if the file has no record
 */
export function readRecord(columns: RunColumns): RunRecord {
  return readPacked(columns.u8('record'), openStoredNumbers(columns));
}

/** Rebalances of a stored run, with the identifiers to which their columns refer. */
export interface StoredRebalances {
  readonly identifiers: readonly string[];
  readonly rebalances: readonly Snapshot[];
}

/**
 * Reads the rebalances of a stored run that its result shows.
 * @throws Refusal DOCUMENT_UNREADABLE if the file has no record
 */
export function readRebalances(columns: RunColumns): StoredRebalances {
  const { identifiers } = readDescription(columns.u8('record'));
  return {
    identifiers,
    rebalances: REBALANCES.read(readPackedRebalances(columns), createSourceWithoutWeights(columns)),
  };
}

/** Returns the weights of the latest rebalance. */
export function readLatestWeights(columns: RunColumns): Float64Array {
  const packedRebalances = readPackedRebalances(columns) as readonly unknown[]; // Written by packRecord or extendRecord.
  return SNAPSHOT.fields.weights.read(
    readMember(packedRebalances.at(-1), 'weights'),
    createSourceWithoutWeights(columns),
  );
}

function readPackedRebalances(columns: RunColumns): unknown {
  return JSON.parse(decodeUtf8(columns.u8('snapshots')));
}

/** Creates a source for the fields of a record, except recent weights. */
function createSourceWithoutWeights(columns: RunColumns): ArraySource {
  const storedNumbers = openStoredNumbers(columns);
  return {
    numbers: (place) => readNumbersAt(storedNumbers, place),
    portfolioFrame(): never {
      throw new Error('compositions, transactions and levels have no weights of a portfolio');
    },
  };
}

/** Parts of a stored run's record, each read on demand. */
export interface RecordParts {
  /** Identifiers to which positions refer. */
  readonly identifiers: readonly string[];
  /** Returns the latest compositions of the index. */
  snapshots(): readonly Snapshot[];
  transactions(): RecordedTransactions;
  /**
   * Returns the missing prices: held or targeted securities without a price bar on a session of their exchange.
   * `columns` are positions in `identifiers`.
   */
  gaps(): RecordedGaps;
  /** Returns the transaction cost per unit of traded notional. */
  costRate(): number;
  initialCapital(): number;
  /** Returns the effective date of each rebalance, with the session of the prices used. */
  pricing(): RecordedPricing;
  metrics(): RunRecord['metrics'];
  findings(): RunRecord['findings'];
  /**
   * Returns the levels of the benchmark, or of the parent of a derived index. Returns null if the run has no such book.
   */
  levels(book: 'benchmark' | 'parent'): DatedSeries | null;
}

/**
 * Opens the parts of a stored record.
 * @throws Refusal DOCUMENT_UNREADABLE if the file has no record, as in version 0.1.0
 */
export function openRecordParts(columns: RunColumns): RecordParts {
  const { identifiers, plain, rest } = readDescription(columns.u8('record'));
  const reading = createSourceWithoutWeights(columns);
  const portfolio = readMember(rest, 'portfolio');
  const index = readMember(rest, 'optimised') ?? readMember(rest, 'target');
  return {
    identifiers,
    snapshots: () => BOOK.fields.snapshots.read(readMember(index, 'snapshots'), reading),
    transactions: () => TRANSACTIONS.read(readMember(portfolio, 'transactions'), reading),
    gaps: () => GAPS.read(readMember(rest, 'gaps'), reading),
    costRate: () => readMember(portfolio, 'costRate') as number, // written by the fields of the record, like the values below
    initialCapital: () => readMember(portfolio, 'initialCapital') as number,
    pricing: () => PRICING.read(readMember(rest, 'pricing'), reading),
    metrics: () => JSON_FIELDS.fields.metrics.read(readMember(plain, 'metrics'), reading),
    findings: () => JSON_FIELDS.fields.findings.read(readMember(plain, 'findings'), reading),
    levels(book) {
      const packedBook = readMember(rest, book === 'benchmark' ? 'benchmark' : 'target');
      const isRecorded = packedBook !== null && (book === 'benchmark' || readMember(rest, 'optimised') !== null);
      return isRecorded
        ? {
            days: BOOK.fields.days.read(readMember(packedBook, 'days'), reading),
            values: BOOK.fields.levels.read(readMember(packedBook, 'levels'), reading),
          }
        : null;
    },
  };
}

/** Returns the numbers of a stored run to which its record refers. */
export function openStoredNumbers(columns: RunColumns): StoredNumbers {
  const {
    header: { dates, names, blocks },
  } = columns;
  return {
    dates,
    names,
    f64: (block, from, to) => columns.f64(requireBlock(block), from, to),
    i32: (block, from, to) => columns.i32(requireBlock(block), from, to),
    u8: (block, from, to) => columns.u8(requireBlock(block), from, to),
    poolLength: (type) => blocks[POOLS[type]]?.length ?? 0,
  };
}

function requireBlock(name: string): BlockName {
  if (!isBlockName(name)) throw createUnreadableError(`its record refers to the unknown block ${name}`);
  return name;
}

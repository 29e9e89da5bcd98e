import { createExchangeRates } from '../../market/exchange-rates.js';
import { createIndexTerms } from '../../books/index-run.js';
import { createKey } from '../../index-mathematics/growth-terms.js';
import { isEqual } from '../../numbers/number-types.js';
import { packRecord } from '../record/pack.js';
import { REBALANCES, createRunRecord } from '../record/schema.js';
import type { Run } from '../run.js';
import { readSecurityCurrency, type Book } from '../../books/book.js';
import type { AnyBlock, BlockFiller, WholeRun } from './block.js';
import { createColumns, type BlockInMemory, type ColumnsWriter, type EarlierFiles } from './create.js';
import { createForeignRates } from './foreign-rates.js';
import { createWholeHeader } from './header.js';
import { SEPARATE_BYTES_MIN, PRICES_NAME, type SeparatePrices } from './separate-prices.js';
import { price, createPriceParts } from './prices.js';
import { BLOCK_NAMES, findBlock, type BlockName } from './schema.js';

export interface ColumnsOptions {
  readonly contentHash: string;
  /**
   * True to write into the memory around the weights of the run, if there is space. The bytes then share memory with
   * the run, so only one such call is allowed.
   */
  readonly inPlace?: boolean;
}

export interface FilesOptions extends ColumnsOptions {
  /** Minimum size in bytes of prices in a separate file. */
  readonly apartBytesMin?: number;
}

/** Contents of the files of a run. */
export interface RunFiles {
  readonly columns: Uint8Array<ArrayBuffer>;
  /** Prices for a separate file; null if they are small enough to be part of the columns. */
  readonly prices: SeparatePrices | null;
}

/**
 * Writes a run as columns, including prices.
 * @cost one pass over [T x H] weights and prices
 */
export function createRunColumns(run: Run, { contentHash, inPlace = false }: ColumnsOptions): Uint8Array<ArrayBuffer> {
  const source = createWholeRun(run, contentHash);
  return writeColumns(source, { parts: listBlockParts(source), inPlace });
}

/**
 * Writes a run as columns, with a large block of prices in a separate file.
 * @cost one pass over [T x H] weights
 */
export function createRunFiles(
  run: Run,
  { contentHash, inPlace = false, apartBytesMin = SEPARATE_BYTES_MIN }: FilesOptions,
): RunFiles {
  const source = createWholeRun(run, contentHash);
  const parts = listBlockParts(source);
  const prices = price.whole(source)!; // every run has prices
  if (8 * prices.length < apartBytesMin) return { columns: writeColumns(source, { parts, inPlace }), prices: null };
  const { portfolio, days, index } = run;
  return {
    columns: writeColumns(source, {
      parts: parts.map((part) => (part.name === 'price' ? NO_PRICES : part)),
      inPlace,
      prices,
    }),
    prices: {
      identifiers: Array.from(source.names, (column) => portfolio.sm.identifiers[column]!),
      days,
      adjustedBy: portfolio.sm.rows.isAnyMerged ? createKey(createIndexTerms(index.compositions)) : '',
      length: Float64Array.BYTES_PER_ELEMENT * prices.length,
      parts: () => createPriceParts(run, source.names),
    },
  };
}

interface WrittenParts {
  readonly parts: readonly BlockPart[];
  readonly inPlace: boolean;
  /** Prices to write to a separate file. */
  readonly prices?: BlockFiller<Float64Array>;
}

function writeColumns(source: WholeRun, { parts, inPlace, prices }: WrittenParts): Uint8Array<ArrayBuffer> {
  const blockInMemory = inPlace ? findStoredWeights(source) : undefined;
  const columns = createColumns(createWholeHeader(source), new Map(parts.map((part) => [part.name, part])), {
    ...(blockInMemory ? { placed: blockInMemory } : {}),
    ...(prices ? { earlier: createPricesFileReference(prices) } : {}),
  });
  const isInPlace = columns.bytes.buffer === blockInMemory?.values.buffer;
  for (const { name, write } of parts) if (!(isInPlace && name === blockInMemory.name)) write(columns);
  return columns.bytes;
}

function createPricesFileReference({ length }: BlockFiller<Float64Array>): EarlierFiles {
  return { files: [PRICES_NAME], blocks: new Map([['price', { begins: [0, length], length }]]) };
}

function listBlockParts(source: WholeRun): BlockPart[] {
  return BLOCK_NAMES.flatMap((name) => createBlockPart(name, source) ?? []);
}

/** Block of a run with its write function. */
interface BlockPart {
  readonly name: BlockName;
  readonly type: AnyBlock['type'];
  readonly length: number;
  readonly write: (columns: ColumnsWriter) => void;
}

/** Empty price block of the columns if prices are in a separate file. */
const NO_PRICES: BlockPart = { name: 'price', type: 'f64', length: 0, write: () => undefined };

function createBlockPart(name: BlockName, source: WholeRun): BlockPart | null {
  const block = findBlock(name);
  switch (block.type) {
    case 'f64': {
      const filling = block.whole(source);
      return (
        filling && { name, type: 'f64', length: filling.length, write: (columns) => filling.writeTo(columns.f64(name)) }
      );
    }
    case 'i32': {
      const filling = block.whole(source);
      return (
        filling && { name, type: 'i32', length: filling.length, write: (columns) => filling.writeTo(columns.i32(name)) }
      );
    }
    case 'u8': {
      const filling = block.whole(source);
      return (
        filling && { name, type: 'u8', length: filling.length, write: (columns) => filling.writeTo(columns.u8(name)) }
      );
    }
  }
}

function createWholeRun(run: Run, contentHash: string): WholeRun {
  const { portfolio, index, document } = run;
  // Views of a strategy show only the holdings of the strategy, so its file needs no index weights.
  const indexRows = run.plan.strategy !== undefined || haveSameWeights(run) ? null : index.book;
  const names = listHeldColumns(run, indexRows !== null);
  const record = packRecord(
    { record: createRunRecord(run), rebalances: REBALANCES.whole({ run }) },
    new Map<Float64Array | Int32Array, BlockName>([
      [run.days, 'days'],
      [portfolio.value, 'value'],
      [portfolio.cash, 'cash'],
      [index.days, 'indexDays'],
      [index.book.value, 'indexLevel'],
      [index.book.divisor, 'divisor'],
    ]),
  );
  return {
    run,
    contentHash,
    names,
    indexRows,
    record,
    rates: createForeignRates(createExchangeRates(portfolio.sm, readSecurityCurrency(portfolio, document)), names),
  };
}

/** Returns the market columns that the run held or targeted, ascending. */
function listHeldColumns({ portfolio, index, rebalances }: Run, hasOtherIndex: boolean): Int32Array {
  const isHeld = new Uint8Array(portfolio.sm.securityCount);
  portfolio.columns.forEach((column, slot) => {
    if (portfolio.everHeld[slot] === 1) isHeld[column] = 1;
  });
  if (hasOtherIndex) markHoldings(isHeld, index.book, portfolio.from - index.book.from);
  for (const { columns } of rebalances) for (const column of columns) isHeld[column] = 1;
  return Int32Array.from([...isHeld.keys()].filter((column) => isHeld[column] === 1));
}

/** Marks the columns that a book holds on or after session `from`. */
function markHoldings(isHeld: Uint8Array, { columns, weights }: Book, from: number): void {
  const columnCount = columns.length;
  for (let position = from * columnCount; position < weights.length; position += columnCount) {
    for (let slot = 0; slot < columnCount; slot++) if (weights[position + slot] !== 0) isHeld[columns[slot]!] = 1;
  }
}

/**
 * Returns the portfolio weights in the memory that was allocated for them, so that they need not be copied. Requires
 * that they equal the index weights from the first date and have the securities of the file.
 */
function findStoredWeights({ run: { portfolio, index }, names }: WholeRun): BlockInMemory | undefined {
  const { weights, columns } = portfolio;
  const isWhole = weights.buffer === index.book.weights.buffer && weights.length === index.book.weights.length;
  return isWhole && isEqual(columns, names) ? { name: 'weights', values: weights } : undefined;
}

/** Returns true if portfolio and index have bit-identical weights on every date of the run. */
function haveSameWeights({ portfolio, index: { book } }: Run): boolean {
  if (portfolio.weights.buffer === book.weights.buffer) return true;
  if (!isEqual(portfolio.columns, book.columns)) return false;
  const first = (portfolio.from - book.from) * book.columns.length;
  return isEqual(portfolio.weights, book.weights.subarray(first, first + portfolio.weights.length));
}

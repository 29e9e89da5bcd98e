import {
  type BlockName,
  DETACHMENT_WIDTH,
  DISTRIBUTION_WIDTH,
  isPanel,
  TRANSFER_WIDTH,
} from '#domain/backtest/run-file/blocks.js';
import { EFFECT_WIDTH } from '#domain/backtest/run-file/block.js';
import type { RunCheckpoint } from '#domain/backtest/checkpoint.js';
import type { DeciderFactory } from '#domain/books/compositions.js';
import { type ExtendedRun, extendRun } from '#domain/backtest/extension.js';
import { CannotResumeError, type FullRunReason } from '#domain/definition/runs.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { createRunFiles, openColumns, readRecord, type RunColumns } from '#domain/backtest/run-file/columns.js';
import { type BlockPosition, PRICES_NAME } from '#domain/backtest/run-file/header.js';
import type { Run } from '#domain/backtest/run.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { listActions, type MarketData, openMarketSince, shareMarket } from '#domain/market/market-data.js';
import { findSettledDay } from '#market/content/content-hash.js';
import { joinBytes } from '#base/bytes.js';
import { encodeRecord } from '#views/json/record.js';
import { decodeState, encodeState } from '#workers/runs/backtest.js';
import { expectEqual } from '../../../equal.js';
import { CALENDARS } from '../random-run.js';
import { createPlainDecider } from '../test-deciders.js';

/** Returns the rows of a market up to a position, with all its corporate actions. */
export function cut(market: MarketData, rows: number): MarketData {
  const names = market.identifiers.length;
  return {
    ...market,
    contentHash: `${market.contentHash}-${rows}`,
    dates: market.dates.slice(0, rows),
    fields: new Map([...market.fields].map(([name, panel]) => [name, panel.slice(0, rows * names)])),
  };
}

export interface StoredRun {
  readonly columns: RunColumns;
  readonly checkpoint: RunCheckpoint;
}

export interface ExtendTerms {
  readonly createDecider?: DeciderFactory;
  readonly calendars?: Calendars;
  /** Called when a decision uses the whole market. */
  readonly onWhole?: () => void;
  /** Maximum number of dates in a file. Later dates go into the next file. Default: no limit. */
  readonly datesMax?: number;
}

export function extend(
  plan: BacktestPlan,
  market: MarketData,
  { columns, checkpoint }: StoredRun,
  { createDecider = createPlainDecider, calendars = CALENDARS, onWhole = () => {}, datesMax = 0 }: ExtendTerms = {},
): ExtendedRun | FullRunReason {
  expectEqual(decodeState(encodeState(checkpoint)), checkpoint); // a checkpoint is read from a file
  const handle = shareMarket(market);
  const after = Math.min(checkpoint.since, findSettledDay(market, checkpoint.day));
  try {
    return extendRun({
      plan,
      checkpoint,
      calendars,
      market: openMarketSince(handle, after),
      marketSince: (day) => openMarketSince(handle, day),
      wholeMarket() {
        onWhole();
        return market;
      },
      createDecider,
      report: () => {},
      stored: columns,
      fileNames: Array.from({ length: (columns.header.begun?.length ?? 0) + 1 }, (_, i) => `${i}`),
      datesMax,
      actionsOf: (wanted) => listActions(handle, wanted),
      contentHash: 's',
    });
  } catch (thrown) {
    if (thrown instanceof CannotResumeError) return thrown.reason;
    throw thrown;
  }
}

/** Opens columns that continue the columns of earlier files. The names of the earlier files are their positions. */
export function openExtended(bytes: Uint8Array, files: readonly Uint8Array[] = []): RunColumns {
  return openColumns(
    (start, end) => bytes.slice(start, end),
    (name) => (start, end) => files[name === PRICES_NAME ? 0 : Number(name)]!.slice(start, end),
  );
}

/** Returns the two files of a run that is computed as a whole: its prices and its columns. */
export function splitRunFiles(run: Run): Uint8Array[] {
  const { columns, prices } = createRunFiles(run, { contentHash: 's', apartBytesMin: 0 });
  return [joinBytes(prices!), columns];
}

/** Returns the files of an extended run: the earlier files that the run still uses, and the new file. */
export function listFilesAfter(files: readonly Uint8Array[], { columns, earlierFiles }: ExtendedRun): Uint8Array[] {
  return [...files.slice(0, earlierFiles), columns];
}

export const STAMP = { runAt: 't', runHash: 'h', storeContentHash: 's', engineVersion: '0' };

/** Checks that both runs have equal values in the middle third of each block and in every column of every panel. */
export function expectSameReads(columns: RunColumns, other: RunColumns): void {
  for (const [name, block] of Object.entries(other.header.blocks) as [BlockName, BlockPosition][]) {
    if (LAYOUT.has(name) || name in ROW_WIDTHS || BY_DATE.has(name)) continue;
    const range = [Math.floor(block.length / 3), Math.ceil((2 * block.length) / 3)] as const;
    expectEqual(columns[block.type](name, ...range), other[block.type](name, ...range));
    if (!isPanel(name) || block.type !== 'f64') continue;
    for (let column = 0; column < other.header.names.length; column++)
      expectEqual(columns.column(name, column), other.column(name, column));
  }
}

/** Number of values per row, for blocks that a whole run sorts by security and then by date. */
const ROW_WIDTHS: Readonly<Record<string, number>> = {
  effects: EFFECT_WIDTH,
  distributions: DISTRIBUTION_WIDTH,
  detachments: DETACHMENT_WIDTH,
  transfers: TRANSFER_WIDTH,
};

/** Names of blocks that are sorted by date and read row by row. */
const BY_DATE = new Set(['transfers', 'shareChanges', 'indexShares']);

const LAYOUT = new Set(['joinedPrice', 'record', 'snapshots', 'recordF64', 'recordI32', 'recordU8']);

/** Returns the values of all columns, whatever their layout. */
export function readContent(columns: RunColumns) {
  const { blocks, version: _version, begun: _earlier, joined: _joined, ...header } = columns.header;
  const values = Object.entries(blocks)
    .filter(([name]) => !LAYOUT.has(name))
    .map(([name, block]) => {
      const width = ROW_WIDTHS[name];
      const values = columns[block!.type](name as never);
      const sortedValues = width === undefined ? values : sortRowsByName([...values], width);
      return [
        name,
        Buffer.from(sortedValues.buffer, sortedValues.byteOffset, sortedValues.byteLength).toString('base64'),
      ];
    });
  return {
    header,
    blocks: Object.fromEntries(values),
    record: Buffer.from(encodeRecord(readRecord(columns), STAMP)).toString(),
  };
}

function sortRowsByName(values: readonly number[], width: number): Float64Array {
  const rows = values.flatMap((_, i) => (i % width === 0 ? [values.slice(i, i + width)] : []));
  return Float64Array.from(
    rows.toSorted(([name, date], [otherName, otherDate]) => name! - otherName! || date! - otherDate!).flat(),
  );
}

import { fc } from '../../../fast-check.js';
import { expect } from 'vitest';
import type { Calendars } from '#domain/calendars/calendar.js';
import { createCheckpoint } from '#domain/backtest/checkpoint.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import type { Run } from '#domain/backtest/run.js';
import { createRunColumns } from '#domain/backtest/run-file/columns.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/base/refusals.js';
import {
  type StoredRun,
  cut,
  expectSameReads,
  extend,
  listFilesAfter,
  splitRunFiles,
  openExtended,
  STAMP,
  readContent,
} from './extended.js';
import { expectEqual } from '../../../equal.js';
import { type RunRequest, CALENDARS, runOn } from '../random-run.js';
import { formatResult, runResultJson } from '../run-texts.js';

export const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 6);
/**
 * Number of random runs with optimisation. Each run solves at every rebalance, even when every step is computed as a
 * whole.
 */
export const OPTIMISED_RUNS = Number(process.env['PROPERTY_RUNS'] ?? 7);
/** Number of random runs of constrained strategies. They solve more often than optimised indices. */
export const CONSTRAINED_RUNS = Number(process.env['PROPERTY_RUNS'] ?? 1);

export const DAYS_ADDED = 14;

/** Returns the result of a run, or the code of its refusal. */
function tryRun(work: () => Run): Run | string {
  try {
    const run = work();
    run.uncapped?.(); // may be refused like the run
    return run;
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown.code;
    throw thrown;
  }
}

interface Tally {
  extended: number;
  rebalanced: number;
  /** Number of steps after which the run held a security for the first time. */
  joined: number;
  /** Number of decisions that used the whole market. */
  wholes: number;
  readonly reasons: Record<string, number>;
}

export const createTally = (): Tally => ({ extended: 0, rebalanced: 0, joined: 0, wholes: 0, reasons: {} });

interface GrowingState {
  readonly market: MarketData;
  readonly document: IndexDocument;
  readonly request: RunRequest;
  /** Number of sessions of the first run. `steps` contains the number of sessions that each extension adds. */
  readonly rows: number;
  readonly steps: readonly number[];
  readonly tally: Tally;
  readonly calendars?: Calendars;
  /** Maximum number of dates in a file of columns. */
  readonly datesMax?: number;
}

/**
 * Extends a run repeatedly until this is no longer possible. After each extension it compares all stored data with a
 * run over all sessions.
 */
export function expectResumes({
  market,
  document,
  request,
  rows,
  steps,
  tally,
  calendars = CALENDARS,
  datesMax = 0,
}: GrowingState): void {
  const first = tryRun(() => runOn(calendars, cut(market, rows), document, request));
  if (typeof first === 'string') return;
  let files = splitRunFiles(first);
  let storedRun: StoredRun = { columns: openExtended(files.at(-1)!, files), checkpoint: createCheckpoint(first) };
  let to = rows;
  for (const step of steps) {
    if (to + step > market.dates.length) return;
    to += step;
    const grownMarket = cut(market, to);
    const wholeRun = tryRun(() => runOn(calendars, grownMarket, document, request));
    const terms = { calendars, createDecider: indexDecider, onWhole: () => void tally.wholes++, datesMax };
    const checkpoint = structuredClone(storedRun.checkpoint);
    if (typeof wholeRun === 'string') {
      expect(() => extend(first.plan, grownMarket, storedRun, terms)).toThrow(Refusal);
      return;
    }
    const extendedRun = extend(wholeRun.plan, grownMarket, storedRun, terms);
    expectEqual(storedRun.checkpoint, checkpoint); // reading a stored run does not change it
    if (typeof extendedRun === 'string') {
      tally.reasons[extendedRun] = (tally.reasons[extendedRun] ?? 0) + 1;
      return;
    }
    tally.extended++;
    files = listFilesAfter(files, extendedRun);
    const columns = openExtended(extendedRun.columns, files);
    const wholeColumns = openExtended(createRunColumns(wholeRun, { contentHash: 's' }));
    if (columns.header.names.length > storedRun.columns.header.names.length) tally.joined++;
    if (columns.header.rebalances.length > storedRun.columns.header.rebalances.length) tally.rebalanced++;
    expectEqual(readContent(columns), readContent(wholeColumns));
    expectSameReads(columns, wholeColumns);
    expectEqual(extendedRun.checkpoint, createCheckpoint(wholeRun));
    expect(Buffer.from(formatResult(columns, wholeRun.plan, STAMP)).toString()).toBe(
      Buffer.from(runResultJson(wholeRun, STAMP)).toString(),
    );
    storedRun = { columns, checkpoint: extendedRun.checkpoint };
  }
}

export const randomSteps = fc.array(fc.constantFrom(1, 1, 1, 2, 5), { minLength: 3, maxLength: 5 });

import { createHash } from 'node:crypto';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { VARIANT_BLOCKS } from '#domain/backtest/run-file/blocks.js';
import { createRunColumns, openColumns, openRecordParts, type RunColumns } from '#domain/backtest/run-file/columns.js';
import type { Run } from '#domain/backtest/run.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { type Day, formatDay } from '#domain/base/time.js';
import type { DatedMarkets } from '#domain/books/composer.js';
import type { Composer, DeciderFactory } from '#domain/books/compositions.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { findAgreements, type IndexCloses, type PublicationEntry } from '#domain/definition/publication.js';
import type { MarketData, ReturnVariant } from '#domain/market/market-data.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import type { StoredModels } from '#domain/risk/stored-models.js';
import type { Engine } from '#kernels/engines/engine.js';
import {
  findPublishedDivisor,
  openPanelRows,
  readDecimals,
  readIndexSeries,
  roundOnDay,
  roundValues,
} from './run-columns.js';

/**
 * Returns the closes of the index of a run.
 * @param through last day. Default: the end of the run; not before its first day
 * @cost 0.3 us per security held at a close, for the hash of its weights
 */
export function createClosesView(columns: RunColumns, through?: Day): IndexCloses {
  const allDays = columns.i32('days');
  const days = through === undefined ? allDays : allDays.subarray(0, findLastAtMost(allDays, through) + 1);
  const readLevels = (variant: ReturnVariant): (number | null)[] => {
    const { level } = VARIANT_BLOCKS[variant];
    return columns.has(level)
      ? toFiniteNumbers(roundValues(columns, { of: 'level', days }, readIndexSeries(columns, level, days)))
      : Array.from(days, () => null);
  };
  return {
    dates: [...days].map(formatDay),
    price: readLevels('price'),
    total: readLevels('total'),
    net: readLevels('net'),
    divisor: toFiniteNumbers(readIndexSeries(columns, findPublishedDivisor(columns), days)),
    ...computeCompositions(columns, days),
    rounded: Array.from(days, (day) => readDecimals(columns, 'level', day) !== undefined),
    traded: listTraded(columns, days),
  };
}

function listTraded(columns: RunColumns, days: Int32Array): boolean[] {
  const events = new Set(columns.i32('eventAt'));
  return Array.from(days, (_, position) => events.has(position));
}

const toFiniteNumbers = (values: Float64Array): (number | null)[] =>
  Array.from(values, (value) => (Number.isFinite(value) ? value : null));

function computeCompositions(
  columns: RunColumns,
  days: Int32Array,
): Pick<IndexCloses, 'composition_hash' | 'held' | 'without_bar'> {
  const { names, has_index_weights: hasOwn } = columns.header;
  const panel = columns.has('publishedWeights') ? 'publishedWeights' : hasOwn ? 'indexWeights' : 'weights';
  const rows = openPanelRows(columns, panel, { from: 0, to: days.length - 1 });
  const missingBars = listMissingBars(columns, days);
  // RFC 8785 sorts members by UTF-16 code units, as JavaScript does.
  const order = [...names.keys()].toSorted((a, b) => (names[a]! < names[b]! ? -1 : 1));
  const keys = names.map((name) => JSON.stringify(name));
  const closes = Array.from(days, (_, close) => {
    const weights = rows.at(close);
    const roundWeight = roundOnDay(columns, 'weights', days[close]!);
    const members = order.flatMap((i) =>
      weights[i] === 0 ? [] : `${keys[i]}:${JSON.stringify(roundWeight(weights[i]!))}`,
    );
    const hash = createHash('sha256')
      .update(`{${members.join(',')}}`)
      .digest('hex');
    const withoutBar = (missingBars.get(close) ?? []).filter((i) => weights[i] !== 0).length;
    return { hash, held: members.length, withoutBar };
  });
  return {
    composition_hash: closes.map(({ hash }) => hash),
    held: closes.map(({ held }) => held),
    without_bar: closes.map(({ withoutBar }) => withoutBar),
  };
}

/**
 * Returns the securities of the run that have no bar, by position of the date. A file of version 0.1.0 does not record
 * them; the result is then empty.
 */
function listMissingBars(columns: RunColumns, days: Int32Array): ReadonlyMap<number, readonly number[]> {
  const missingBars = new Map<number, number[]>();
  if (!columns.has('record')) return missingBars;
  const { identifiers, gaps } = openRecordParts(columns);
  const { columns: gapColumns, days: gapDays } = gaps();
  const positionByName = new Map(columns.header.names.map((name, i) => [name, i]));
  for (const [g, day] of gapDays.entries()) {
    const close = findLastAtMost(days, day);
    const name = positionByName.get(identifiers[gapColumns[g]!]!);
    if (days[close] !== day || name === undefined) continue;
    const otherNames = missingBars.get(close);
    if (otherNames) otherNames.push(name);
    else missingBars.set(close, [name]);
  }
  return missingBars;
}

export interface Recomputation {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly plan: BacktestPlan;
  /** Stored risk models used by the plan. */
  readonly models?: StoredModels;
  /** Earlier versions of the data. Needed if decisions in the plan use data as it was known at the time. */
  readonly known?: DatedMarkets | undefined;
  /** Engine with bit-identical results on all platforms. */
  readonly engine: Engine;
  /** Called with every composer of the run. */
  readonly onComposer?: (composer: Composer) => void;
}

/**
 * Recomputes a run. Returns the run and its closes.
 * @throws Refusal as a backtest does
 */
export function recomputeCloses({ engine, onComposer, ...input }: Recomputation): {
  readonly closes: IndexCloses;
  readonly run: Run;
} {
  return engine.scope(() => {
    const createDeciders = createIndexDeciders(engine);
    const createDecider: DeciderFactory = (document, composer) => {
      onComposer?.(composer);
      return createDeciders(document, composer);
    };
    const run = runBacktest({ ...input, createDecider, engine, report: () => {} });
    const bytes = createRunColumns(run, { contentHash: input.market.contentHash });
    return { run, closes: createClosesView(openColumns((start, end) => bytes.subarray(start, end))) };
  });
}

const FIGURES = ['price', 'total', 'net', 'divisor'] as const;
const COMPARED = [...FIGURES, 'composition_hash'] as const;

export interface DifferingClose {
  readonly date: string;
  readonly member: (typeof COMPARED)[number] | 'date';
  readonly published: string | number | null;
  /** Recomputed value; null if the run does not contain the session. */
  readonly recomputed: string | number | null;
}

/**
 * Returns the published closes that are not bit-identical to those of a run, by date. A composition that differs only by
 * a correction below the rounding of the index is no difference.
 * @param entries log entries, in the order of the log
 */
export function findDifferingCloses(
  entries: Iterable<PublicationEntry>,
  closes: IndexCloses,
): readonly DifferingClose[] {
  const rowByDate = new Map(closes.dates.map((date, i) => [date, i]));
  const entriesByDate = new Map<string, PublicationEntry>();
  for (const entry of entries) entriesByDate.set(entry.date, entry);
  const agreements = findAgreements(
    closes.dates.map((date, i) => {
      const entry = entriesByDate.get(date);
      return {
        hasSameFigures: entry !== undefined && FIGURES.every((name) => Object.is(entry[name], closes[name][i])),
        hasSameComposition: entry !== undefined && entry.composition_hash === closes.composition_hash[i],
        isRounded: closes.rounded[i]!,
        isTraded: closes.traded[i]!,
      };
    }),
  );
  return [...entriesByDate.values()]
    .toSorted((a, b) => (a.date < b.date ? -1 : 1))
    .flatMap((entry): DifferingClose[] => {
      const i = rowByDate.get(entry.date);
      if (i === undefined) return [{ date: entry.date, member: 'date', published: entry.date, recomputed: null }];
      if (agreements[i]!) return [];
      const member = COMPARED.find((name) => !Object.is(entry[name], closes[name][i]))!;
      return [{ date: entry.date, member, published: entry[member], recomputed: closes[member][i]! }];
    });
}

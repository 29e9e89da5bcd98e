import { createIndexDeciders } from '#domain/backtest/index-decider.js';
import { openColumns } from '#domain/backtest/run-file/read.js';
import { createRunColumns } from '#domain/backtest/run-file/write.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import type { Run } from '#domain/backtest/run.js';
import type { Composer, DeciderFactory } from '#domain/books/compositions.js';
import type { DatedMarkets } from '#domain/books/decision-seats.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { PublicationEntry } from '#domain/documents/publication-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { StoredModels } from '#domain/risk/stored-model.js';
import type { Engine } from '#kernels/engines/engine.js';
import { createClosesView, type ClosesView } from '../closes-view.js';

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
  readonly closes: ClosesView;
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

const COMPARED = ['price', 'total', 'net', 'divisor', 'composition_hash'] as const;

/** Published close that differs from the recomputed close. */
export interface DifferingClose {
  readonly date: string;
  readonly member: (typeof COMPARED)[number] | 'date';
  readonly published: string | number | null;
  /** Recomputed value; null if the run does not contain the session. */
  readonly recomputed: string | number | null;
}

/**
 * Returns the published closes that are not bit-identical to those of a run, by date.
 * @param entries log entries, in the order of the log
 */
export function findDifferingCloses(
  entries: Iterable<PublicationEntry>,
  closes: ClosesView,
): readonly DifferingClose[] {
  const rowByDate = new Map(closes.dates.map((date, i) => [date, i]));
  const entriesByDate = new Map<string, PublicationEntry>();
  for (const entry of entries) entriesByDate.set(entry.date, entry);
  return [...entriesByDate.values()]
    .toSorted((a, b) => (a.date < b.date ? -1 : 1))
    .flatMap((entry): DifferingClose[] => {
      const i = rowByDate.get(entry.date);
      if (i === undefined) return [{ date: entry.date, member: 'date', published: entry.date, recomputed: null }];
      const member = COMPARED.find((name) => !Object.is(entry[name], closes[name][i]));
      if (member === undefined) return [];
      return [{ date: entry.date, member, published: entry[member], recomputed: closes[member][i]! }];
    });
}

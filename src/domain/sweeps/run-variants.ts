import type { BacktestMetrics } from '../analytics/series.js';
import type { KnownMarkets } from '../backtest/simulate/known-seats.js';
import type { Composer, DeciderFactory } from '../backtest/simulate/compositions.js';
import type { BacktestPlan } from '../backtest/plan.js';
import { assertReturns } from '../backtest/run-summary.js';
import { computeRun } from '../backtest/compute-run.js';
import type { Calendars } from '../calendars/calendar.js';
import { canonicalJson } from '../canonical-json.js';
import type { MarketData } from '../market/market-data.js';
import { Refusal, type ErrorDetail } from '../refusal.js';
import type { StoredModels } from '../risk/stored-model.js';
import type { Variant } from './variants.js';

/** How one variant went. */
export type VariantOutcome = VariantRun | { readonly kind: 'refused'; readonly error: ErrorDetail };

export interface VariantRun {
  readonly kind: 'run';
  readonly metrics: BacktestMetrics;
  readonly totalCosts: number;
  /** Dates of the run, [T]. */
  readonly days: Int32Array;
  /** Portfolio rebased to 100, [T]. */
  readonly level: Float64Array;
}

export interface VariantsInput {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly variants: readonly Variant[];
  /** Documents that variants reach, besides themselves. */
  readonly documents: BacktestPlan['documents'];
  /** Stored risk models of the variants; absent where they use none. */
  readonly models?: StoredModels;
  readonly createDecider: DeciderFactory;
  /** What was known of the market at decisions, for variants that ask for it. */
  readonly known?: KnownMarkets | undefined;
  /** Progress, 0 to 1; stops the work by throwing. */
  readonly report: (fraction: number) => void;
}

/**
 * Runs variants one after the other, each as a run of its own would go, bit for bit: they share the aligned market and
 * its growth, and those with the same definition up to the same end share its compositions. One that is refused says
 * why.
 */
export function runVariants({
  market,
  calendars,
  variants,
  documents,
  models,
  createDecider,
  known: knownMarkets,
  report,
}: VariantsInput): VariantOutcome[] {
  const composers = new Map<string, Composer>();
  return variants.map((variant, i) => {
    const { document, request } = variant;
    const plan = planOfVariant(variant, documents);
    const key = canonicalJson([document, request.end, request.as_known ?? null]);
    const known = composers.get(key);
    const tick = (fraction: number): void => report((i + fraction) / variants.length);
    try {
      const run = computeRun({
        market,
        calendars,
        plan,
        ...(models === undefined ? {} : { models }),
        createDecider,
        known: knownMarkets,
        report: tick,
        ...(known === undefined ? {} : { composer: known }),
      });
      assertReturns(run);
      composers.set(key, run.composer);
      return { kind: 'run', metrics: run.metrics, totalCosts: run.totalCosts, days: run.days, level: run.level };
    } catch (refusal) {
      if (refusal instanceof Refusal) return { kind: 'refused', error: refusal.toDetail() };
      throw refusal;
    }
  });
}

function planOfVariant({ document, request, strategy }: Variant, documents: BacktestPlan['documents']): BacktestPlan {
  return {
    runId: document.id,
    name: document.name,
    indexId: document.id,
    documents: { ...documents, [document.id]: document },
    request,
    ...(strategy === null ? {} : { strategy }),
  };
}

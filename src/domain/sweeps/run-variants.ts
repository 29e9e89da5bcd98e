import type { BacktestMetrics } from '../analytics/series.js';
import type { KnownMarkets } from '../backtest/simulate/known-seats.js';
import type { DeciderFactory } from '../backtest/simulate/compositions.js';
import type { BacktestPlan } from '../backtest/plan.js';
import { assertReturns } from '../backtest/run-summary.js';
import { computeRun } from '../backtest/compute-run.js';
import type { ComputedRun } from '../backtest/run.js';
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
 * its growth, those with the same definition up to the same end its compositions, and those of them that span the same
 * sessions the index. One that is refused says why.
 */
export function runVariants(input: VariantsInput): VariantOutcome[] {
  const { variants, report } = input;
  const outcomes: VariantOutcome[] = [];
  let done = 0;
  for (const group of byDefinition(variants)) {
    const levelsOnly = group.every((position) => variants[position]!.strategy === null);
    let before: ComputedRun | undefined;
    for (const position of group) {
      const tick = (fraction: number): void => report((done + fraction) / variants.length);
      const run = computed(input, { variant: variants[position]!, before, levelsOnly, tick });
      outcomes[position] = run.outcome;
      before = run.computed ?? before;
      done++;
    }
  }
  return outcomes;
}

/** Positions of variants with one definition up to one end, in the order of the first of each. */
function byDefinition(variants: readonly Variant[]): Iterable<readonly number[]> {
  const groups = new Map<string, number[]>();
  variants.forEach(({ document, request }, position) => {
    const key = canonicalJson([document, request.end, request.as_known ?? null]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [position]);
    else group.push(position);
  });
  return groups.values();
}

interface VariantInput {
  readonly variant: Variant;
  /** The last variant of the same definition that ran. */
  readonly before: ComputedRun | undefined;
  readonly levelsOnly: boolean;
  readonly tick: (fraction: number) => void;
}

function computed(
  { market, calendars, documents, models, createDecider, known }: VariantsInput,
  { variant, before, levelsOnly, tick }: VariantInput,
): { readonly outcome: VariantOutcome; readonly computed?: ComputedRun } {
  try {
    const run = computeRun({
      market,
      calendars,
      plan: planOfVariant(variant, documents),
      ...(models === undefined ? {} : { models }),
      createDecider,
      known,
      report: tick,
      levelsOnly,
      ...(before === undefined ? {} : { composer: before.composer, before }),
    });
    assertReturns(run);
    const { metrics, totalCosts, days, level } = run;
    return { outcome: { kind: 'run', metrics, totalCosts, days, level }, computed: run };
  } catch (refusal) {
    if (refusal instanceof Refusal) return { outcome: { kind: 'refused', error: refusal.toDetail() } };
    throw refusal;
  }
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

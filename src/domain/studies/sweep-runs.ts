import type { BacktestMetrics } from '../analytics/returns.js';
import { computeRun } from '../backtest/run-backtest.js';
import type { ComputedRun } from '../backtest/run.js';
import { assertReturns } from '../backtest/summary.js';
import { toCanonicalJson } from '../base/json.js';
import { type ErrorDetail, Refusal } from '../base/refusals.js';
import { createSparseMemory, type SparseWeightMemory } from '../books/book.js';
import type { DatedMarkets } from '../books/composer.js';
import type { DeciderFactory } from '../books/compositions.js';
import type { Calendars } from '../calendars/calendar.js';
import type { BacktestPlan } from '../definition/backtest-plan.js';
import type { MarketData } from '../market/market-data.js';
import type { StoredModels } from '../risk/stored-models.js';
import type { Variant } from './sweep.js';

export type VariantOutcome = VariantRun | { readonly kind: 'refused'; readonly error: ErrorDetail };

export interface VariantRun {
  readonly kind: 'run';
  readonly metrics: BacktestMetrics;
  readonly totalCosts: number;
  /** Dates of the run, [T]. */
  readonly days: Int32Array;
  /** Levels of the portfolio, rebased to 100, [T]. */
  readonly level: Float64Array;
}

export interface VariantsInput {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly variants: readonly Variant[];
  readonly documents: BacktestPlan['documents'];
  /** Stored risk models of the variants; absent if there are none. */
  readonly models?: StoredModels;
  readonly createDecider: DeciderFactory;
  /** Markets as known at decisions, for variants that request them. */
  readonly known?: DatedMarkets | undefined;
  /** Memory for weights, shared with other variants. */
  readonly room?: SparseWeightMemory;
  /** Reports progress from 0 to 1; may throw to stop the work. */
  readonly report: (fraction: number) => void;
}

/**
 * Runs variants one after the other, each bit-identical to a single run. They share the aligned market, its growth, and
 * memory for weights. Variants with equal definition and end share compositions. If their sessions are equal too, they
 * share the index. A refused variant has a reason.
 */
export function runVariants(input: VariantsInput): VariantOutcome[] {
  const { variants, report, room = createSparseMemory() } = input;
  const outcomes: VariantOutcome[] = [];
  let completedCount = 0;
  for (const group of groupByDefinition(variants)) {
    const isSparse = group.every((position) => variants[position]!.strategy === null);
    let first: ComputedRun | undefined;
    let before: ComputedRun | undefined;
    try {
      for (const position of group) {
        const reportVariant = (fraction: number): void => report((completedCount + fraction) / variants.length);
        const run = computeValue(input, {
          variant: variants[position]!,
          before,
          room: isSparse ? room : null,
          tick: reportVariant,
        });
        outcomes[position] = run.outcome;
        before = run.computed ?? before;
        first ??= before;
        completedCount++;
      }
      if (first !== undefined) room.giveBack(first.index.book, first.from);
    } finally {
      room.drop();
    }
  }
  return outcomes;
}

/** Groups the indices of variants by definition and end, in the order of the first variant of each group. */
function groupByDefinition(variants: readonly Variant[]): Iterable<readonly number[]> {
  const groups = new Map<string, number[]>();
  variants.forEach(({ document, request }, position) => {
    const key = toCanonicalJson([document, request.end, request.as_known ?? null]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [position]);
    else group.push(position);
  });
  return groups.values();
}

interface VariantInput {
  readonly variant: Variant;
  /** Last variant with this definition that ran. */
  readonly before: ComputedRun | undefined;
  /** Memory for weights. Null unless only the portfolio that holds the index reads the weights. */
  readonly room: SparseWeightMemory | null;
  readonly tick: (fraction: number) => void;
}

function computeValue(
  { market, calendars, documents, models, createDecider, known }: VariantsInput,
  { variant, before, room, tick }: VariantInput,
): { readonly outcome: VariantOutcome; readonly computed?: ComputedRun } {
  try {
    const run = computeRun({
      market,
      calendars,
      plan: createVariantPlan(variant, documents),
      ...(models === undefined ? {} : { models }),
      createDecider,
      known,
      report: tick,
      ...(room === null ? {} : { levelsOnly: true, roomForWeights: room.take }),
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

function createVariantPlan(
  { document, request, strategy }: Variant,
  documents: BacktestPlan['documents'],
): BacktestPlan {
  return {
    runId: document.id,
    name: document.name,
    indexId: document.id,
    documents: { ...documents, [document.id]: document },
    request,
    ...(strategy === null ? {} : { strategy }),
  };
}

/**
 * Outcomes of the variants of a sweep. They need not all be in memory. They can be visited several times, always in the
 * same arbitrary order.
 */
export interface OutcomeSource {
  readonly count: number;
  /** Calls a function with each outcome once. @param variants requested variants. Default: all. */
  visit(call: (variant: number, outcome: VariantOutcome) => void, variants?: ReadonlySet<number>): void;
  /** Returns a key of a run. Two runs have equal keys if and only if their dates and levels are equal. */
  keyOf(run: VariantRun): string;
}

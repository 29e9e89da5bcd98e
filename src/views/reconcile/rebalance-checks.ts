import type { StoredRebalance } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { check, furthest, type Check, type Furthest } from './check.js';

/** A rebalance of a stored run. */
interface Applied {
  readonly date: string;
  readonly cap: number | null;
  readonly redistributed: number;
  /** True if weights became index shares earlier: they were capped then, and have drifted since. */
  readonly hasDrifted: boolean;
  /** Applied weights and weights before capping, [H]. */
  readonly applied: Float64Array;
  readonly uncapped: Float64Array;
  /** 1 for the securities held at the cap, [H]. */
  readonly isCapped: Uint8Array;
  /** True if the run is that of the index itself. */
  readonly isOfIndex: boolean;
  /** An overlay may hold more than its value. */
  readonly isOverlay: boolean;
  /**
   * Weights that the index holds at the close, [H]; null of a strategy, or where another rebalance follows on the date.
   */
  readonly held: Float64Array | null;
  /** Prices of the session, NaN without a bar, [H]; null if targets do not wait for one. */
  readonly prices: Float64Array | null;
  /** Cash that the index holds at the close; null if it is not stored. */
  readonly cash: number | null;
}

/** Returns the applied weights of each rebalance, against its start weights and cap. */
export function rebalanceChecks(columns: RunColumns): Check[] {
  return columns.header.rebalances.flatMap((rebalance, r) => {
    const applied = readApplied(columns, rebalance, r);
    return [...sumChecks(applied), ...checkHeld(applied), ...capChecks(applied)];
  });
}

function readApplied(
  columns: RunColumns,
  { date, at, cap, redistributed, reference }: StoredRebalance,
  r: number,
): Applied {
  const {
    names,
    rebalances,
    treatment,
    has_index_weights: hasIndexWeights,
    run_id: runId,
    index_id: indexId,
  } = columns.header;
  const H = names.length;
  const isOfIndex = runId === indexId;
  const defers = treatment.stale_targets === 'defer';
  // The holdings of a strategy depend on its tolerance and its costs.
  const isHeld = isOfIndex && at >= 0 && rebalances[r + 1]?.at !== at;
  return {
    date,
    cap,
    redistributed,
    hasDrifted: reference !== undefined,
    isOfIndex,
    isOverlay: columns.header.parts !== undefined,
    applied: columns.f64('targets', r * H, (r + 1) * H),
    uncapped: columns.f64('raw', r * H, (r + 1) * H),
    isCapped: columns.u8('capped', r * H, (r + 1) * H),
    held: isHeld ? columns.f64(hasIndexWeights ? 'indexWeights' : 'weights', at * H, (at + 1) * H) : null,
    prices: isHeld && defers ? columns.f64('price', at * H, (at + 1) * H) : null,
    // Weights of securities that wait for a bar are in cash as well.
    cash: isHeld && !hasIndexWeights && !defers ? columns.f64('cash', at, at + 1)[0]! : null,
  };
}

/**
 * Returns an index invests the sum of its weights before capping; a strategy a fraction of that, never more than is
 * available.
 */
function sumChecks(rebalance: Applied): Check[] {
  const { date, applied, uncapped, redistributed, hasDrifted, isOfIndex, isOverlay, cash } = rebalance;
  const invested = sumOf(applied);
  const before = sumOf(uncapped);
  const exposure = exposureOf({ applied, uncapped, isOfIndex });
  const moved = uncapped.reduce((total, u, i) => total + Math.max(0, exposure * u - applied[i]!), 0);
  return [
    check({
      name: `rebalance ${date}: weights`,
      meaning: 'Applied weights sum to the invested share: 1 less cash.',
      left: invested,
      right: cash !== null ? 1 - cash : isOverlay ? invested : Math.min(1, invested),
    }),
    check({
      name: `rebalance ${date}: uncapped weights`,
      meaning: 'Weights before capping sum to what is invested, and to 1 at most.',
      left: before,
      right: isOfIndex ? invested : isOverlay ? before : Math.min(1, before),
    }),
    ...(hasDrifted
      ? []
      : [
          check({
            name: `rebalance ${date}: redistributed`,
            meaning: 'The moved weight equals the weight that securities lost to the cap.',
            left: moved,
            right: exposure * redistributed,
          }),
        ]),
  ];
}

/** Fraction of the weights before capping that is invested: a strategy's exposure. */
function exposureOf({ applied, uncapped, isOfIndex }: Pick<Applied, 'applied' | 'uncapped' | 'isOfIndex'>): number {
  const before = uncapped.reduce((sum, weight) => sum + Math.abs(weight), 0);
  return isOfIndex || before === 0 ? 1 : applied.reduce((sum, weight) => sum + Math.abs(weight), 0) / before;
}

function checkHeld({ date, applied, held, prices }: Applied): Check[] {
  if (held === null) return [];
  const furthestHeld = furthest();
  noteHeld(furthestHeld, { held, applied, prices });
  return [
    check({
      name: `rebalance ${date}: held`,
      meaning:
        'The weights held at the close equal the applied weights where no security waits for a bar; the sides are those of the security with the largest difference.',
      ...furthestHeld.sides(),
    }),
  ];
}

interface HeldRow {
  readonly held: Float64Array;
  readonly applied: Float64Array;
  readonly prices: Float64Array | null;
}

/**
 * Securities without a bar keep their weight. The weight left for the others is distributed in proportion to the
 * applied weights, or with short positions to the existing ones.
 */
function noteHeld(sides: Furthest, { held, applied, prices }: HeldRow): void {
  const isWithoutPrice = (i: number): boolean => prices !== null && Number.isNaN(prices[i]!);
  const isShort = (weights: Float64Array): boolean => weights.some((weight) => weight < 0);
  if (prices?.some((_, i) => isWithoutPrice(i)) && (isShort(held) || isShort(applied))) return;
  const trade = (weights: Float64Array): number =>
    weights.reduce((sum, weight, i) => (isWithoutPrice(i) ? sum : sum + weight), 0);
  const scale = prices === null || trade(applied) === 0 ? 1 : Math.min(1, trade(held) / trade(applied));
  held.forEach((weight, i) => isWithoutPrice(i) || sides.note(weight, scale * applied[i]!));
}

function capChecks({ date, cap, applied, uncapped, isCapped, hasDrifted, isOfIndex }: Applied): Check[] {
  if (cap === null || hasDrifted) return [];
  const largest = applied.reduce((most, weight) => Math.max(most, weight), 0);
  const exposure = exposureOf({ applied, uncapped, isOfIndex });
  const atCap = furthest();
  applied.forEach((weight, i) => isCapped[i] === 1 && atCap.note(weight, exposure * cap));
  return [
    check({
      name: `rebalance ${date}: cap`,
      meaning: 'No weight exceeds the cap.',
      left: Math.max(largest, cap),
      right: cap,
    }),
    check({
      name: `rebalance ${date}: capped names`,
      meaning:
        'Securities held at the cap have that weight, as a share of the invested part; the sides are those of the security with the largest difference.',
      ...atCap.sides(),
    }),
  ];
}

function sumOf(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}

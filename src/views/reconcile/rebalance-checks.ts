import type { StoredRebalance } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { createCheck, createFurthest, type Check, type Furthest } from './check.js';

/** A rebalance of a stored run. */
interface AppliedRebalance {
  readonly date: string;
  readonly cap: number | null;
  readonly redistributed: number;
  /** True if the weights were converted to index shares and capped on an earlier date. They have drifted since. */
  readonly hasDrifted: boolean;
  /** Applied weights, [H]; the next field contains the weights before capping. */
  readonly applied: Float64Array;
  readonly uncapped: Float64Array;
  /** 1 for capped securities, [H]. */
  readonly isCapped: Uint8Array;
  /** True for the run of an index, false for the run of a strategy. */
  readonly isOfIndex: boolean;
  /** True for an overlay, whose weights may sum to more than 1. */
  readonly isOverlay: boolean;
  /**
   * Index weights at the close, [H]. Null for a strategy, for a composition from before the run, or if another
   * rebalance follows on the same date.
   */
  readonly held: Float64Array | null;
  /** Prices of the session, [H], NaN without a bar; null if targets do not wait for a bar. */
  readonly prices: Float64Array | null;
  /** Cash of the index at the close; null if it is not stored or not checked. */
  readonly cash: number | null;
}

/** Checks the applied weights of each rebalance against the weights before capping and the cap. */
export function checkRebalances(columns: RunColumns): Check[] {
  return columns.header.rebalances.flatMap((rebalance, r) => {
    const appliedRebalance = readApplied(columns, rebalance, r);
    return [...checkSums(appliedRebalance), ...checkHoldings(appliedRebalance), ...checkCaps(appliedRebalance)];
  });
}

function readApplied(
  columns: RunColumns,
  { date, at, cap, redistributed, reference }: StoredRebalance,
  r: number,
): AppliedRebalance {
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
  const defersTargets = treatment.stale_targets === 'defer';
  // The holdings of a strategy also depend on its tolerance and its costs. Therefore they are not checked.
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
    prices: isHeld && defersTargets ? columns.f64('price', at * H, (at + 1) * H) : null,
    // If a security waits for a bar, its weight is part of the cash. The cash is then not checked.
    cash: isHeld && !hasIndexWeights && !defersTargets ? columns.f64('cash', at, at + 1)[0]! : null,
  };
}

/**
 * Checks the sum of the applied weights. An index invests the whole sum of the weights before capping. A strategy
 * invests a fraction of it, at most the available value.
 */
function checkSums(rebalance: AppliedRebalance): Check[] {
  const { date, applied, uncapped, redistributed, hasDrifted, isOfIndex, isOverlay, cash } = rebalance;
  const investedWeight = sumValues(applied);
  const sumBefore = sumValues(uncapped);
  const exposure = computeExposure({ applied, uncapped, isOfIndex });
  const excessWeight = uncapped.reduce((total, u, i) => total + Math.max(0, exposure * u - applied[i]!), 0);
  return [
    createCheck({
      name: `rebalance ${date}: weights`,
      meaning: 'The applied weights sum to the invested fraction: 1 minus cash.',
      left: investedWeight,
      right: cash !== null ? 1 - cash : isOverlay ? investedWeight : Math.min(1, investedWeight),
    }),
    createCheck({
      name: `rebalance ${date}: uncapped weights`,
      meaning: 'The weights before capping sum to the invested fraction, and to at most 1.',
      left: sumBefore,
      right: isOfIndex ? investedWeight : isOverlay ? sumBefore : Math.min(1, sumBefore),
    }),
    ...(hasDrifted
      ? []
      : [
          createCheck({
            name: `rebalance ${date}: redistributed`,
            meaning: 'The moved weight equals the weight that securities lost to the cap.',
            left: excessWeight,
            right: exposure * redistributed,
          }),
        ]),
  ];
}

/** Returns the fraction of the weights before capping that is invested. For a strategy this is its exposure. */
function computeExposure({
  applied,
  uncapped,
  isOfIndex,
}: Pick<AppliedRebalance, 'applied' | 'uncapped' | 'isOfIndex'>): number {
  const grossBefore = uncapped.reduce((sum, weight) => sum + Math.abs(weight), 0);
  return isOfIndex || grossBefore === 0 ? 1 : applied.reduce((sum, weight) => sum + Math.abs(weight), 0) / grossBefore;
}

function checkHoldings({ date, applied, held, prices }: AppliedRebalance): Check[] {
  if (held === null) return [];
  const furthestHeld = createFurthest();
  recordHoldings(furthestHeld, { held, applied, prices });
  return [
    createCheck({
      name: `rebalance ${date}: held`,
      meaning:
        'The weights held at the close equal the applied weights where no security waits for a bar; the sides are those of the security with the largest difference.',
      ...furthestHeld.sides(),
    }),
  ];
}

interface HoldingsRow {
  readonly held: Float64Array;
  readonly applied: Float64Array;
  readonly prices: Float64Array | null;
}

/**
 * Records the differences between held and expected weights. A security without a bar keeps its weight. The rest is
 * distributed to the other securities in proportion to their applied weights. If a bar is missing and there are short
 * positions, nothing is recorded.
 */
function recordHoldings(sides: Furthest, { held, applied, prices }: HoldingsRow): void {
  const isWithoutPrice = (i: number): boolean => prices !== null && Number.isNaN(prices[i]!);
  const isShort = (weights: Float64Array): boolean => weights.some((weight) => weight < 0);
  if (prices?.some((_, i) => isWithoutPrice(i)) && (isShort(held) || isShort(applied))) return;
  const trade = (weights: Float64Array): number =>
    weights.reduce((sum, weight, i) => (isWithoutPrice(i) ? sum : sum + weight), 0);
  const scale = prices === null || trade(applied) === 0 ? 1 : Math.min(1, trade(held) / trade(applied));
  held.forEach((weight, i) => isWithoutPrice(i) || sides.note(weight, scale * applied[i]!));
}

function checkCaps({ date, cap, applied, uncapped, isCapped, hasDrifted, isOfIndex }: AppliedRebalance): Check[] {
  if (cap === null || hasDrifted) return [];
  const largest = applied.reduce((largestWeight, weight) => Math.max(largestWeight, weight), 0);
  const exposure = computeExposure({ applied, uncapped, isOfIndex });
  const furthestCap = createFurthest();
  applied.forEach((weight, i) => isCapped[i] === 1 && furthestCap.note(weight, exposure * cap));
  return [
    createCheck({
      name: `rebalance ${date}: cap`,
      meaning: 'No weight exceeds the cap.',
      left: Math.max(largest, cap),
      right: cap,
    }),
    createCheck({
      name: `rebalance ${date}: capped securities`,
      meaning:
        'Securities held at the cap have the weight of the cap, as a fraction of the invested weight; the sides are those of the security with the largest difference.',
      ...furthestCap.sides(),
    }),
  ];
}

function sumValues(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}

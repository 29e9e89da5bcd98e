import type { RunsDifference } from '#contract/analytics/run-differences.js';
import { roundToCommonGrid } from '#domain/backtest/common-grid.js';
import { mayDifferInBits } from '#domain/backtest/engine-bits.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { DocumentChange } from '#domain/documents/document-changes.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { MarketHandle } from '#domain/market/handle.js';

/** Stored run with all its inputs. */
export interface RunSide {
  readonly run: RunDocument;
  readonly plan: BacktestPlan;
  /** Version of the run's data; null if it is unknown. */
  readonly version: number | null;
  readonly market: MarketHandle | UnavailableValue;
}

/** Value that is unavailable, with the reason as a sentence. */
export interface UnavailableValue {
  readonly reason: string;
}

/** Inputs of a replayed run. */
export interface Inputs {
  readonly plan: BacktestPlan;
  /** Run that provides the data. */
  readonly data: RunSide;
}

export interface Causes {
  readonly definition: DocumentChange[];
  readonly request: DocumentChange[];
  readonly isOtherData: boolean;
}

export interface RunEnds {
  readonly from: RunSide;
  readonly to: RunSide;
  /** Total returns of both runs as stored. */
  readonly totals: readonly number[];
  readonly engineVersion: string;
}

type Effects = Pick<RunsDifference, 'effects' | 'effects_reason' | 'total_return'>;

/**
 * Splits a difference into its causes. Definition, request and data are replaced one at a time on the current engine.
 * Any remaining difference between a replay and a stored result is due to the engine.
 * @param value total return of a replay
 */
export async function attributeDifference(
  { definition, request, isOtherData }: Causes,
  { from, to, totals, engineVersion }: RunEnds,
  value: (inputs: Inputs) => Promise<number | UnavailableValue>,
): Promise<Effects> {
  const isOtherEngine = (side: RunSide): boolean => mayDifferInBits(side.run.engine_version, engineVersion);
  const [first, last] = [totals[0]!, totals[1]!];
  const start = isOtherEngine(from) ? await value({ plan: from.plan, data: from }) : first;
  const isEnd = { request: !isOtherData, definition: request.length === 0 && !isOtherData };
  const endValue = isOtherEngine(to) ? await value({ plan: to.plan, data: to }) : last;
  const exchangedPlan = {
    ...to.plan,
    documents: { ...from.plan.documents, ...to.plan.documents },
    request: from.plan.request,
  };
  const step = async (
    isChanged: boolean,
    previousValue: number | UnavailableValue,
    isLast: boolean,
    plan: BacktestPlan,
  ) => {
    if (!isChanged) return previousValue;
    return isLast ? endValue : value({ plan, data: from });
  };
  const afterDefinition = await step(definition.length > 0, start, isEnd.definition, exchangedPlan);
  const afterRequest = await step(request.length > 0, afterDefinition, isEnd.request, to.plan);
  const afterData = isOtherData ? endValue : afterRequest;
  const path = [first, start, afterDefinition, afterRequest, afterData, endValue, last];
  const unavailableValue = path.find((pathPart) => typeof pathPart === 'object');
  if (unavailableValue !== undefined) {
    const [low, high] = roundToCommonGrid([first, last]);
    return { effects: null, effects_reason: unavailableValue.reason, total_return: high! - low! };
  }
  const knownEffects = path.filter((pathPart) => typeof pathPart === 'number');
  const [a, b, c, d, e, f, g] = roundToCommonGrid(knownEffects) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return {
    effects: [
      { cause: 'definition', total_return: c - b },
      { cause: 'request', total_return: d - c },
      { cause: 'data', total_return: e - d },
      { cause: 'engine', total_return: b - a + (f - e) + (g - f) },
    ],
    effects_reason: null,
    total_return: g - a,
  };
}

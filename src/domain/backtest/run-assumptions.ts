import { reportAssumptions } from '../checks/assumptions.js';
import type { BacktestPlan } from '../documents/backtest-plan.js';
import type { IndexDocument, TreatmentSpec } from '../documents/index-document.js';
import type { MarketData } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';
import type { Finding } from '../refusals/findings.js';
import { warnOfCutBenchmark, warnOfCutWindow } from './cut-window.js';

/** Index of a run, aligned with its market. */
interface RunIndex {
  readonly document: IndexDocument;
  readonly treatment: TreatmentSpec;
  readonly sm: SessionMarket;
}

/**
 * Returns the assumptions of a run that neither the request nor the definition states.
 * @param days sessions of the run
 * @param common sessions on which the benchmark has a level; null without a benchmark
 */
export function listRunAssumptions(
  { plan, market }: { readonly plan: BacktestPlan; readonly market: MarketData },
  { document, treatment, sm }: RunIndex,
  days: Int32Array,
  common: Int32Array | null,
): Finding[] {
  const { request, documents, strategy } = plan;
  return [
    ...warnOfCutWindow({ request, document, calendar: sm.calendar, first: days[0]!, last: days.at(-1)! }),
    ...(common === null || !request.benchmark ? [] : warnOfCutBenchmark(request.benchmark.id, common, days)),
    ...reportAssumptions({
      document,
      treatment,
      market,
      indexOf: (id) => documents[id],
      rows: strategy?.constraints,
      isRun: true,
    }),
  ];
}

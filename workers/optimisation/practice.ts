import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { IndexDocument } from '#domain/documents/index-document.js';
import { OptimisationRequest } from '#domain/documents/optimisation-request.js';
import type { MarketHandle } from '#domain/market/handle.js';
import { includeList } from '#domain/rules/selection/include-list.js';
import { equalWeight } from '#domain/rules/weighting/equal-weight.js';
import { marketCapWeight } from '#domain/rules/weighting/market-cap-weight.js';
import { runOptimisation, readRequestTerms } from '#domain/optimisation/run.js';
import { formatDay } from '#domain/time/days.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import { toOptimisationResult } from '#views/optimisation.js';
import { createQuestionComposer } from '../input/index-composer.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';

/** Numbers of securities and sessions of the risk model. They are large enough that V8 compiles the code. */
const SECURITIES = 150;
const SESSIONS = 200;

/**
 * Practice problems, which differ so that the compiled code is not specialised to a single problem. One in `every`
 * securities is excluded. The turnover limit binds at the optimum, along the frontier or nowhere.
 */
const VARIANTS = [
  { every: 17, turnover: 0.1 },
  { every: 75, turnover: 0.02 },
  { every: 29, turnover: 0.05 },
  { every: 40, turnover: 0.3 },
] as const;

/** Number of practice turns of this thread. */
let practiceTurns = 0;

/**
 * Optimises some securities of a market for a planned index and discards the result. This compiles the code and
 * prepares the returns in the currency and on the sessions of the index. The problem has a turnover limit, an
 * exclusion, a frontier and explanations, as clients often request.
 * @throws Refusal if the market has too few prices
 */
export async function practiseOptimisation(
  handle: MarketHandle,
  { documents: planned, indexId }: BacktestPlan,
  control: TaskControl,
): Promise<void> {
  const market = openCachedMarket(handle);
  const { dates, identifiers } = market;
  const names = identifiers.slice(0, SECURITIES);
  const { calendar, currency, base_date, pipeline } = planned[indexId]!;
  const index = IndexDocument.parse({
    id: 'PRACTICE',
    name: 'Practice',
    calendar,
    currency,
    base_date,
    pipeline: {
      treatment: pipeline?.treatment,
      selection: [{ id: 'some', type: includeList.type, params: { identifiers: names } }],
      weighting: pipeline?.weighting.type === marketCapWeight.type ? pipeline.weighting : { type: equalWeight.type },
    },
  });
  const request = OptimisationRequest.parse({
    index_id: index.id,
    constraint_set_id: index.id,
    start: formatDay(dates[Math.max(0, dates.length - SESSIONS)]!),
  });
  const { every, turnover } = VARIANTS[practiceTurns++ % VARIANTS.length]!;
  await runOnEngine((engine) => {
    const lastDay = dates.at(-1) ?? 0;
    const documents = { [index.id]: index };
    const run = runOptimisation({
      composer: createQuestionComposer({ market, documents, until: lastDay, engine }, control),
      engine,
      ...readRequestTerms(request),
      constraints: [
        { type: 'Exclude', id: '', params: { identifiers: names.filter((_, i) => i % every === 0) } },
        { type: 'Turnover', id: '', params: { limit: turnover } },
      ],
      report: (fraction, message) => control.report(fraction, message),
    });
    const identity = { runId: index.id, indexId: index.id, constraintSetId: index.id };
    JSON.stringify(toOptimisationResult(run, { ...identity, measuredBy: null, asked: null }));
  });
}

import { formatDay } from '#domain/base/time.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { OptimisationRequest } from '#domain/definition/optimisation-requests.js';
import { includeList } from '#domain/definition/selection-filters.js';
import { equalWeight, marketCapWeight } from '#domain/definition/weighting-classes.js';
import type { MarketHandle } from '#domain/market/market-data.js';
import { readRequestTerms, runOptimisation } from '#domain/optimisation/run.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { TaskControl } from '#jobs/tasks/messages.js';
import { toOptimisationResult, toStudyFigures } from '#views/optimisation.js';
import { createQuestionComposer, openCachedMarket, runOnEngine } from '../input/inputs.js';
import { copyOutput, writeOutputs } from '../output/task-outputs.js';

/** Optimises an index under constraints, as an OptimisationRunResult. */
export const optimise: Task<'optimise'> = async (input, control) => {
  const { runId, documents, models, constraints, request } = input;
  const market = openCachedMarket(input.market);
  const terms = readRequestTerms(request);
  const lastDay = terms.asOf ?? market.dates.at(-1) ?? 0;
  const { message, result } = await runOnEngine((engine) => {
    const composer = createQuestionComposer(
      { market, documents, models, until: lastDay, engine },
      { report: (fraction) => control.report(0.3 * fraction) },
    );
    const run = runOptimisation({
      composer,
      engine,
      ...terms,
      constraints,
      report: (fraction, message) => control.report(fraction, message),
    });
    const identity = { runId, indexId: request.index_id, constraintSetId: request.constraint_set_id };
    const risk = { measuredBy: input.measuredBy, asked: request.risk_model };
    const message = ['Done.', ...run.findings.map((finding) => finding.message)].join(' ');
    return { result: toOptimisationResult(run, { ...identity, ...risk }), message };
  });
  const outputRefs = await writeOutputs(input.outputs, { result: copyOutput(JSON.stringify(result)) });
  return { ...outputRefs, message, figures: toStudyFigures(result) };
};

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

import { runOptimisation, readRequestTerms } from '#domain/optimisation/run.js';
import type { Task } from '#jobs/tasks.js';
import { toOptimisationResult, toStudyFigures } from '#views/optimisation.js';
import { createQuestionComposer } from '../input/index-composer.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';
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

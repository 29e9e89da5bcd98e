import { parseValidDay } from '#domain/time/days.js';
import { explainWeight } from '#domain/optimisation/explain.js';
import type { Task } from '#jobs/tasks.js';
import { toIndexExplanation } from '#views/preview.js';
import { answerBytes } from '../output/hand-over.js';
import { createQuestionComposer } from '../input/index-composer.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';

/** Explains one weight, as an IndexExplanation. */
export const explain: Task<'explain'> = ({ market: handle, documents, models, indexId, identifier, asOf }, control) =>
  runOnEngine((engine) => {
    const market = openCachedMarket(handle);
    const day = asOf === null ? market.dates.at(-1)! : parseValidDay(asOf);
    const composer = createQuestionComposer({ market, documents, models, until: day, engine }, control);
    const column = market.identifiers.indexOf(identifier);
    const explanation = explainWeight(composer, indexId, { column, asOf: day, engine });
    const getWeightingType = (id: string): string => documents[id]!.pipeline!.weighting.type; // called only for rule-based documents
    return answerBytes(
      JSON.stringify(
        toIndexExplanation(explanation, { indexId, identifier, requestedAsOf: asOf, weightingType: getWeightingType }),
      ),
    );
  });

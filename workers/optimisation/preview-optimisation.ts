import { parseValidDay } from '#domain/time/days.js';
import { previewOptimisation } from '#domain/optimisation/preview-run.js';
import type { Task } from '#jobs/tasks.js';
import { toDerivedPreview } from '#views/optimisation.js';
import { answerBytes } from '../output/hand-over.js';
import { createQuestionComposer } from '../input/index-composer.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';

/** Computes the weights of an optimisation, as a PreviewResponse. */
export const previewOfOptimisation: Task<'preview-optimisation'> = ({ market: handle, ...question }, control) =>
  runOnEngine((engine) => {
    const { documents, models, indexId, request } = question;
    const market = openCachedMarket(handle);
    const parseDay = (text: string | null) => (text === null ? null : parseValidDay(text));
    const lastDay = parseDay(request.as_of) ?? market.dates.at(-1) ?? 0;
    const preview = previewOptimisation({
      composer: createQuestionComposer({ market, documents, models, until: lastDay, engine }, control),
      engine,
      indexId,
      constraints: request.constraints,
      spec: request,
      asOf: parseDay(request.as_of),
      start: parseDay(request.start),
      end: parseDay(request.end),
    });
    return answerBytes(JSON.stringify(toDerivedPreview(preview, { indexId, asOf: request.as_of })));
  });

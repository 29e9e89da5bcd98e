import { listClosures } from '#domain/calendars/closures.js';
import type { Day } from '#domain/time/days.js';
import type { Task } from '#jobs/tasks.js';
import { answerPreview } from '#views/preview-answer.js';
import { answerBytes } from '../output/hand-over.js';
import { createQuestionComposer } from '../input/index-composer.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';

/**
 * Computes the composition of an index on a day, as a PreviewResponse. Default: the base date. For a derived index, the
 * default is the first rebalance.
 */
export const preview: Task<'preview'> = ({ market: handle, documents, models, indexId, asOf }, control) =>
  runOnEngine((engine) => {
    const market = openCachedMarket(handle);
    const answer = answerPreview({
      market,
      calendars: openCachedCalendars(listClosures(documents)),
      documents,
      indexId,
      asOf,
      engine,
      composerUntil: (until: Day) => createQuestionComposer({ market, documents, models, until, engine }, control),
      findObservedEnd: (modelId) => models?.[modelId]?.dates?.[0]?.date ?? models?.[modelId]?.observedEnd,
    });
    return answerBytes(JSON.stringify(answer));
  });

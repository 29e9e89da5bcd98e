import { dayFrom } from '#domain/days.js';
import { assumptionFindings } from '#domain/documents/assumptions.js';
import { isDerivedDocument } from '#domain/documents/index-document.js';
import { orderFindings } from '#domain/findings.js';
import { previewDerived } from '#domain/optimisation/preview.js';
import { previewRules } from '#domain/rules/preview.js';
import type { Task } from '#jobs/tasks.js';
import { toDerivedPreview } from '#views/optimisation.js';
import { toPreviewResponse } from '#views/preview.js';
import { answerBytes } from './hand-over.js';
import { composerFor } from './index-composer.js';
import { onEngine } from './numerics.js';
import { openedMarket } from './open-markets.js';

/** What an index would consist of on a day, as a PreviewResponse. */
export const preview: Task<'preview'> = ({ market: handle, documents, indexId, asOf }, control) =>
  onEngine((engine) => {
    const market = openedMarket(handle);
    const until = dayFrom(asOf);
    const composer = composerFor({ market, documents, until, engine }, control);
    const answer = isDerivedDocument(composer.document(indexId))
      ? toDerivedPreview(previewDerived(composer, indexId, { asOf: until, engine }), { indexId, asOf })
      : toPreviewResponse(previewRules(composer, indexId, until), { indexId, asOf });
    const assumptions = assumptionFindings({ document: composer.document(indexId), treatment: composer.treatment(indexId), market });
    return answerBytes(JSON.stringify({ ...answer, findings: orderFindings([...assumptions, ...answer.findings]) }));
  });

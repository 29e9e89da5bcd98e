import { ruleOn } from '#domain/books/rule-on.js';
import { previewFirstOverlay, previewOverlay } from '#domain/books/preview-overlay.js';
import { dayFrom, type Day } from '#domain/time/days.js';
import { asOfFindings } from '#domain/checks/as-of-findings.js';
import { assumptionFindings } from '#domain/checks/assumptions.js';
import { isDerivedDocument, isOverlayDocument } from '#domain/documents/index-document.js';
import { orderFindings } from '#domain/refusals/findings.js';
import { previewDerived, previewFirst } from '#domain/optimisation/preview.js';
import { previewRules } from '#domain/rules/preview.js';
import { lookAheadFindings } from '#domain/checks/look-ahead.js';
import type { Task } from '#jobs/tasks.js';
import { toDerivedPreview } from '#views/optimisation.js';
import { toOverlayPreview, toPreviewResponse } from '#views/preview.js';
import { answerBytes } from '../output/hand-over.js';
import { composerFor } from '../input/index-composer.js';
import { openedCalendars } from '../input/opened-calendars.js';
import { onEngine } from '../input/numerics.js';
import { openedMarket } from '../input/open-markets.js';

/**
 * What an index would consist of on a day, as a PreviewResponse; without a day on its base date, a derived one at its
 * first rebalance.
 */
export const preview: Task<'preview'> = ({ market: handle, documents, models, indexId, asOf: asked }, control) =>
  onEngine((engine) => {
    const market = openedMarket(handle);
    const composerUntil = (until: Day) => composerFor({ market, documents, models, until, engine }, control);
    const asOf = asked ?? documents[indexId]!.base_date; // Reached documents include the index itself.
    const day = dayFrom(asOf);
    const composer = composerUntil(day);
    const derived = () =>
      asked === null
        ? previewFirst({ composerUntil, indexId, engine })
        : previewDerived(composer, indexId, { asOf: day, engine });
    const document = composer.document(indexId);
    const answer = isOverlayDocument(document)
      ? toOverlayPreview(
          asked === null ? previewFirstOverlay({ composerUntil, document }) : previewOverlay(composer, document, day),
          asked,
        )
      : isDerivedDocument(document)
        ? toDerivedPreview(derived(), { indexId, asOf: asked })
        : toPreviewResponse(previewRules(composer, indexId, day), {
            indexId,
            asOf,
            rule: ruleOn(composer, indexId, day),
          });
    const late = asked === null ? [] : asOfFindings(asked, market.dates);
    const assumptions = assumptionFindings({
      document: composer.document(indexId),
      treatment: composer.treatment(indexId),
      market,
      indexOf: (id) => documents[id],
    });
    const foreseen = lookAheadFindings(composer.document(indexId), {
      calendar: openedCalendars().get(composer.document(indexId).calendar)!, // The index was composed on it.
      firstDay: market.dates[0] ?? null,
      observedEndOf: (modelId) => models?.[modelId]?.dates?.[0]?.date ?? models?.[modelId]?.observedEnd,
    });
    const findings = orderFindings([...late, ...assumptions, ...foreseen, ...answer.findings]);
    return answerBytes(JSON.stringify({ ...answer, findings }));
  });

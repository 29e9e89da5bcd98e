import type { Composer } from '#domain/books/compositions.js';
import { hasMemberChanges } from '#domain/books/member-changes.js';
import { listSwapsDecidedOn } from '#domain/books/named-swaps.js';
import { previewOverlayOnFirstSession, previewOverlay } from '#domain/books/preview-overlay.js';
import { findRuleText } from '#domain/books/find-rule-text.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { checkAsOf } from '#domain/checks/as-of-findings.js';
import { reportAssumptions } from '#domain/checks/assumptions.js';
import { checkLookAhead } from '#domain/checks/look-ahead.js';
import { isDerivedDocument, isOverlayDocument, type IndexDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { previewDerived, previewFirst } from '#domain/optimisation/preview.js';
import { sortFindings } from '#domain/refusals/findings.js';
import { previewRules } from '#domain/rules/preview.js';
import { parseValidDay, type Day } from '#domain/time/days.js';
import type { Engine } from '#kernels/engines/engine.js';
import { toDerivedPreview } from './optimisation.js';
import { toOverlayPreview, toPreviewResponse } from './preview.js';
import { toReplacements } from './replacements.js';

export interface PreviewQuestion {
  readonly market: MarketData;
  readonly calendars: Calendars;
  /** Index and all documents that it refers to. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly indexId: string;
  /** Date YYYY-MM-DD; null for the base date, or for the first rebalance of a derived index. */
  readonly asOf: string | null;
  readonly engine: Engine;
  composerUntil(until: Day): Composer;
  /**
   * Returns the first day (YYYY-MM-DD) on which decisions may use a stored risk model. Returns undefined if the model
   * is unknown.
   */
  findObservedEnd(modelId: string): string | undefined;
}

/**
 * Returns the composition of an index on a day, as a PreviewResponse.
 * @throws Refusal as for the preview of the kind of index
 */
export function answerPreview(question: PreviewQuestion) {
  const { market, calendars, documents, indexId, asOf: requestedDate, composerUntil } = question;
  const day = parseValidDay(requestedDate ?? documents[indexId]!.base_date); // `documents` contains the index itself
  const composer = composerUntil(day);
  const document = composer.document(indexId);
  const answer = createPreviewResponse(question, composer, day);
  const dateFindings = requestedDate === null ? [] : checkAsOf(requestedDate, market.dates);
  const assumptions = reportAssumptions({
    document,
    treatment: composer.treatment(indexId),
    market,
    indexOf: (id) => documents[id],
  });
  const lookAheadFindings = checkLookAhead(document, {
    calendar: calendars.get(document.calendar)!, // the index was composed with this calendar
    firstDay: market.dates[0] ?? null,
    observedEndOf: question.findObservedEnd,
  });
  return {
    ...answer,
    findings: sortFindings([...dateFindings, ...assumptions, ...lookAheadFindings, ...answer.findings]),
  };
}

function createPreviewResponse(
  { documents, indexId, asOf: requestedDate, engine, composerUntil }: PreviewQuestion,
  composer: Composer,
  day: Day,
) {
  const document = composer.document(indexId);
  if (isOverlayDocument(document))
    return toOverlayPreview(
      requestedDate === null
        ? previewOverlayOnFirstSession({ composerUntil, document })
        : previewOverlay(composer, document, day),
      requestedDate,
    );
  if (isDerivedDocument(document))
    return toDerivedPreview(
      requestedDate === null
        ? previewFirst({ composerUntil, indexId, engine })
        : previewDerived(composer, indexId, { asOf: day, engine }),
      { indexId, asOf: requestedDate },
    );
  const preview = previewRules(composer, indexId, day);
  const answer = toPreviewResponse(preview, {
    indexId,
    asOf: requestedDate ?? documents[indexId]!.base_date,
    rule: findRuleText(composer, indexId, day),
  });
  const { resolved } = preview;
  if (resolved === null || !hasMemberChanges(composer, indexId)) return answer;
  return { ...answer, replacements: toReplacements(listSwapsDecidedOn(composer, indexId, resolved.session)) };
}

import type { Calendars } from '../calendars/calendar.js';
import type { Day } from '../time/days.js';
import { isOverlayDocument, sourcesOf, type IndexDocument, type TreatmentSpec } from './index-document.js';
import { textSpans } from './text-spans.js';
import type { WeightingSpec } from './weighting-spec.js';

/** Treatment of an index on its base date, with what amendments have made of it. */
export interface DatedTreatment extends TreatmentSpec {
  /** By date; absent where no amendment is followed. */
  readonly amended?: readonly AmendedTreatment[];
}

/** A treatment that an index follows after the close of a day. */
export interface AmendedTreatment {
  readonly after: Day;
  readonly treatment: TreatmentSpec;
  /** Weighting of the text, which decides what corporate actions do to index shares. */
  readonly weighting: WeightingSpec | undefined;
}

/**
 * Treatment of prices and actions: a derived index has that of its source, an overlay that of the first index beneath
 * it. Undefined where one of them is missing.
 * @param calendars with them amendments are followed; without them it is the treatment of the first text.
 */
export function treatmentOf(
  document: IndexDocument,
  indexOf: (id: string) => IndexDocument | undefined,
  calendars?: Calendars,
): DatedTreatment | undefined {
  const { pipeline, derivation } = document;
  if (pipeline !== null) return withAmendments(pipeline.treatment, document, calendars);
  const sourceId = isOverlayDocument(document) ? sourcesOf(document)[0] : derivation?.source_index_id;
  const source = sourceId === undefined ? undefined : indexOf(sourceId);
  const beneath = source && treatmentOf(source, indexOf, calendars);
  return beneath && treatmentOver(document, beneath);
}

function withAmendments(treatment: TreatmentSpec, document: IndexDocument, calendars?: Calendars): DatedTreatment {
  const calendar = calendars?.get(document.calendar);
  const spans = calendar === undefined ? [] : textSpans(document, calendar);
  if (spans.length === 0) return treatment;
  const amended = spans.flatMap(({ after, text: { document: text } }): AmendedTreatment[] =>
    text.pipeline === null ? [] : [{ after, treatment: text.pipeline.treatment, weighting: text.pipeline.weighting }],
  );
  return { ...treatment, amended };
}

/** A treatment with a change to all that amendments have made of it. */
export function changedTreatment(
  { amended, ...first }: DatedTreatment,
  change: (treatment: TreatmentSpec) => TreatmentSpec,
): DatedTreatment {
  const changed = change(first);
  if (amended === undefined) return changed;
  return { ...changed, amended: amended.map((one) => ({ ...one, treatment: change(one.treatment) })) };
}

/** The treatment on a day. */
export function treatmentOn(treatment: DatedTreatment, day: Day): TreatmentSpec {
  if (treatment.amended === undefined) return treatment;
  const { amended, ...first } = treatment;
  return amended.findLast(({ after }) => after < day)?.treatment ?? first;
}

/** A treatment without what takes effect after a day. */
export function treatmentThrough({ amended, ...first }: DatedTreatment, day: Day): DatedTreatment {
  const kept = (amended ?? []).filter(({ after }) => after <= day);
  return kept.length === 0 ? first : { ...first, amended: kept };
}

/** That of an index over another: a blend may name a return of its own. */
export function treatmentOver({ overlay }: Pick<IndexDocument, 'overlay'>, beneath: DatedTreatment): DatedTreatment {
  const variant = overlay?.type === 'blend' ? overlay.variant : undefined;
  return variant === undefined || variant === beneath.dividends
    ? beneath
    : changedTreatment(beneath, (treatment) => ({ ...treatment, dividends: variant }));
}

import type { Calendars } from '../calendars/calendar.js';
import type { Day } from '../time/days.js';
import { isOverlayDocument, listSources, type IndexDocument, type TreatmentSpec } from './index-document.js';
import { listTextSpans } from './text-spans.js';
import type { WeightingSpec } from './weighting-spec.js';

/** Treatment of an index on its base date, with later changes by amendments. */
export interface DatedTreatment extends TreatmentSpec {
  /** Changed treatments by date; absent if no amendment applies. */
  readonly amended?: readonly AmendedTreatment[];
}

/** Treatment that an index follows after the close of a day. */
export interface AmendedTreatment {
  readonly after: Day;
  readonly treatment: TreatmentSpec;
  /** Weighting of this version, which determines the effect of corporate actions on index shares. */
  readonly weighting: WeightingSpec | undefined;
}

/**
 * Returns the treatment of prices and actions. A derived index has that of its source, an overlay that of its first
 * underlying index. Returns undefined if one of these documents is missing.
 * @param calendars if given, amendments are followed; otherwise the result is the treatment of the first version.
 */
export function resolveTreatment(
  document: IndexDocument,
  indexOf: (id: string) => IndexDocument | undefined,
  calendars?: Calendars,
): DatedTreatment | undefined {
  const { pipeline, derivation } = document;
  if (pipeline !== null) return addAmendments(pipeline.treatment, document, calendars);
  const sourceId = isOverlayDocument(document) ? listSources(document)[0] : derivation?.source_index_id;
  const source = sourceId === undefined ? undefined : indexOf(sourceId);
  const underlyingTreatment = source && resolveTreatment(source, indexOf, calendars);
  return underlyingTreatment && combineTreatment(document, underlyingTreatment);
}

function addAmendments(treatment: TreatmentSpec, document: IndexDocument, calendars?: Calendars): DatedTreatment {
  const calendar = calendars?.get(document.calendar);
  const spans = calendar === undefined ? [] : listTextSpans(document, calendar);
  if (spans.length === 0) return treatment;
  const amendedTreatments = spans.flatMap(({ after, text: { document: text } }): AmendedTreatment[] =>
    text.pipeline === null ? [] : [{ after, treatment: text.pipeline.treatment, weighting: text.pipeline.weighting }],
  );
  return { ...treatment, amended: amendedTreatments };
}

/** Applies a change to a treatment and to its amendments. */
export function changeTreatment(
  { amended, ...first }: DatedTreatment,
  change: (treatment: TreatmentSpec) => TreatmentSpec,
): DatedTreatment {
  const changedTreatment = change(first);
  if (amended === undefined) return changedTreatment;
  return {
    ...changedTreatment,
    amended: amended.map((amendedTreatment) => ({
      ...amendedTreatment,
      treatment: change(amendedTreatment.treatment),
    })),
  };
}

/** Returns the treatment on a day. */
export function findTreatment(treatment: DatedTreatment, day: Day): TreatmentSpec {
  if (treatment.amended === undefined) return treatment;
  const { amended, ...first } = treatment;
  return amended.findLast(({ after }) => after < day)?.treatment ?? first;
}

/** Returns a treatment without the amendments that take effect after a day. */
export function limitTreatment({ amended, ...first }: DatedTreatment, day: Day): DatedTreatment {
  const amendedTreatments = (amended ?? []).filter(({ after }) => after <= day);
  return amendedTreatments.length === 0 ? first : { ...first, amended: amendedTreatments };
}

/** Returns the treatment of an index inside an overlay. A blend may use another return variant than the index. */
export function combineTreatment(
  { overlay }: Pick<IndexDocument, 'overlay'>,
  underlyingTreatment: DatedTreatment,
): DatedTreatment {
  const variant = overlay?.type === 'blend' ? overlay.variant : undefined;
  return variant === undefined || variant === underlyingTreatment.dividends
    ? underlyingTreatment
    : changeTreatment(underlyingTreatment, (treatment) => ({ ...treatment, dividends: variant }));
}

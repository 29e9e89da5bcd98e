import { z } from 'zod';
import type { Finding } from '../base/findings.js';
import { findFirstAtLeast } from '../base/numbers.js';
import { AsKnownOn, defineObject, Id, IsoDate, requireOneOfEach } from '../base/schema.js';
import { type Day, parseValidDay } from '../base/time.js';
import type { Calendar } from '../calendars/calendar.js';
import { findBreachRule } from './compliance.js';
import {
  changesMembers,
  countNoticeSessions,
  DEFAULT_REVIEW,
  listRebalanceDates,
  type RebalanceDate,
  REVIEW_SCOPES,
  type ReviewScope,
  type ScheduleTerms,
} from './schedule.js';
import {
  AMENDABLE_MEMBERS,
  type Amendment,
  createErrorFinding,
  FIXED_TREATMENT,
  IndexDocument,
  isObject,
  isOverlayDocument,
  isRuleDocument,
  listSources,
  listWatchlists,
  type ReviewSpec,
  type RuleDocument,
  type UncheckedBody,
  type UniverseSpec,
} from './index-document.js';
import { findOverlayType } from './overlays.js';
import { findCountedShares, findFloatExpression, findIndexShares } from './rule-pipeline.js';

/** Schema of an index document in a request; separate checks report its problems. */
const DocumentBody = z.record(z.string(), z.unknown());
const asOfSchema = IsoDate.nullable().default(null);

export const DocumentQuestion = defineObject(() => ({
  document: DocumentBody,
  as_of: asOfSchema,
  as_known_on: AsKnownOn,
}));
export type DocumentQuestion = z.infer<typeof DocumentQuestion>;

/** Question about a document that is not stored, without a date. */
export const PlainQuestion = defineObject(() => ({ document: DocumentBody }));

export const WhatIfQuestion = defineObject(() => ({
  index_id: Id.nullable().default(null),
  document: DocumentBody.nullable().default(null),
  patch: DocumentBody.nullable().default(null),
  changed: DocumentBody.nullable().default(null),
  as_of: asOfSchema,
  as_known_on: AsKnownOn,
})).superRefine(
  requireOneOfEach([
    ['index_id', 'document'],
    ['patch', 'changed'],
  ]),
);
export type WhatIfQuestion = z.infer<typeof WhatIfQuestion>;

/**
 * Applies a JSON merge patch to a document: members of objects are merged, null removes a member, any other value
 * replaces.
 * @source RFC 7396
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const mergedObject: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete mergedObject[name];
    else mergedObject[name] = mergePatch(mergedObject[name], value);
  }
  return mergedObject;
}

/** Version of a methodology with the day from which its reviews follow it. */
export interface IndexText {
  /** Index of the version: 0 for the document before all amendments. */
  readonly position: number;
  /** Effective date of the version; -Infinity for the first version. */
  readonly from: Day;
  /** Document with all amendments up to this version applied, without its list of amendments. */
  readonly document: IndexDocument;
  /** Amendment that created the version; null for the first version. */
  readonly amendment: Amendment | null;
}

const textsByDocument = new WeakMap<IndexDocument, readonly IndexText[]>();

/** Returns the versions of an index, earliest first. @cost none for a document that was used before */
export function listDatedTexts(document: IndexDocument): readonly IndexText[] {
  const { amendments } = document;
  if (amendments === undefined || amendments.length === 0)
    return [{ position: 0, from: -Infinity, document, amendment: null }];
  const result = textsByDocument.get(document) ?? readTexts(document, amendments);
  textsByDocument.set(document, result);
  return result;
}

function readTexts(base: IndexDocument, amendments: readonly Amendment[]): IndexText[] {
  const { amendments: _ofLater, ...first } = base;
  const texts: IndexText[] = [{ position: 0, from: -Infinity, document: first, amendment: null }];
  for (const [k, amendment] of amendments.entries()) {
    const document = IndexDocument.parse(amendText(texts[k]!.document, amendment)); // Documents are checked before they are saved.
    texts.push({ position: k + 1, from: parseValidDay(amendment.effective_from), document, amendment });
  }
  return texts;
}

/** Returns false if an amendment makes the document invalid. The checks of the document report the errors. */
export function hasValidTexts({ amendments = [], ...first }: IndexDocument): boolean {
  let text: unknown = first;
  return amendments.every(
    (amendment) => IndexDocument.safeParse((text = amendText(text as object, amendment))).success,
  );
}

function amendText(body: object, { changes }: Pick<Amendment, 'changes'>): unknown {
  return mergePatch(body, changes);
}

/** Returns the version in force on a day. */
export function findTextInEffect(document: IndexDocument, day: Day): IndexText {
  return listDatedTexts(document).findLast(({ from }) => from <= day)!; // The first version is always in force.
}

/** Returns true if any version of an index satisfies a condition. */
export function isInAnyText(document: IndexDocument, holds: (text: IndexDocument) => boolean): boolean {
  return listDatedTexts(document).some((text) => holds(text.document));
}

/**
 * Returns a document without the amendments that take effect after a date. The result determines the sessions up to
 * that date.
 */
export function omitLaterAmendments(document: IndexDocument, date: string): IndexDocument {
  const { amendments, ...rest } = document;
  if (amendments === undefined) return document;
  const effectiveAmendments = amendments.filter(({ effective_from: from }) => from <= date);
  return effectiveAmendments.length === 0 ? rest : { ...rest, amendments: effectiveAmendments };
}

/**
 * Reports amendments out of order, members that cannot be amended, and amended documents that are invalid.
 * @param check returns the findings of a document without amendments
 */
export function checkAmendments(body: UncheckedBody, check: (text: UncheckedBody) => readonly Finding[]): Finding[] {
  const { amendments, ...first } = body;
  if (!Array.isArray(amendments) || !amendments.every(isAmendment)) return [];
  const findings = [
    ...reportOrder(amendments, first),
    ...amendments.flatMap(reportAnnouncement),
    ...amendments.flatMap(reportMembers),
  ];
  if (findings.length > 0) return findings;
  let text: UncheckedBody = first;
  const reportedKeys = new Set(check(first).map(getKey));
  return amendments.flatMap((amendment, k) => {
    const before = text;
    text = amendText(before, amendment) as UncheckedBody; // The result of patching an object is an object.
    const matches = [...check(text), ...findFixedMembers(first, text)].filter(
      (finding) => finding.severity === 'error' && !reportedKeys.has(getKey(finding)),
    );
    for (const finding of matches) reportedKeys.add(getKey(finding)); // Later versions contain the invalid change as well.
    return [
      ...matches.map((finding) => moveToChanges(finding, k)),
      ...reportIdleAmendment({ before, text, amendment }, k),
    ];
  });
}

/** Warns of an amendment that changes nothing, and of an amendment without a later review. */
function reportIdleAmendment(
  {
    before,
    text,
    amendment,
  }: { readonly before: UncheckedBody; readonly text: UncheckedBody; readonly amendment: RequestedAmendment },
  k: number,
): Finding[] {
  const path = `amendments[${k}]`;
  const about = { severity: 'warning', code: 'NO_EFFECT' } as const;
  if (JSON.stringify(before) === JSON.stringify(text)) {
    const message = `${path}.changes changes nothing, because the document already has these values.`;
    return [{ ...about, path: `${path}.changes`, message }];
  }
  const { rebalance, reviews, overlay } = text;
  const isReviewed = !isObject(rebalance) || rebalance['frequency'] !== 'none' || reviews !== undefined;
  if (isReviewed || overlay !== undefined || amendment.rebalance === true) return [];
  const message = `${path} never takes effect, because the index has no review on or after ${amendment.effective_from}. Set rebalance to true, or add a schedule to the amendment.`;
  return [{ ...about, path: `${path}.effective_from`, message }];
}

function moveToChanges({ path, message, ...finding }: Finding, k: number): Finding {
  const sentPath = path === '' ? `amendments[${k}].changes` : `amendments[${k}].changes.${path}`;
  const isNamed = path !== '' && message.startsWith(`${path} `);
  return { ...finding, path: sentPath, message: isNamed ? `${sentPath}${message.slice(path.length)}` : message };
}

const getKey = ({ code, path, message }: Finding): string => JSON.stringify([code, path, message]);

interface RequestedAmendment {
  readonly effective_from: string;
  readonly announced?: unknown;
  readonly rebalance?: unknown;
  readonly changes: UncheckedBody;
}

const isAmendment = (value: unknown): value is RequestedAmendment =>
  isObject(value) && typeof value['effective_from'] === 'string' && isObject(value['changes']);

function reportOrder(amendments: readonly RequestedAmendment[], { base_date: base }: UncheckedBody): Finding[] {
  return amendments.flatMap(({ effective_from: date }, k) => {
    const [before, what] =
      k === 0 ? [base, 'the base date'] : [amendments[k - 1]!.effective_from, 'the date of the previous amendment'];
    if (typeof before !== 'string' || date > before) return [];
    const path = `amendments[${k}].effective_from`;
    return [
      createErrorFinding('INVALID_RANGE', path, `${path} is ${date}; it must be after ${what}, ${before}.`, {
        value: date,
      }),
    ];
  });
}

function reportAnnouncement({ announced, effective_from: date }: RequestedAmendment, k: number): Finding[] {
  if (typeof announced !== 'string' || announced <= date) return [];
  const path = `amendments[${k}].announced`;
  const message = `${path} is ${announced}; it must be on or before effective_from, ${date}.`;
  return [createErrorFinding('INVALID_RANGE', path, message, { value: announced })];
}

function reportMembers({ changes }: RequestedAmendment, k: number): Finding[] {
  const path = `amendments[${k}].changes`;
  const unknownMembers = Object.keys(changes).filter(
    (member) => !(AMENDABLE_MEMBERS as readonly string[]).includes(member),
  );
  const { pipeline, universe } = changes;
  return [
    ...unknownMembers.map((member) =>
      createErrorFinding('UNKNOWN_FIELD', `${path}.${member}`, describeUnknownMember(member), {
        accepted: [...AMENDABLE_MEMBERS],
      }),
    ),
    ...findFixedTreatment(isObject(pipeline) ? pipeline['treatment'] : undefined, `${path}.pipeline.treatment`),
    ...(isObject(universe) && listWatchlists(universe as unknown as UniverseSpec).length > 0
      ? [
          createErrorFinding(
            'NOT_IN_CHOICES',
            `${path}.universe`,
            'An amendment needs a list of identifiers; a watchlist is not allowed because it can change.',
          ),
        ]
      : []),
  ];
}

/** Reports changes of return variant and reinvestment. These determine the series of an index on all sessions. */
function findFixedTreatment(treatment: unknown, path: string): Finding[] {
  if (treatment === undefined) return [];
  if (!isObject(treatment))
    return [createErrorFinding('IMMUTABLE_FIELD', path, 'An amendment cannot remove treatment.')];
  return FIXED_TREATMENT.filter((member) => member in treatment).map((member) =>
    createErrorFinding(
      'IMMUTABLE_FIELD',
      `${path}.${member}`,
      `An amendment cannot change ${member}, which must be constant over all sessions.`,
    ),
  );
}

/** Reports changes of members that must be equal in all versions. */
function findFixedMembers(first: UncheckedBody, text: UncheckedBody): Finding[] {
  return [...findFixedOverlay(first, text), ...requireFixedCounts(first, text), ...requireSingleWatch(first, text)];
}

/** Reports changes of the type, the currencies or the underlying indices of an overlay. */
function findFixedOverlay(first: UncheckedBody, text: UncheckedBody): Finding[] {
  const [before, after] = [first, text].map((one) => IndexDocument.safeParse(one).data);
  if (before === undefined || after === undefined) return []; // The checks of that version report a missing overlay.
  if (!isOverlayDocument(before) && !isOverlayDocument(after)) return [];
  const readUnchanged = (document: IndexDocument): string => {
    if (!isOverlayDocument(document)) return '';
    const type = findOverlayType(document.overlay);
    const { overlay } = document;
    return JSON.stringify([overlay.type, listSources(document), type.currency(overlay), type.weighed(overlay)]);
  };
  if (readUnchanged(before) === readUnchanged(after)) return [];
  const message = 'An amendment cannot change the type, the currencies or the underlying indices of an overlay.';
  return [createErrorFinding('IMMUTABLE_FIELD', 'overlay', message)];
}

/** Requires that all versions follow the same share counts between reviews: with free float, or without. */
function requireFixedCounts(first: UncheckedBody, text: UncheckedBody): Finding[] {
  const [before, after] = [first, text].map((one) => {
    const { data } = IndexDocument.safeParse(one);
    const counted = data?.events?.share_changes === 'effective' ? findCountedShares(data.pipeline?.weighting) : null;
    return counted === null ? null : JSON.stringify([counted, findFloatExpression(data?.pipeline?.weighting)]);
  });
  if (before === null || after === null || before === after) return [];
  const message =
    'An amendment cannot change if share counts between reviews include free float, or the expression of that free float.';
  return [createErrorFinding('IMMUTABLE_FIELD', 'pipeline.weighting', message)];
}

/** Requires that changes between reviews have the same trigger in all versions: breaches or events. */
function requireSingleWatch(first: UncheckedBody, text: UncheckedBody): Finding[] {
  const [before, after] = [first, text].map((one) => IndexDocument.safeParse(one).data);
  const hasBreachRule = (one: IndexDocument | undefined): boolean => findBreachRule(one) !== null;
  const hasMemberChanges = (one: IndexDocument | undefined): boolean => changesMembers(one?.events);
  const isMixed =
    (hasBreachRule(before) && hasMemberChanges(after)) || (hasBreachRule(after) && hasMemberChanges(before));
  if (!isMixed) return [];
  const message =
    'One version rebalances on breaches, and another version changes constituents by events. An index can use only one of these.';
  return [createErrorFinding('IMMUTABLE_FIELD', 'pipeline.treatment.on_breach', message)];
}

function describeUnknownMember(member: string): string {
  const hint = member === 'treatment' ? ' treatment is a member of pipeline.' : '';
  return `An amendment cannot change ${member}; it can change ${AMENDABLE_MEMBERS.join(', ')}.${hint}`;
}

export interface Review {
  readonly id: string;
  readonly scope: ReviewScope;
  /** Document with the schedule, selection and weighting of the review. */
  readonly document: IndexDocument;
}

const reviewsByDocument = new WeakMap<IndexDocument, readonly Review[]>();

/**
 * Returns the reviews of a document in the order in which they run on a common date. Of several reviews with one scope,
 * the rebalance of the document comes first. Reviews of share counts exist only if weights are market values.
 */
export function listReviews(document: IndexDocument): readonly Review[] {
  const result = reviewsByDocument.get(document) ?? findReviews(document);
  reviewsByDocument.set(document, result);
  return result;
}

function findReviews(document: IndexDocument): Review[] {
  const mainReview: Review = { id: DEFAULT_REVIEW, scope: 'membership', document };
  if (!isRuleDocument(document)) return [mainReview];
  const furtherReviews = (document.reviews ?? [])
    .filter(({ scope }) => scope !== 'shares' || findIndexShares(document.pipeline.weighting)?.kind === 'market_value')
    .map((spec): Review => ({ id: spec.id, scope: spec.scope, document: reviewDocument(document, spec) }));
  return [mainReview, ...furtherReviews].toSorted((a, b) => findRank(a) - findRank(b));
}

const findRank = ({ scope }: Review): number => REVIEW_SCOPES.indexOf(scope);

function reviewDocument({ reviews: _reviews, ...document }: RuleDocument, spec: ReviewSpec): RuleDocument {
  const { pipeline } = document;
  return {
    ...document,
    rebalance: spec.schedule,
    pipeline: {
      ...pipeline,
      selection: spec.scope === 'membership' ? (spec.selection ?? pipeline.selection) : [],
      weighting: (spec.scope === 'shares' ? undefined : spec.weighting) ?? pipeline.weighting,
    },
  };
}

/** Returns the largest number of sessions from the reference date of a review to its effective date. */
export function readNotice(document: IndexDocument): number {
  return Math.max(...listReviews(document).map(({ document: { rebalance } }) => countNoticeSessions(rebalance)));
}

/** Returns a review by its id. Default: the rebalance of the document. */
export function findReview(document: IndexDocument, id: string = DEFAULT_REVIEW): Review {
  const review = listReviews(document).find((one) => one.id === id);
  if (review === undefined) throw new Error(`the index ${document.id} has no review ${id}`);
  return review;
}

/**
 * Returns the dates of a review. The base date is always a date of the `rebalance` of the document, and of another review
 * only if it is in the schedule of that review.
 */
export function listReviewDates(
  { id, document: { rebalance } }: Review,
  query: Omit<ScheduleTerms, 'rebalance'>,
): readonly RebalanceDate[] {
  if (id === DEFAULT_REVIEW) return listRebalanceDates({ ...query, rebalance });
  // Every schedule begins with its base day. From the session before it on, only scheduled dates follow.
  const { sessions } = query.calendar;
  const before = sessions[findFirstAtLeast(sessions, query.baseDay) - 1];
  const from = Math.max(query.from, query.baseDay);
  if (before !== undefined) return listRebalanceDates({ ...query, rebalance, baseDay: before, from });
  return listRebalanceDates({ ...query, rebalance }).filter(({ session }) => session !== sessions[0]);
}

/** Version of a methodology, and the day after whose close the index follows it. */
export interface TextSpan {
  /** Session of the first review of this version. */
  readonly after: Day;
  readonly text: IndexText;
}

const NO_SPANS: readonly TextSpan[] = [];

/** Maximum number of days from an effective date to the session that replaces it. */
const MOVED_DAYS_MAX = 31;

const spansByDocument = new WeakMap<IndexDocument, WeakMap<Calendar, readonly TextSpan[]>>();

/**
 * Returns the amended versions of an index, each with the day after which the index follows it. A version without a
 * review before the next version is excluded.
 */
export function listTextSpans(document: IndexDocument, calendar: Calendar): readonly TextSpan[] {
  if (document.amendments === undefined || document.amendments.length === 0) return NO_SPANS;
  const byCalendar = spansByDocument.get(document) ?? new WeakMap<Calendar, readonly TextSpan[]>();
  spansByDocument.set(document, byCalendar);
  const result = byCalendar.get(calendar) ?? findSpans(document, calendar);
  byCalendar.set(calendar, result);
  return result;
}

function findSpans(document: IndexDocument, calendar: Calendar): TextSpan[] {
  const texts = listDatedTexts(document);
  return texts.slice(1).flatMap((text, k): TextSpan[] => {
    const after = findBegin(text, calendar, texts[k + 2]?.from ?? Infinity);
    return after === undefined ? [] : [{ after, text }];
  });
}

/**
 * Returns the session on which a version begins. This is its first review on or after its date. For an overlay, or if
 * the version does not wait for a review, it is the first session on or after the date.
 */
function findBegin({ document, from, amendment }: IndexText, calendar: Calendar, until: Day): Day | undefined {
  const { sessions, coverage } = calendar;
  if (amendment?.rebalance === true || isOverlayDocument(document)) return sessions[findFirstAtLeast(sessions, from)];
  const span = { calendar, baseDay: parseValidDay(document.base_date), from: from - MOVED_DAYS_MAX, to: coverage.to };
  const begins = listReviews(document).flatMap(({ document: { rebalance } }) => {
    const first = listRebalanceDates({ ...span, rebalance }).find(({ date }) => date >= from && date < until);
    return first === undefined ? [] : [first.session];
  });
  return begins.length === 0 ? undefined : Math.min(...begins);
}

export function findTextInForce(document: IndexDocument, calendar: Calendar, day: Day): IndexText {
  return listTextSpans(document, calendar).findLast(({ after }) => after < day)?.text ?? listDatedTexts(document)[0]!;
}

import type { Calendar } from '../calendars/calendar.js';
import { isMarketValue, PRICE_WEIGHT } from '../documents/share-terms.js';
import { ReviewSpec } from '../documents/review-spec.js';
import { hasErrors, type Finding } from '../refusals/findings.js';
import { DateRule, PhaseSpec } from '../schedule/date-rule-spec.js';
import { checkDateOrder, checkPhase, type CadenceOnCalendar } from '../schedule/date-order.js';
import { RebalanceSpec } from '../schedule/rebalance-spec.js';
import { DEFAULT_REVIEW } from '../schedule/review-scopes.js';
import { validateRebalance } from '../schedule/validate-rebalance.js';
import { checkShape } from '../schema/shape.js';
import { parseDay, parseValidDay } from '../time/days.js';
import { createError, isObject, type IndexContext, type UncheckedBody } from './index-context.js';
import { checkReviewCollisions, type ReviewOnCalendar } from './review-collisions.js';
import { checkRuleRows } from './rule-rows.js';
import { findUnknownMembers } from './unknown-members.js';

const reportMissingSchedule = (path: string): Finding =>
  createError(
    'REQUIRED',
    `${path}.schedule`,
    `${path}.schedule is missing: a review states its dates in the form of rebalance, for example {"frequency": "quarterly"}.`,
  );

/** Returns findings about the dates of rebalances and reviews, if they match the schema. */
export function checkReviews(body: UncheckedBody, context: IndexContext): readonly Finding[] {
  const mainCadence = checkCadence(body['rebalance'] ?? {}, { body, context, path: 'rebalance' });
  const { reviews } = body;
  if (!Array.isArray(reviews)) return mainCadence.findings;
  if (!isObject(body['pipeline'])) return [...mainCadence.findings, ...reportIdleReviews(reviews)];
  const rows = reviews.map((review: unknown, i) => ({ review: isObject(review) ? review : {}, path: `reviews[${i}]` }));
  const checkedReviews = rows.map(({ review, path }) => ({
    review,
    path,
    cadence: checkCadence(review['schedule'] ?? {}, { body, context, path: `${path}.schedule` }),
  }));
  const findings = [
    ...mainCadence.findings,
    ...rows.flatMap(({ review, path }) => (review['schedule'] === undefined ? [reportMissingSchedule(path)] : [])),
    ...reportRepeatedReviews(rows.map(({ review }) => review['id'])),
    ...checkedReviews.flatMap(({ review, path, cadence }) => [
      ...findUnknownMembers(review, Object.keys(ReviewSpec.shape), path),
      ...findUnknownMembers(review['schedule'], Object.keys(RebalanceSpec.shape), `${path}.schedule`),
      ...cadence.findings,
      ...checkRuleRows(review, path),
      ...reportScope(review, path, body['pipeline'] as UncheckedBody),
    ]),
  ];
  if (hasErrors(findings)) return findings;
  const reviewOnCalendars = checkedReviews.flatMap(
    ({ review, cadence: { placed: cadenceOnCalendar } }): ReviewOnCalendar[] =>
      cadenceOnCalendar === undefined
        ? []
        : [{ id: String(review['id']), scope: String(review['scope']), ...cadenceOnCalendar }],
  );
  const first =
    mainCadence.placed === undefined ? [] : [{ id: DEFAULT_REVIEW, scope: 'membership', ...mainCadence.placed }];
  return [...findings, ...checkReviewCollisions([...first, ...reviewOnCalendars])];
}

interface CadenceLocation {
  readonly body: UncheckedBody;
  readonly context: IndexContext;
  readonly path: string;
}

interface CheckedCadence {
  readonly findings: readonly Finding[];
  /** Cadence on its calendar; absent if the calendar or the base date is unknown. */
  readonly placed?: CadenceOnCalendar;
}

/** Returns findings about a cadence: its members, and the order of its dates on the calendar. */
function checkCadence(rebalance: unknown, { body, context, path }: CadenceLocation): CheckedCadence {
  if (!isObject(rebalance)) return { findings: [] };
  const { value } = checkShape(RebalanceSpec, rebalance, { unknownFields: 'warning' });
  const unknownFindings = NEW_MEMBERS.flatMap(([member, { shape }]) =>
    findUnknownMembers(rebalance[member], Object.keys(shape), `${path}.${member}`),
  );
  if (value === undefined) return { findings: unknownFindings };
  const rebalanceFindings = [...unknownFindings, ...validateRebalance(value, path)];
  const calendar = findCalendar(body, context);
  const { base_date: base } = body;
  if (
    hasErrors(rebalanceFindings) ||
    calendar === undefined ||
    typeof base !== 'string' ||
    parseDay(base) === undefined
  )
    return { findings: rebalanceFindings };
  const datedRebalance = { rebalance: value, calendar, baseDay: parseValidDay(base), path };
  return {
    findings: [...rebalanceFindings, ...checkDateOrder(datedRebalance), ...checkPhase(datedRebalance)],
    placed: datedRebalance,
  };
}

/** Members of a cadence that are objects and in which unknown members are errors. */
const NEW_MEMBERS = [
  ['reference', DateRule],
  ['announcement', DateRule],
  ['pricing_date', DateRule],
  ['phase', PhaseSpec],
] as const;

function findCalendar({ calendar }: UncheckedBody, { calendarOf }: IndexContext): Calendar | undefined {
  return typeof calendar === 'string' ? calendarOf?.(calendar) : undefined;
}

/** Reports reviews of an index without rules. */
function reportIdleReviews(reviews: readonly unknown[]): Finding[] {
  if (reviews.length === 0) return [];
  const message = 'reviews has no effect, because an index without a pipeline is decided only at its own rebalances.';
  return [{ severity: 'warning', code: 'NO_EFFECT', path: 'reviews', message }];
}

/** Reports duplicate ids of reviews, including the id of the document's own rebalance. */
function reportRepeatedReviews(ids: readonly unknown[]): Finding[] {
  return ids.flatMap((id, i) => {
    const path = `reviews[${i}].id`;
    if (id === DEFAULT_REVIEW) {
      const message = `The id ${DEFAULT_REVIEW} is reserved for the rebalance of the document.`;
      return [createError('DUPLICATE_ROW_ID', path, message, { value: id })];
    }
    const earlier = ids.indexOf(id);
    if (typeof id !== 'string' || earlier === i) return [];
    return [
      createError('DUPLICATE_ROW_ID', path, `The id ${id} is already used by the review at position ${earlier}.`, {
        value: id,
      }),
    ];
  });
}

/** Reports members that the scope of a review ignores, and weightings that it does not permit. */
function reportScope({ scope, selection, weighting }: UncheckedBody, path: string, pipeline: UncheckedBody): Finding[] {
  const createIdleFinding = (member: string, why: string): Finding => ({
    severity: 'warning',
    code: 'NO_EFFECT',
    path: `${path}.${member}`,
    message: `${path}.${member} has no effect: ${why}.`,
  });
  const reviewWeighting = isObject(weighting) ? weighting : undefined;
  const base = isObject(pipeline['weighting']) ? pipeline['weighting'] : {};
  return [
    ...(scope !== 'membership' && selection !== undefined
      ? [createIdleFinding('selection', `a review of ${String(scope)} keeps the constituents`)]
      : []),
    ...(scope === 'shares' && reviewWeighting
      ? [createIdleFinding('weighting', 'a review of shares keeps the factors of the latest weighting')]
      : []),
    ...(scope === 'shares' && !isMarketValue({ params: {}, ...base } as never)
      ? [
          createIdleFinding(
            'scope',
            `the weights of ${String(base['type'])} are not market values, so share counts do not affect them`,
          ),
        ]
      : []),
    ...(scope !== 'shares' &&
    reviewWeighting &&
    (reviewWeighting['type'] === PRICE_WEIGHT) !== (base['type'] === PRICE_WEIGHT)
      ? [reportMixedShares(path, String(reviewWeighting['type']), String(base['type']))]
      : []),
  ];
}

/** Reports a document that combines fixed numbers of shares with weights, because the allocation would be ambiguous. */
function reportMixedShares(path: string, reviewType: string, base: string): Finding {
  const message = `${path}.weighting.type is ${reviewType} and pipeline.weighting.type is ${base}: ${PRICE_WEIGHT} must be the weighting of every review or of none.`;
  return createError('NOT_IN_CHOICES', `${path}.weighting.type`, message, { value: reviewType });
}

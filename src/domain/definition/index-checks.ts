import type { z } from 'zod';
import { suggestName } from '#base/nearest-name.js';
import { type Finding, hasErrors, keepSmallValue } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { findLastAtMost, formatNumber } from '../base/numbers.js';
import { checkShape } from '../base/schema.js';
import { formatDay, parseDay, parseValidDay } from '../base/time.js';
import type { Calendar } from '../calendars/calendar.js';
import { GROWTH_DATAPOINTS } from '../datapoints/evaluation.js';
import {
  findOverTimeFault,
  isShaped,
  listExpressionReads,
  readsConstituents,
} from '../datapoints/expression-checks.js';
import { createFunctionCall, type ExpressionNode, toNode, toRequest } from '../datapoints/expression-tree.js';
import { hasSharesField } from '../datapoints/fields.js';
import type { MarketData } from '../market/market-data.js';
import { checkParams } from './catalogue.js';
import { CONSTRAINT_ROWS_MAX } from './constraint-class.js';
import {
  BreachLimits,
  type BreachRule,
  CUSTOM_RULE,
  DEFAULT_LIMIT_RULE,
  findBreachRule,
  findLargestCap,
  findRowViolatedByEqualWeights,
  findRowViolatedUnderCap,
  findRowViolatedUnderStages,
  findUnkeptByWeights,
  LIMIT_RULE_NAMES,
  type RowWithoutGuarantee,
} from './compliance.js';
import { listReviews } from './amendments.js';
import {
  type CadenceOnCalendar,
  changesMembers,
  checkDateOrder,
  checkPhase,
  countPhaseCloses,
  DateRule,
  DEFAULT_REVIEW,
  EventsSpec,
  FastEntrySpec,
  FastExitSpec,
  listEffectiveDates,
  PhaseSpec,
  RebalanceSpec,
  validateRebalance,
} from './schedule.js';
import {
  ALL_PARTS_MAX,
  AMENDMENTS_MAX,
  createErrorFinding,
  findUnknownMembers,
  type IndexContext,
  type IndexDocument,
  isObject,
  isRuleDocument,
  isSetKind,
  isTooDeep,
  readDefinitions,
  REVIEWS_MAX,
  ReviewSpec,
  RULES_MAX,
  type RuleDocument,
  RuleFallback,
  SET_KINDS,
  type UncheckedBody,
  UniverseSpec,
} from './index-document.js';
import { checkReference } from './references.js';
import {
  bindPipeline,
  findCountedShares,
  findFloatExpression,
  findIndexShares,
  findSelectionClass,
  findWeightingClass,
  SELECTION_CLASSES,
} from './rule-pipeline.js';
import { resolveTreatment } from './treatment.js';
import { equalWeight, fixedWeight, type IndexShareTerms, WEIGHTING_CLASSES } from './weighting-classes.js';
import { LadderCaps, PhaseIn, type WeightingSpec } from './weighting.js';

/** Lists of a document and the maximum number of their entries. */
const listSizes = ({ pipeline, reviews, derivation, datapoints, amendments }: UncheckedBody) => {
  const readList = (holder: unknown, member: string): unknown => (isObject(holder) ? holder[member] : undefined);
  const reviewList: readonly unknown[] = Array.isArray(reviews) ? reviews.slice(0, REVIEWS_MAX) : [];
  return [
    { path: 'pipeline.selection', list: readList(pipeline, 'selection'), limit: RULES_MAX },
    { path: 'reviews', list: reviews, limit: REVIEWS_MAX },
    ...reviewList.map((review, i) => ({
      path: `reviews[${i}].selection`,
      list: readList(review, 'selection'),
      limit: RULES_MAX,
    })),
    { path: 'derivation.constraints', list: readList(derivation, 'constraints'), limit: CONSTRAINT_ROWS_MAX },
    { path: 'datapoints', list: isObject(datapoints) ? Object.keys(datapoints) : [], limit: LIMITS.MAX_DATAPOINTS },
    { path: 'amendments', list: amendments, limit: AMENDMENTS_MAX },
  ].map(({ path, list, limit }) => ({ path, count: Array.isArray(list) ? list.length : 0, limit }));
};

/**
 * Reports parts of a document that exceed their limits. Such a document is not checked further, because the cost of the
 * checks follows from these limits.
 */
export function listExcess(body: UncheckedBody): Finding[] {
  const sizes = listSizes(body);
  const long = sizes.filter(({ count, limit }) => count > limit);
  if (long.length > 0)
    return long.map(({ path, count, limit }) =>
      createErrorFinding('OUT_OF_RANGE', path, `${path} has ${count} entries; at most ${limit} are accepted.`),
    );
  const { amendments, name: _name, description: _description, universe, ...parts } = body;
  const rows = sizes.reduce((sum, { path, count }) => sum + (path === 'amendments' ? 0 : count), 0);
  const versions = Array.isArray(amendments) ? amendments.length + 1 : 1;
  const rowsMax = LIMITS.MAX_AMENDED_ROWS;
  const partCount = countParts(universe);
  return [
    ...checkExpressionLength({ ...parts, amendments }),
    ...(versions > 1 && rows * versions > rowsMax
      ? [
          createErrorFinding(
            'OUT_OF_RANGE',
            'amendments',
            `The document has ${rows} rules, constraints, reviews and datapoints in ${versions} versions; their product may be at most ${rowsMax}.`,
          ),
        ]
      : []),
    ...(partCount > ALL_PARTS_MAX
      ? [
          createErrorFinding(
            'OUT_OF_RANGE',
            'universe',
            `The universe has ${partCount} parts; at most ${ALL_PARTS_MAX} are accepted.`,
          ),
        ]
      : []),
  ];
}

function countParts(universe: unknown): number {
  const parts = isObject(universe) ? universe['of'] : undefined;
  return Array.isArray(parts) ? parts.reduce<number>((sum, part) => sum + countParts(part), 1) : 1;
}

/** Characters that one node of an expression counts. */
const NODE_LENGTH = 16;
/** Maximum length of a text that is a name and not an expression. */
const NAME_LENGTH = 64;

/** Reports expressions that are too long together. */
export function checkExpressionLength(body: UncheckedBody): Finding[] {
  const limit = LIMITS.MAX_EXPRESSIONS_LENGTH;
  const length = measureExpressions(body);
  if (length <= limit) return [];
  const message = `The expressions of the document have ${length} characters; at most ${limit} are accepted together.`;
  return [createErrorFinding('OUT_OF_RANGE', '', message)];
}

function measureExpressions(value: unknown): number {
  if (typeof value === 'string') return value.length > NAME_LENGTH ? value.length : 0;
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + measureExpressions(item), 0);
  const own = 'node' in value ? NODE_LENGTH : 0;
  return Object.entries(value).reduce(
    (sum, [name, member]) => (PROSE.has(name) ? sum : sum + measureExpressions(member)),
    own,
  );
}

/** Members with text for people, and the text of a parsed expression. */
const PROSE: ReadonlySet<string> = new Set(['description', 'reason', 'note', 'text', 'source']);

/** Reports a breach rule that applies by default, settings without effect, and an unknown review after a breach. */
export function checkBreachRule(treatment: unknown, reviews: unknown): Finding[] {
  if (!isObject(treatment)) return [];
  const { on_breach: response, breach_limits: limits } = treatment;
  const ids = Array.isArray(reviews)
    ? reviews.filter((review) => isObject(review) && review['scope'] !== 'shares').map(({ id }) => id as unknown)
    : [];
  const path = 'pipeline.treatment.breach_rule';
  return [
    ...reportBreachRule(treatment, limits === undefined ? path : 'pipeline.treatment.breach_limits'),
    ...reportBreachReview(treatment, ids),
    ...(isObject(limits)
      ? Object.entries(BreachLimits.shape).flatMap(([member, schema]) =>
          findUnknownMembers(
            limits[member],
            Object.keys(schema.unwrap().shape),
            `pipeline.treatment.breach_limits.${member}`,
          ),
        )
      : []),
    ...(isObject(limits)
      ? findUnknownMembers(limits, Object.keys(BreachLimits.shape), 'pipeline.treatment.breach_limits')
      : []),
    ...(limits !== undefined && isGiven(treatment['breach_rule']) && response === 'rebalance'
      ? [
          createErrorFinding(
            'UNKNOWN_FIELD',
            path,
            `${path} is ${String(treatment['breach_rule'])}, but pipeline.treatment.breach_limits states other limits. Only one of them can apply.`,
            keepSmallValue(treatment['breach_rule']),
          ),
        ]
      : []),
  ];
}

function reportBreachReview({ on_breach: response, breach_review: review }: UncheckedBody, ids: readonly unknown[]) {
  if (typeof review !== 'string') return [];
  const path = 'pipeline.treatment.breach_review';
  if (response !== 'rebalance') {
    const message = `${path} is ${review} and has no effect, because pipeline.treatment.on_breach is not rebalance.`;
    return [{ severity: 'warning' as const, code: 'NO_EFFECT' as const, path, message, value: review }];
  }
  if (ids.includes(review) || review === DEFAULT_REVIEW) return [];
  const accepted = [DEFAULT_REVIEW, ...ids.filter((id) => typeof id === 'string')];
  const message = `${path} is ${review}, but the document has no such review; its reviews are ${accepted.join(', ')}.`;
  return [createErrorFinding('NOT_IN_CHOICES', path, message, { accepted, value: review })];
}

function reportBreachRule(treatment: UncheckedBody, path: string): Finding[] {
  const { on_breach: response } = treatment;
  const rule = treatment['breach_limits'] ?? treatment['breach_rule'] ?? undefined;
  const ruleText = typeof rule === 'string' ? rule : 'stated';
  if (response === 'rebalance' && rule === undefined) {
    const message = `A breach of ${DEFAULT_LIMIT_RULE} triggers a rebalance. Use ${path} to select another rule.`;
    return [
      { severity: 'info', code: 'DEFAULT_TAKEN', path, message, accepted: LIMIT_RULE_NAMES, value: DEFAULT_LIMIT_RULE },
    ];
  }
  if (rule === undefined || response === 'rebalance') return [];
  const field = 'pipeline.treatment.on_breach';
  if (response === 'none') {
    const message = `${path} is ${ruleText} and has no effect because ${field} is none.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', path, message, ...keepSmallValue(rule) }];
  }
  if (response !== undefined) return [];
  const message = `${field} (rebalance or none) is required together with ${path}. Without ${field}, a breach of ${typeof rule === 'string' ? rule : 'these limits'} has no effect.`;
  return [createErrorFinding('REQUIRED', field, message, { accepted: ['none', 'rebalance'] })];
}

/** Warns if the weights of a definition may violate the rule whose breach triggers a rebalance. */
export function checkUnkeptRule(document: IndexDocument): Finding[] {
  if (!isRuleDocument(document)) return [];
  const rule = findBreachRule(document);
  if (rule === null) return [];
  const { breach_review: reviewId } = document.pipeline.treatment;
  const { weighting } = listReviews(document).find(({ id }) => id === reviewId)?.document.pipeline ?? document.pipeline;
  const count = countSecurities(document);
  const isEqual = weighting.type === equalWeight.type;
  if (isEqual && count === null) return [];
  const stated = listStatedWeights(weighting);
  const violatedRow = isEqual
    ? findRowViolatedByEqualWeights(rule, count!)
    : stated === null
      ? findRowWithoutGuarantee(rule, weighting)
      : findUnkeptByWeights(rule, stated);
  if (violatedRow === null) return [];
  const [path, why, remedy] = isEqual
    ? ['pipeline.weighting', `Equal weights of ${count} securities are`, 'weights of at most']
    : stated === null
      ? describeReason(weighting)
      : ['pipeline.weighting.params.weights', 'The stated weights are', 'weights of at most'];
  const largestCap = findLargestCap(rule);
  const remedyText =
    largestCap === null
      ? ''
      : `; ${remedy} ${formatPercent(largestCap)} ${isEqual || stated !== null ? 'keep' : 'keeps'} the rule`;
  const ruleText = rule.name === CUSTOM_RULE ? 'the limits of the index' : rule.name;
  const message = `${why} beyond ${ruleText} on the day they are decided: ${describeReach(violatedRow)}. A rebalance to such weights does not end the breach${remedyText}.`;
  return [{ severity: 'warning', code: 'LIMIT_NOT_KEPT', path, message, ...keepSmallValue(findCapBound(weighting)) }];
}

/**
 * Reports free floats by expression that compare securities, depend on decisions or read several sessions. Share counts
 * between reviews need a value of each security on each session.
 */
export function checkFloatFields(document: IndexDocument): Finding[] {
  if (!isRuleDocument(document)) return [];
  const definitions = readDefinitions(document);
  const weightings = [
    { weighting: document.pipeline.weighting, path: 'pipeline.weighting' },
    ...(document.reviews ?? []).flatMap(({ weighting }, i) =>
      weighting === undefined ? [] : [{ weighting, path: `reviews[${i}].weighting` }],
    ),
  ];
  return weightings.flatMap(({ weighting, path }): Finding[] => {
    const expression = findFloatExpression(weighting);
    if (expression === null) return [];
    const overTime = createFunctionCall('mean', [toNode(toRequest(expression))], { window: 2 });
    const called = findOverTimeFault(overTime, definitions)?.called;
    const reads = listExpressionReads(expression, definitions).map(({ field }) => field);
    const statistic = reads.find(({ name, aggregate }) => GROWTH_DATAPOINTS.has(name) || aggregate !== 'last');
    const cause = called ?? statistic?.name;
    if (cause === undefined) return [];
    const field = `${path}.params.float_field`;
    const message = `${field} reads ${cause}. A free float must follow from columns of one session, because share counts change between reviews.`;
    return [createErrorFinding('BAD_EXPRESSION', field, message)];
  });
}

/** Returns the weights that a definition states for its securities, scaled to a sum of 1, if no cap changes them. */
function listStatedWeights({ type, params, cap, ladder_caps: ladder }: WeightingSpec): number[] | null {
  if (type !== fixedWeight.type || cap !== null || ladder !== undefined) return null;
  const weights = Object.values((params as { readonly weights: Readonly<Record<string, number>> }).weights);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return sum > 0 ? weights.map((weight) => weight / sum) : null;
}

function findRowWithoutGuarantee(rule: BreachRule, weighting: WeightingSpec): RowWithoutGuarantee | null {
  const { ladder_caps: ladder } = weighting;
  return ladder === undefined
    ? findRowViolatedUnderCap(rule, findCapBound(weighting) ?? 1)
    : findRowViolatedUnderStages(rule, ladder);
}

/** Returns the maximum weight under the cap of a weighting. Returns null if the cap states no number. */
function findCapBound({ cap }: WeightingSpec): number | null {
  const bound = cap === null ? Infinity : typeof cap === 'number' ? cap : findBound(toNode(toRequest(cap)));
  return bound < 1 ? bound : null;
}

/** Returns the maximum value of an expression: a constant, or the smallest constant in a minimum. */
function findBound(node: ExpressionNode): number {
  if (node.node === 'value') return typeof node.value === 'number' ? node.value : Infinity;
  if (node.node !== 'function' || node.name !== 'min' || node.window !== undefined) return Infinity;
  return Math.min(...node.operands.map(findBound));
}

function describeReason(weighting: WeightingSpec): readonly [string, string, string] {
  const path = 'pipeline.weighting';
  if (weighting.ladder_caps !== undefined)
    return [`${path}.ladder_caps`, 'Weights under these caps in stages may be', 'a cap of at most'];
  const bound = findCapBound(weighting);
  const why = bound === null ? 'Weights without a cap may be' : `Weights capped at ${formatPercent(bound)} may be`;
  return [`${path}.cap`, why, 'a cap of at most'];
}

function describeReach({ row, value }: RowWithoutGuarantee): string {
  const verb = row.side === 'upper' ? 'up to' : 'as little as';
  return `${row.row} ${verb} ${formatPercent(value)}, the limit is ${formatPercent(row.limit)}`;
}

/**
 * Returns the number of securities of a definition. The number comes from its last rule that states a count, or from
 * its list. Returns null if neither states it.
 */
function countSecurities({ universe, pipeline: { selection } }: RuleDocument): number | null {
  const count = selection.findLast(({ params }) => typeof params['count'] === 'number')?.params['count'];
  if (typeof count === 'number') return count;
  return universe?.kind === 'list' ? (universe.identifiers?.length ?? null) : null;
}

const formatPercent = (fraction: number): string => `${Number((fraction * 100).toPrecision(6))}%`;

/** Returns findings about the settings of changes between reviews, if they match the schema. */
export function checkEvents(events: unknown): Finding[] {
  if (!isObject(events)) return [];
  const { replacement, reserve, fast_exit: exit } = events;
  const { value } = checkShape(FastExitSpec, exit, { unknownFields: 'warning' });
  return [
    ...findUnknownMembers(events, Object.keys(EventsSpec.shape), 'events'),
    ...findUnknownMembers(events['fast_entry'], Object.keys(FastEntrySpec.shape), 'events.fast_entry'),
    ...findUnknownMembers(exit, Object.keys(FastExitSpec.shape), 'events.fast_exit'),
    ...(replacement === 'reserve' && reserve === undefined
      ? [createErrorFinding('REQUIRED', 'events.reserve', 'events.reserve is required with the replacement reserve.')]
      : []),
    ...(value === undefined ? [] : validateRebalance(value.schedule, 'events.fast_exit.schedule')),
  ];
}

/** Reports settings of changes between reviews that have no effect in a document or on the current market. */
export function checkIdleEvents(document: IndexDocument, market: MarketData | undefined): Finding[] {
  const { events } = document;
  if (events === undefined) return [];
  if (!isRuleDocument(document))
    return [
      createIdleEventsFinding('events', 'an index without selection and weighting rules has no constituents to change'),
    ];
  const { weighting, treatment } = document.pipeline;
  const isCounted = findCountedShares(weighting) !== null;
  const isEffective = events.share_changes === 'effective';
  const { threshold } = EventsSpec.parse({});
  const { rules } = bindPipeline(document);
  return [
    ...(isEffective && !isCounted
      ? [
          createIdleEventsFinding(
            'events.share_changes',
            `the weights of ${weighting.type} are not market values`,
            'effective',
          ),
        ]
      : []),
    ...(isEffective && isCounted && market !== undefined && !hasSharesField(market)
      ? [createIdleEventsFinding('events.share_changes', 'the store has no SHARES_OUTSTANDING', 'effective')]
      : []),
    ...(!isEffective && events.threshold !== threshold
      ? [createIdleEventsFinding('events.threshold', 'events.share_changes is review', events.threshold)]
      : []),
    ...(events.replacement === 'next_ranked' && rules.every(({ rule }) => rule.ranks !== true)
      ? [createIdleEventsFinding('events.replacement', 'no selection rule ranks securities', 'next_ranked')]
      : []),
    ...(events.reserve !== undefined && events.replacement !== 'reserve'
      ? [createIdleEventsFinding('events.reserve', `events.replacement is ${events.replacement}`)]
      : []),
    ...(treatment.on_breach === 'rebalance' && changesMembers(events)
      ? [
          createIdleEventsFinding(
            'pipeline.treatment.on_breach',
            'constituents change between reviews by events',
            'rebalance',
          ),
        ]
      : []),
  ];
}

function createIdleEventsFinding(path: string, why: string, value?: string | number): Finding {
  return {
    severity: 'warning',
    code: 'NO_EFFECT',
    path,
    message: `${path} has no effect: ${why}.`,
    ...keepSmallValue(value),
  };
}

interface ReviewOnCalendar extends CadenceOnCalendar {
  readonly id: string;
  readonly scope: string;
}

/** Review with the positions of its effective sessions after the base rebalance, ascending. */
interface DatedReview extends ReviewOnCalendar {
  readonly positions: Int32Array;
}

/**
 * Reports reviews that never run, that override each other on a date, or that take effect during the phase-in of
 * another review.
 */
function checkReviewCollisions(reviews: readonly ReviewOnCalendar[], afterBreach: unknown): Finding[] {
  const datedReviews = reviews.map((review): DatedReview => ({
    ...review,
    positions: Int32Array.from(listEffectiveDates(review).slice(1), ({ position }) => position),
  }));
  return [
    ...datedReviews.slice(1).flatMap((review) => (review.id === afterBreach ? [] : reportNeverRun(review))),
    ...datedReviews.flatMap((datedReview) =>
      datedReviews.flatMap((otherDatedReview) =>
        datedReview === otherDatedReview ? [] : reportWithinPhase(datedReview, otherDatedReview),
      ),
    ),
    ...datedReviews.flatMap((datedReview, i) => reportOverridden(datedReview, datedReviews.slice(i + 1))),
  ];
}

function reportNeverRun({ id, path, positions }: DatedReview): Finding[] {
  if (positions.length > 0) return [];
  const message = `The review ${id} never runs: its schedule has no date after the base rebalance.`;
  return [{ severity: 'warning', code: 'NO_EFFECT', path, message }];
}

/** Reports an error if another review takes effect before the last close of a review. */
function reportWithinPhase(
  { id, path, positions, rebalance, calendar }: DatedReview,
  otherDatedReview: DatedReview,
): Finding[] {
  const closes = countPhaseCloses(rebalance.phase);
  if (closes === 1) return [];
  const formatPosition = (position: number): string => formatDay(calendar.sessions[position]!);
  for (const start of positions) {
    const collision = otherDatedReview.positions[findLastAtMost(otherDatedReview.positions, start + closes - 1)];
    if (collision === undefined || collision < start) continue;
    const end = Math.min(start + closes, calendar.sessions.length) - 1;
    const message = `The review ${id} is spread over the closes from ${formatPosition(start)} to ${formatPosition(end)}, but the review ${otherDatedReview.id} takes effect on ${formatPosition(collision)}.`;
    return [{ severity: 'error', code: 'INVALID_RANGE', path: `${path}.phase`, message }];
  }
  return [];
}

/**
 * Warns if a later review in the document has the same date and scope and overrides this one. Skips dates that an
 * earlier warning covers.
 */
function reportOverridden(datedReview: DatedReview, otherDatedReviews: readonly DatedReview[]): Finding[] {
  const freePositions = new Set(datedReview.positions);
  return otherDatedReviews.flatMap((later): Finding[] => {
    if (datedReview.scope !== later.scope) return [];
    const commonPositions = later.positions.filter((position) => freePositions.delete(position));
    const [first] = commonPositions;
    if (first === undefined) return [];
    const day = formatDay(later.calendar.sessions[first]!);
    const moreText = commonPositions.length === 1 ? '' : ` and on ${commonPositions.length - 1} later dates`;
    const message = `The reviews ${datedReview.id} and ${later.id} both have the scope ${datedReview.scope} on ${day}${moreText}. ${later.id} runs last, and ${datedReview.id} has no effect there.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', path: later.path, message }];
  });
}

/** Reports limits of a weighting that contradict each other or have no effect, and unknown members. */
export function checkWeighting(weighting: UncheckedBody, weightingPath: string): Finding[] {
  return [
    ...reportScaling(weighting, weightingPath),
    ...reportFloor(weighting, weightingPath),
    ...reportLadder(weighting, weightingPath),
    ...reportCapBy(weighting, weightingPath),
    ...reportPhase(weighting['phase_in'], weightingPath),
  ];
}

/** Reports given weights of securities that are scaled, because they do not sum to 1. */
function reportScaling({ params }: UncheckedBody, weightingPath: string): Finding[] {
  if (!isObject(params) || params['renormalise'] === false || !isObject(params['weights'])) return [];
  const weights = Object.values(params['weights']);
  const sum = weights.reduce<number>(
    (total, weight) => total + (typeof weight === 'number' && weight >= 0 ? weight : Number.NaN),
    0,
  );
  if (!(Math.abs(sum - 1) > WEIGHTS_TOLERANCE)) return [];
  const path = `${weightingPath}.params.weights`;
  const message = `The weights of ${path} sum to ${formatNumber(sum)}. They are scaled to a sum of 1.`;
  return [{ severity: 'warning', code: 'WEIGHTS_NOT_ONE', path, message, value: formatNumber(sum) }];
}

/** Distance of a sum of weights from 1 that is a rounding error. */
const WEIGHTS_TOLERANCE = 1e-9;

function reportFloor({ floor, cap, cap_by: by }: UncheckedBody, weightingPath: string): Finding[] {
  if (typeof floor !== 'number' || typeof cap !== 'number' || floor <= cap || isGiven(by)) return [];
  return [
    createErrorFinding('EMPTY_RANGE', `${weightingPath}.floor`, `The floor of ${floor} is above the cap of ${cap}.`, {
      value: floor,
    }),
  ];
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** Reports limits that would change the weights set by laddered caps. */
function reportLadder(
  { ladder_caps: ladder, cap, floor, group_caps: groups }: UncheckedBody,
  weightingPath: string,
): Finding[] {
  if (!isObject(ladder)) return [];
  const path = `${weightingPath}.ladder_caps`;
  const { single, ranked, group } = LadderCaps.shape;
  const otherLimits = [
    ...(isGiven(cap) ? ['cap'] : []),
    ...(isGiven(floor) ? ['floor'] : []),
    ...(Array.isArray(groups) && groups.length > 0 ? ['group_caps'] : []),
  ];
  return [
    ...findUnknownMembers(ladder, Object.keys(LadderCaps.shape), path),
    ...findUnknownMembers(ladder['single'], Object.keys(single.unwrap().shape), `${path}.single`),
    ...findUnknownMembers(ladder['ranked'], Object.keys(ranked.unwrap().shape), `${path}.ranked`),
    ...findUnknownMembers(ladder['group'], Object.keys(group.unwrap().shape), `${path}.group`),
    ...otherLimits.map((other) =>
      createErrorFinding(
        'CAP_INFEASIBLE',
        `${weightingPath}.${other}`,
        `${weightingPath}.${other} cannot be combined with ${path}, because it would move weights beyond the stages.`,
      ),
    ),
  ];
}

function reportCapBy({ cap_by: by, cap, ladder_caps: ladder }: UncheckedBody, weightingPath: string): Finding[] {
  if (!isGiven(by) || isGiven(cap) || isGiven(ladder)) return [];
  const message = `${weightingPath}.cap_by is ${String(by)} and has no effect, because neither cap nor ladder_caps is present.`;
  return [{ severity: 'warning', code: 'NO_EFFECT', path: `${weightingPath}.cap_by`, message }];
}

/**
 * Reports a phase-in field that depends on the constituents. A decision does not know the values of such a field at
 * earlier reviews.
 */
function reportPhase(phaseIn: unknown, weightingPath: string): Finding[] {
  if (!isObject(phaseIn)) return [];
  const path = `${weightingPath}.phase_in`;
  const { field } = phaseIn;
  return [
    ...findUnknownMembers(phaseIn, Object.keys(PhaseIn.shape), path),
    ...(isShaped(field) && readsConstituents(field, new Map())
      ? [
          createErrorFinding(
            'BAD_EXPRESSION',
            `${path}.field`,
            `${path}.field cannot use is_constituent(), because earlier reviews are also read.`,
          ),
        ]
      : []),
  ];
}

/**
 * Returns findings about the selection and weighting of a pipeline or a review. Checks the parameters of each row by
 * its class, duplicate ids, and caps.
 */
export function checkRuleRows(holder: UncheckedBody, path: string): Finding[] {
  const { selection, weighting } = holder;
  const rows: readonly unknown[] = Array.isArray(selection) ? selection : [];
  const findings = rows.flatMap((row, i) =>
    isObject(row) ? reportRow(row, `${path}.selection[${i}]`, findSelectionClass, SELECTION_CLASSES) : [],
  );
  findings.push(...listRepeatedIds(rows, `${path}.selection`));
  if (!isObject(weighting)) return findings;
  const weightingPath = `${path}.weighting`;
  findings.push(...reportRow(weighting, weightingPath, findWeightingClass, WEIGHTING_CLASSES));
  findings.push(...checkWeighting(weighting, weightingPath));
  return findings;
}

interface RowClass {
  readonly type: string;
  readonly params: z.ZodObject;
}

function reportRow(
  row: UncheckedBody,
  path: string,
  classOf: (type: string) => RowClass | undefined,
  classes: readonly RowClass[],
): Finding[] {
  const { type, params = {} } = row;
  const rowId = typeof row['id'] === 'string' ? row['id'] : null;
  if (typeof type !== 'string' || type === '') return [];
  const entry = classOf(type);
  if (entry === undefined) {
    const acceptedTypes = classes.map((rowClass) => rowClass.type);
    return [
      createErrorFinding(
        'UNKNOWN_TYPE',
        `${path}.type`,
        `Unknown class ${type}; the accepted set is ${acceptedTypes.join(', ')}.${suggestName(type, acceptedTypes)}`,
        { row_id: rowId, accepted: acceptedTypes, ...keepSmallValue(type) },
      ),
    ];
  }
  if (!isObject(params)) return [];
  return [
    ...checkParams(entry.params, params, { path: `${path}.params`, rowId }).findings,
    ...reportFallbacks(row, { path, rowId, schema: entry.params }),
  ];
}

/**
 * Returns findings about parameters that override those of a rule. They are checked together with the other parameters
 * of the rule.
 */
function reportFallbacks(
  row: UncheckedBody,
  { path, rowId, schema }: { readonly path: string; readonly rowId: string | null; readonly schema: z.ZodObject },
): Finding[] {
  const { params = {}, fallback } = row;
  if (!Array.isArray(fallback)) return [];
  return fallback.flatMap((step: unknown, i): Finding[] => {
    const stepPath = `${path}.fallback[${i}]`;
    if (!isObject(step) || !isObject(step['params']) || !isObject(params)) return [];
    const mergedResult = checkParams(
      schema,
      { ...params, ...step['params'] },
      { path: `${stepPath}.params`, rowId },
    ).findings;
    return [...findUnknownMembers(step, Object.keys(RuleFallback.shape), stepPath), ...mergedResult];
  });
}

function listRepeatedIds(rows: readonly unknown[], path: string): Finding[] {
  const first = new Map<string, number>();
  return rows.flatMap((row, i) => {
    const id = isObject(row) ? row['id'] : undefined;
    if (typeof id !== 'string') return [];
    const earlier = first.get(id);
    if (earlier === undefined) {
      first.set(id, i);
      return [];
    }
    return [
      createErrorFinding(
        'DUPLICATE_ROW_ID',
        `${path}[${i}].id`,
        `The id ${id} is already used by the rule at position ${earlier}.`,
        {
          row_id: id,
          value: id,
        },
      ),
    ];
  });
}

/** Reports a review without a schedule, or with one that states no frequency: the default is that of the rebalance. */
function reportMissingSchedule(schedule: unknown, path: string): Finding[] {
  const isStated = schedule !== undefined && (!isObject(schedule) || schedule['frequency'] !== undefined);
  if (isStated) return [];
  const place = `${path}.schedule${schedule === undefined ? '' : '.frequency'}`;
  const message = `${place} is missing: a review states its dates in the form of rebalance, for example {"frequency": "quarterly"}.`;
  return [createErrorFinding('REQUIRED', place, message)];
}

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
    ...rows.flatMap(({ review, path }) => reportMissingSchedule(review['schedule'], path)),
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
  const { treatment } = body['pipeline'];
  const afterBreach = isObject(treatment) ? treatment['breach_review'] : undefined;
  return [...findings, ...checkReviewCollisions([...first, ...reviewOnCalendars], afterBreach)];
}

interface CheckedCadence {
  readonly findings: readonly Finding[];
  /** Cadence on its calendar; absent if the calendar or the base date is unknown. */
  readonly placed?: CadenceOnCalendar;
}

/** Returns findings about a cadence: its members, and the order of its dates on the calendar. */
function checkCadence(
  rebalance: unknown,
  { body, context, path }: { readonly body: UncheckedBody; readonly context: IndexContext; readonly path: string },
): CheckedCadence {
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

function reportIdleReviews(reviews: readonly unknown[]): Finding[] {
  if (reviews.length === 0) return [];
  const message = 'reviews has no effect, because an index without a pipeline is decided only at its own rebalances.';
  return [{ severity: 'warning', code: 'NO_EFFECT', path: 'reviews', message }];
}

/** Reports duplicate ids of reviews, including the id of the document's own rebalance. */
function reportRepeatedReviews(ids: readonly unknown[]): Finding[] {
  const firstPositions = new Map<unknown, number>();
  return ids.flatMap((id, i) => {
    const path = `reviews[${i}].id`;
    if (id === DEFAULT_REVIEW) {
      const message = `The id ${DEFAULT_REVIEW} is reserved for the rebalance of the document.`;
      return [createErrorFinding('DUPLICATE_ROW_ID', path, message, { value: id })];
    }
    const earlier = firstPositions.get(id);
    if (earlier === undefined) firstPositions.set(id, i);
    if (typeof id !== 'string' || earlier === undefined) return [];
    return [
      createErrorFinding(
        'DUPLICATE_ROW_ID',
        path,
        `The id ${id} is already used by the review at position ${earlier}.`,
        {
          value: id,
        },
      ),
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
    ...(scope === 'shares' && readIndexShares(base)?.kind !== 'market_value'
      ? [
          createIdleFinding(
            'scope',
            `the weights of ${String(base['type'])} are not market values, so share counts do not affect them`,
          ),
        ]
      : []),
    ...(scope !== 'shares' && reviewWeighting && holdsFixed(reviewWeighting) !== holdsFixed(base)
      ? [reportMixedShares(path, reviewWeighting, base)]
      : []),
  ];
}

/** Reports a document that combines fixed numbers of shares with weights, because the allocation would be ambiguous. */
function reportMixedShares(path: string, ofReview: UncheckedBody, base: UncheckedBody): Finding {
  const reviewType = String(ofReview['type']);
  const fixedType = holdsFixed(ofReview) ? reviewType : String(base['type']);
  const message = `${path}.weighting.type is ${reviewType} and pipeline.weighting.type is ${String(base['type'])}: ${fixedType} must be the weighting of every review or of none.`;
  return createErrorFinding('NOT_IN_CHOICES', `${path}.weighting.type`, message, { value: reviewType });
}

function readIndexShares({ type, params }: UncheckedBody): IndexShareTerms | null {
  return findIndexShares({ type: String(type), params: isObject(params) ? params : {} });
}

const holdsFixed = (weighting: UncheckedBody): boolean => readIndexShares(weighting)?.kind === 'fixed';

/** Reports rounding settings that lack a required member or have no effect. */
export function checkRounding(body: UncheckedBody, { indexOf }: Pick<IndexContext, 'indexOf'>): Finding[] {
  const { rounding, base_market_value: base } = body;
  const isOverlay = isObject(body['overlay']);
  const idle = isOverlay ? 'an overlay has no index shares' : describeUnroundedShares(body, indexOf);
  return [
    ...(isObject(rounding) && rounding['shares'] !== undefined && base === undefined && !isOverlay
      ? [
          createErrorFinding(
            'REQUIRED',
            'base_market_value',
            'rounding.shares requires base_market_value: otherwise index shares are fractions of a base value.',
          ),
        ]
      : []),
    ...(idle === null ? [] : reportIdleRoundings(rounding, idle)),
    ...(isOverlay && base !== undefined ? [createIdleFinding('base_market_value', idle!)] : []),
    ...(holdsFixedShares(body) && base !== undefined
      ? [createIdleFinding('base_market_value', 'a price-weighted index holds fixed numbers of shares')]
      : []),
  ];
}

function holdsFixedShares({ pipeline }: UncheckedBody): boolean {
  const weighting = isObject(pipeline) ? pipeline['weighting'] : undefined;
  const shares = isObject(weighting) ? readIndexShares(weighting) : null;
  return shares?.kind === 'fixed' && shares.splits === 'keep';
}

/**
 * Returns the reason why divisor and index shares are not rounded. Returns null if they can be. A derived index has the
 * treatment of its source.
 */
function describeUnroundedShares(body: UncheckedBody, indexOf: IndexContext['indexOf']): string | null {
  const effect = 'each return variant has separate index shares, which follow from weights';
  const { pipeline, derivation } = body;
  const treatment = isObject(pipeline) && isObject(pipeline['treatment']) ? pipeline['treatment'] : {};
  if (treatment['reinvestment'] === 'constituent') return `with pipeline.treatment.reinvestment constituent ${effect}`;
  const sourceId = isObject(derivation) ? derivation['source_index_id'] : undefined;
  const source = typeof sourceId === 'string' ? indexOf(sourceId) : undefined;
  const inherited = source && resolveTreatment(source, indexOf);
  return inherited?.reinvestment === 'constituent'
    ? `the source index ${source!.id} has treatment.reinvestment constituent, with which ${effect}`
    : null;
}

function reportIdleRoundings(rounding: unknown, why: string): Finding[] {
  if (!isObject(rounding)) return [];
  return ['divisor', 'shares'].flatMap((member) =>
    rounding[member] === undefined ? [] : [createIdleFinding(`rounding.${member}`, why)],
  );
}

function createIdleFinding(path: string, why: string): Finding {
  return { severity: 'warning', code: 'NO_EFFECT', path, message: `${path} has no effect: ${why}.` };
}

/** Checks the universe of a document: its kind, the members that the kind requires, and the indices it refers to. */
export function checkUniverse(body: UncheckedBody, { indexOf }: IndexContext): Finding[] {
  const universe = body['universe'];
  if (universe === undefined) return [];
  if ((isObject(body['derivation']) || isObject(body['overlay'])) && !isObject(body['pipeline'])) {
    const indexKind = isObject(body['derivation']) ? 'A derived index' : 'An overlay';
    return [
      createErrorFinding(
        'PIPELINE_XOR_DERIVATION',
        'universe',
        `${indexKind} has the constituents of its source, so it cannot have a universe.`,
      ),
    ];
  }
  if (isTooDeep(universe))
    return [createErrorFinding('OUT_OF_RANGE', 'universe', 'The sets of the universe are nested too deeply.')];
  return listUniverseFields(universe, { path: 'universe', ownId: body['id'], indexOf });
}

interface UniverseLocation {
  readonly path: string;
  readonly ownId: unknown;
  readonly indexOf: IndexContext['indexOf'];
}

function listUniverseFields(universe: unknown, place: UniverseLocation): Finding[] {
  if (!isObject(universe)) return [];
  const { path, ownId, indexOf } = place;
  const { kind, id, identifiers } = universe;
  const foreignMembers = Object.entries(KINDS_OF_MEMBER).filter(
    ([member, kinds]) => isPresent(universe[member]) && !kinds.includes(kind as string),
  );
  if (kind === undefined && foreignMembers.length > 0) return [createMissingKindFinding(path, ...foreignMembers[0]!)];
  if (isKind(kind) && foreignMembers.length > 0)
    return foreignMembers.map(([member, kinds]) => reportOtherKind(kind, { path, member, kinds }));
  if (kind === 'list' && (!Array.isArray(identifiers) || identifiers.length === 0)) {
    return [
      createErrorFinding(
        'REQUIRED',
        `${path}.identifiers`,
        `${path}.identifiers must contain at least 1 identifier for a list.`,
      ),
    ];
  }
  if (kind === 'watchlist' && (universe['watchlist_id'] === undefined || universe['watchlist_id'] === null))
    return [
      createErrorFinding('REQUIRED', `${path}.watchlist_id`, `${path}.watchlist_id is required by the kind watchlist.`),
    ];
  if ((kind === 'named' || kind === 'index') && (id === undefined || id === null))
    return [createErrorFinding('REQUIRED', `${path}.id`, `${path}.id is required by the kind ${kind}.`)];
  if (isSetKind(kind)) return reportSet(universe, kind, place);
  return kind === 'index' && typeof id === 'string' ? checkReference(id, ownId, `${path}.id`, indexOf) : [];
}

function reportSet(universe: UncheckedBody, kind: string, place: UniverseLocation): Finding[] {
  const { path } = place;
  const parts = universe['of'];
  if (!Array.isArray(parts))
    return [createErrorFinding('REQUIRED', `${path}.of`, `${path}.of is required by the kind ${kind}.`)];
  const unknownFindings = [universe, ...parts].flatMap((part, i) =>
    findUnknownMembers(part, Object.keys(UniverseSpec.shape), i === 0 ? path : `${path}.of[${i - 1}]`),
  );
  return [
    ...unknownFindings,
    ...parts.flatMap((part, i) => listUniverseFields(part, { ...place, path: `${path}.of[${i}]` })),
  ];
}

/**
 * Kinds of universes that accept each member. The kind `watchlist` accepts identifiers, because runs add its
 * securities.
 */
const KINDS_OF_MEMBER: Readonly<Record<string, readonly string[]>> = {
  id: ['named', 'index'],
  watchlist_id: ['watchlist'],
  identifiers: ['list', 'watchlist'],
  of: SET_KINDS,
};

const isKind = (kind: unknown): kind is UniverseSpec['kind'] => UniverseSpec.shape.kind.safeParse(kind).success;

const isPresent = (value: unknown) =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

const createMissingKindFinding = (path: string, member: string, kinds: readonly string[]): Finding =>
  createErrorFinding(
    'REQUIRED',
    `${path}.kind`,
    `${path}.kind (${kinds.join(' or ')}) is required together with ${path}.${member}. Without ${path}.kind, the universe contains all securities.`,
    { accepted: [...kinds] },
  );

const reportOtherKind = (
  kind: string,
  { path, member, kinds }: { readonly path: string; readonly member: string; readonly kinds: readonly string[] },
): Finding =>
  createErrorFinding(
    'NOT_IN_CHOICES',
    `${path}.kind`,
    `${path}.${member} applies only to the kind ${kinds.join(' or ')}, but ${path}.kind is ${kind}.`,
    { accepted: [...kinds], value: kind },
  );

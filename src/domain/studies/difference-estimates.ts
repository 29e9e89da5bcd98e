import { type Composition, findCompositionInForce } from '../books/compositions.js';
import { isRuleDocument } from '../definition/index-document.js';
import { ACTION_KINDS, type CorporateAction } from '../market/market-data.js';
import type { SessionAction } from '../market/session-market.js';
import { type Candidate, CARRIED_MAX } from './difference-candidates.js';
import { type Evaluation, findState, measureSensitivity } from './difference-terms.js';

/** Difference that a change must explain. */
export interface Sought {
  /** Session of the first difference. */
  readonly session: number;
  /** Session of the last level that agrees; sessions between them have no level. */
  readonly previous: number;
  /** Session of the first level with the scale of the difference. */
  readonly begin: number;
  /** Relative differences of the levels on this session and the following ones. */
  readonly needed: readonly { readonly session: number; readonly difference: number }[];
  /** Relative error of a level by rounding. */
  readonly tolerance: number;
}

/** Number of sessions above which a difference is compared as a whole, because it is near the rounding. */
const SHORT = 4;

/** Largest error of an estimated effect, relative to the difference. */
export const ESTIMATE_ERROR = 0.2;

/** Excess of an estimated earlier effect over rounding that excludes a change. */
const PRIOR_FACTOR = 8;

/** Largest weight that a change gives to a security. */
const WEIGHT_MAX = 0.6;

/** Error of a change that explains a difference only together with another. */
const UNLIKELY = 10;

/** Part of an estimated earlier effect that is certain. */
const CERTAIN_SHARE = 0.5;

/** Largest relative error of the estimate for another price. */
const PRICE_ERROR = 0.04;

/** Ratios of a difference to the estimate for an event: tax and the convention of reinvestment reduce it. */
const EVENT_RATIOS = [0.55, 1.3] as const;

const isLikelyRatio = (ratio: number): boolean => ratio > EVENT_RATIOS[0] && ratio < EVENT_RATIOS[1];

/** Largest error of an earlier effect in units of the rounding of a level. */
const EARLIER_TOLERANCE = 2;

/** Largest ratio of a free value to the value of the event. */
const VALUE_RATIO_MAX = 20;

/** Factors on the error of an estimated weight with and without securities at a cap, which redistributes weights. */
const CAPPED_FACTOR = 0.3;
const UNCAPPED_FACTOR = 3;

/**
 * Returns a function that estimates the effect of a change on the sessions of a difference from weights, prices and
 * events, before any run. The function returns the error of the estimate relative to the difference: at most
 * `ESTIMATE_ERROR` for a likely change, Infinity for a change that cannot act on the session, null without an estimate.
 */
export function createEstimate(own: Evaluation, sought: Sought): (candidate: Candidate) => number | null {
  const { session, previous, begin, needed } = sought;
  const sensitivity = measureSensitivity(own, session);
  if (sensitivity === null || !(Math.abs(sensitivity) > 0) || session <= own.rule.first) return () => null;
  const { list, sm, document } = own.rule;
  const tolerance = sought.tolerance / Math.abs(sensitivity);
  const wanted = needed[0]!.difference / sensitivity;
  const actions = groupByColumn(sm.actions.all);
  const { held, weights } = findState(own, session - 1).end;
  const weightBefore = new Map(Array.from(held, (column, k) => [column, weights[k]!]));
  const isPrice = own.terms.variant === 'price';
  const isUncapped = (review: number): boolean =>
    findCompositionInForce(list, review)?.capped.length === 0 &&
    isRuleDocument(document) &&
    document.pipeline.weighting.group_caps.length === 0;

  const grow = (column: number, from: number, to: number): number => {
    let growth = sm.carriedClose(to, column) / sm.carriedClose(from, column);
    for (const { session: at, action } of actions.get(column) ?? []) {
      if (at <= from || at > to) continue;
      const kind = ACTION_KINDS[action.type];
      if (kind === 'ratio') growth *= action.value;
      else if (kind === 'cash' && !(isPrice && action.type === 'DIVIDEND'))
        growth *= 1 + action.value / sm.carriedClose(at, column);
    }
    return growth;
  };
  const growIndex = (from: number, to: number): number => {
    let growth = 1;
    for (let s = from + 1; s <= to; s++) growth *= own.path!.gross[s - own.rule.first]!;
    return growth;
  };
  const ruleGrowth = growIndex(session - 1, session);
  /** Returns the weight of a security at the close before a session near the difference. */
  const weigh = (column: number): number => weightBefore.get(column) ?? 0;
  const compare = (effect: number): number => Math.max(0, Math.abs(effect - wanted) - tolerance) / Math.abs(wanted);
  const observed = needed.map(({ session: at, difference }) => ({ at, difference: difference / sensitivity }));
  const isLong = needed.length > SHORT;

  /**
   * Returns the error of an effect over the sessions of a difference near the rounding, on which one session is no
   * evidence. The effect may be smaller or larger by a factor of the convention.
   */
  function comparePath(effectAt: (at: number) => number): number {
    let [mixed, square] = [0, 0];
    const effects = observed.map(({ at }) => effectAt(at));
    observed.forEach(({ difference }, k) => {
      mixed += effects[k]! * difference;
      square += effects[k]! ** 2;
    });
    if (square === 0) return 2 * ESTIMATE_ERROR;
    const factor = Math.min(Math.max(mixed / square, EVENT_RATIOS[0]), EVENT_RATIOS[1]);
    const errors = observed.map(({ difference }, k) => Math.abs(factor * effects[k]! - difference));
    return Math.max(0, Math.max(...errors) - tolerance) / Math.abs(wanted);
  }

  /** Returns the return of a security over that of the index from a review, or from the first level of the scale, on. */
  const exceed = (column: number, review: number, at: number): number => {
    const ratio = (to: number): number => grow(column, review, to) / growIndex(review, to);
    return ratio(at) - (begin > review ? ratio(begin) : 1);
  };

  /**
   * Estimates a change of a weight from a review on: its excess return, with another effect of the change, must explain the
   * session and the next one.
   */
  function estimateWeight(
    column: number,
    review: number,
    change: number | null,
    other: (at: number) => number = () => 0,
  ): number | null {
    const excess = (at: number): number => exceed(column, review, at);
    const used = change ?? findWeight(excess, other);
    if (Number.isNaN(used)) return null;
    if (Math.abs(used) > WEIGHT_MAX) return UNLIKELY; // together with another change it may explain the session
    // The levels agree before the difference, so that a security that has already moved cannot be its cause.
    for (let before = Math.max(review, begin) + 1; before <= previous; before++)
      if (CERTAIN_SHARE * Math.abs(used * excess(before) + other(before)) > PRIOR_FACTOR * tolerance) return Infinity;
    const errors = observed.map(
      ({ at, difference }) =>
        Math.max(0, Math.abs(used * excess(at) + other(at) - difference) - 2 * tolerance) /
        Math.max(Math.abs(difference), isLong ? Math.abs(wanted) : 0),
    );
    return Math.max(...errors) * (isUncapped(review) ? UNCAPPED_FACTOR : CAPPED_FACTOR);
  }

  /** Returns the weight whose excess return is the difference: on its first session, or over all of them. */
  function findWeight(excess: (at: number) => number, other: (at: number) => number): number {
    if (!isLong) return (wanted - other(session)) / excess(session);
    const excesses = observed.map(({ at }) => excess(at));
    const mixed = observed.reduce((sum, { at, difference }, k) => sum + excesses[k]! * (difference - other(at)), 0);
    return mixed / excesses.reduce((sum, one) => sum + one * one, 0);
  }

  /** Estimates a security for which a selection exchanges one of others: that whose exchange fits best. */
  function estimateExchange(column: number, review: Composition, { manner, exchanged }: Candidate): number {
    const weightOf = (one: number): number => review.weights[review.columns.indexOf(one)] ?? 0;
    let least = UNLIKELY;
    for (const one of exchanged!) {
      const [entering, leaving] = manner === 'added' ? [column, one] : [one, column];
      const weight = weightOf(leaving);
      const error = estimateWeight(
        entering,
        review.session,
        null,
        (at) => (-weight / (1 - weight)) * exceed(leaving, review.session, at),
      );
      least = Math.min(least, error ?? UNLIKELY);
    }
    return Math.max(least, 2 * ESTIMATE_ERROR);
  }

  /** Returns the part of the growth of a session that a row of an event adds. */
  function contribute({ type, value }: CorporateAction, column: number, at: number): number | null {
    const kind = ACTION_KINDS[type];
    const before = sm.carriedClose(at - 1, column);
    if (kind === 'cash') return isPrice && type === 'DIVIDEND' ? 0 : (weigh(column) * value) / before / ruleGrowth;
    return kind === 'ratio' && type !== 'RIGHTS_ISSUE'
      ? ((weigh(column) * sm.carriedClose(at, column)) / before / ruleGrowth) * (value - 1)
      : null;
  }

  /** Estimates a small earlier effect that appears late in a rounded level. */
  const estimateEarlier = (effect: number): number =>
    isLikelyRatio(wanted / effect) || Math.abs(wanted - effect) <= EARLIER_TOLERANCE * tolerance
      ? 0
      : Math.max(compare(effect), 2 * ESTIMATE_ERROR);

  /**
   * Estimates a changed row of an event by the growth that its rows add. Another ratio of shares is always likely,
   * because its effect is not proportional to it where weights follow prices.
   */
  function estimateEvent(
    { free, edits, manner }: Candidate,
    { before, after }: { readonly before: CorporateAction | null; readonly after: CorporateAction | null },
  ): number | null {
    if (before !== null && after !== null && before.type !== after.type) return 0; // the tax and the convention decide
    const effects = new Map<number, number>();
    for (const [row, sign] of [
      [before, -1],
      [after, 1],
    ] as const) {
      if (row === null) continue;
      const at = sm.sessionAt(row.exDay - 1) + 1; // the session of the ex-date, or the next one
      if (at < 1 || at >= sm.sessions.length) continue;
      const part = contribute(row, sm.columnOf(row.identifier), at);
      if (part === null) return null;
      const seen = at > previous && at < session ? session : at;
      effects.set(seen, (effects.get(seen) ?? 0) + sign * part);
    }
    for (const [at, effect] of effects)
      if (at < session && CERTAIN_SHARE * Math.abs(effect) > PRIOR_FACTOR * tolerance) return Infinity;
    const sessions = [...effects.keys()];
    if (sessions.every((at) => at > session)) return Infinity;
    const effect = effects.get(session);
    const isMoved = manner === 'early' || manner === 'late';
    if (isLong && !isMoved && free === undefined)
      return comparePath((until) => sessions.reduce((sum, at) => sum + (at <= until ? effects.get(at)! : 0), 0));
    if (effect === undefined)
      return estimateEarlier(sessions.reduce((sum, at) => sum + (at < session ? effects.get(at)! : 0), 0));
    if (free !== undefined && before !== null) {
      const sizes = observed.map(({ difference }) => difference);
      if (isLong && Math.max(...sizes) - Math.min(...sizes) > 2 * tolerance) return Infinity; // the effect of a value lasts
      const part = contribute(before, sm.columnOf(before.identifier), session);
      if (part === null || part === 0) return null;
      const ratio = 1 + wanted / part;
      const isPossible = ratio > 0 && ratio < VALUE_RATIO_MAX;
      return isPossible || ACTION_KINDS[before.type] === 'ratio' ? ESTIMATE_ERROR / 2 : Infinity;
    }
    const ratio = wanted / effect;
    if (isLikelyRatio(ratio) || edits.length > 1) return 0;
    const isOfRatio = before !== null && after?.exDay === before.exDay && ACTION_KINDS[before.type] === 'ratio';
    return isOfRatio ? ESTIMATE_ERROR / 2 : Math.max(compare(effect), 2 * ESTIMATE_ERROR);
  }

  return (candidate) => {
    const { subject, manner, identifier, date, value, review, free, edits } = candidate;
    const [edit] = edits;
    if (identifier === null || date === null || edit === undefined) return null;
    const column = sm.columnOf(identifier);
    if (edit.kind === 'action' && edit.before?.status !== 'cancelled') return estimateEvent(candidate, edit);
    if (free !== undefined) return null;
    if (subject === 'price' && edit.kind === 'bars') {
      const growth = grow(column, session - 1, session) / ruleGrowth;
      const effect = weigh(column) * growth * (value! / sm.carriedClose(session, column) - 1);
      // The effect of a price ends with it.
      if (isLong && observed.some(({ difference }, k) => k > CARRIED_MAX && Math.abs(difference) > tolerance))
        return Infinity;
      return (compare(effect) * ESTIMATE_ERROR) / PRICE_ERROR;
    }
    if (review === undefined || review.session >= session) return null;
    const inForce = findCompositionInForce(list, review.session);
    const weight = inForce?.weights[inForce.columns.indexOf(column)] ?? 0;
    if (subject === 'constituent') {
      const removed = manner === 'added' || weight === 0 ? null : -weight / (1 - weight);
      const alone = estimateWeight(column, review.session, removed);
      if (candidate.exchanged === undefined || inForce === undefined) return alone;
      return Math.min(alone ?? UNLIKELY, estimateExchange(column, inForce, candidate));
    }
    if (subject === 'shares' && edit.kind === 'bars') {
      const panel = sm.market.fields.get(edit.field)!;
      const row = edit.bars.at(-1)?.row;
      if (row === undefined) return Infinity;
      const change = value! / panel[row * sm.identifiers.length + column]! - 1;
      if (change === 0) return Infinity;
      return estimateWeight(
        column,
        review.session,
        Number.isNaN(change) ? null : (weight * change) / (1 + weight * change),
      );
    }
    return null;
  };
}

function groupByColumn(all: readonly SessionAction[]): Map<number, SessionAction[]> {
  const groups = new Map<number, SessionAction[]>();
  for (const placed of all) {
    const group = groups.get(placed.column);
    if (group === undefined) groups.set(placed.column, [placed]);
    else group.push(placed);
  }
  return groups;
}

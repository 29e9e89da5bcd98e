import type { Day } from '../base/time.js';
import type { Calendar, Calendars } from '../calendars/calendar.js';
import type { MarketData } from '../market/market-data.js';
import { listTextSpans } from './amendments.js';
import {
  type IndexDocument,
  isOverlayDocument,
  listSources,
  type RoundingSpec,
  type TreatmentSpec,
} from './index-document.js';
import type { WeightingSpec } from './weighting.js';

/** Numbers of decimals of an index on its base date, with later changes by amendments. */
export interface DatedRounding extends RoundingSpec {
  /** Changed numbers of decimals by date; absent if no amendment applies. */
  readonly amended?: readonly AmendedRounding[];
}

/** Numbers of decimals of an index after the close of a day. */
export interface AmendedRounding {
  readonly after: Day;
  readonly rounding: RoundingSpec;
}

/** Returns the numbers of decimals of an index by date. Returns undefined if nothing is ever rounded. */
export function createDatedRounding(document: IndexDocument, calendar: Calendar): DatedRounding | undefined {
  const amendedRoundings = listTextSpans(document, calendar).map(({ after, text }): AmendedRounding => ({
    after,
    rounding: text.document.rounding ?? {},
  }));
  if (amendedRoundings.every(({ rounding }) => Object.keys(rounding).length === 0) && document.rounding === undefined)
    return undefined;
  return { ...document.rounding, ...(amendedRoundings.length === 0 ? {} : { amended: amendedRoundings }) };
}

/** Returns the numbers of decimals on a day. */
export function findRounding(rounding: DatedRounding | undefined, day: Day): RoundingSpec {
  return rounding?.amended?.findLast(({ after }) => after < day)?.rounding ?? rounding ?? {};
}

export function roundsAny(rounding: DatedRounding | undefined, member: keyof RoundingSpec): boolean {
  return (
    rounding?.[member] !== undefined ||
    (rounding?.amended ?? []).some((amendedRounding) => amendedRounding.rounding[member] !== undefined)
  );
}

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

function changeTreatment(
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

export function findTreatment(treatment: DatedTreatment, day: Day): TreatmentSpec {
  if (treatment.amended === undefined) return treatment;
  const { amended, ...first } = treatment;
  return amended.findLast(({ after }) => after < day)?.treatment ?? first;
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

/**
 * Default number of sessions without a price after which a constituent leaves, if the store has no actions that end
 * securities.
 */
export const STALE_SESSIONS = 5;

type StaleTreatment = Pick<TreatmentSpec, 'max_stale_sessions'>;

/**
 * Returns the number of sessions without a price after which a constituent leaves. Returns Infinity if its last price
 * is used without a limit.
 */
export function countStaleSessions({ max_stale_sessions: sessions = STALE_SESSIONS }: StaleTreatment): number {
  return sessions ?? Infinity;
}

/** Returns the maximum age in sessions of a price at which a security can enter and trade. */
export function readPriceSessions(
  treatment: Pick<TreatmentSpec, 'max_stale_sessions' | 'entry_stale_sessions'>,
): number {
  return Math.min(countStaleSessions(treatment), treatment.entry_stale_sessions);
}

/** Types of the corporate actions that end securities. */
export const ENDING_TYPES: ReadonlySet<string> = new Set(['DELISTING', 'ACQUISITION', 'MERGER']);

const defaultsByActions = new WeakMap<MarketData['actions'], number | null>();

/**
 * Returns the default of `max_stale_sessions` on a market. It is null, which means no limit, if the store has corporate
 * actions that end securities.
 */
export function readDefaultStaleSessions({ actions }: Pick<MarketData, 'actions'>): number | null {
  const entry = defaultsByActions.get(actions);
  if (entry !== undefined) return entry;
  const hasEndings = actions.some(({ type, status }) => ENDING_TYPES.has(type) && status !== 'cancelled');
  const sessions = hasEndings ? null : STALE_SESSIONS;
  defaultsByActions.set(actions, sessions);
  return sessions;
}

export function applyStoreDefaults(treatment: DatedTreatment, market: Pick<MarketData, 'actions'>): DatedTreatment {
  const isWhole = ({ max_stale_sessions: sessions }: StaleTreatment): boolean => sessions !== undefined;
  if (isWhole(treatment) && (treatment.amended ?? []).every((amendedTreatment) => isWhole(amendedTreatment.treatment)))
    return treatment;
  return changeTreatment(treatment, (one) =>
    isWhole(one) ? one : { ...one, max_stale_sessions: readDefaultStaleSessions(market) },
  );
}

import type {
  Approval,
  HeldIndex,
  PublicationEntry,
  ScheduleDay,
  ScheduleDaySummary,
} from '#clients/typescript/divisor.js';
import { countValues, formatBytes, formatCount } from '../../words/numbers.js';
import { findLatestClose } from '../../words/publication.js';

interface PublishedLevel {
  readonly variant: string;
  readonly level: number;
  /** Return since the previous published close; null for the first one. */
  readonly change: number | null;
}

/** Names of the shown return variants. The net return is in the published log of the index. */
const VARIANTS = { price: 'Price return', total: 'Total return' } as const;

/** Returns the valid levels of a session in a published log. */
export function listLevels(
  entries: readonly Pick<PublicationEntry, 'date' | 'price' | 'total'>[],
  date: string,
): readonly PublishedLevel[] {
  const close = findLatestClose(entries.filter((entry) => entry.date === date));
  const previous = findLatestClose(entries.filter((entry) => entry.date < date));
  return (['price', 'total'] as const).flatMap((variant): PublishedLevel[] => {
    const level = close?.[variant] ?? null;
    const previousLevel = previous?.[variant] ?? null;
    if (level === null) return [];
    return [{ variant: VARIANTS[variant], level, change: previousLevel === null ? null : level / previousLevel - 1 }];
  });
}

/** Pending request to accept the findings of a check on a day. */
export interface WaiverRequest extends Pick<WaiverFacts, 'schedule_id' | 'date' | 'check' | 'index_id'> {
  readonly approval_id: number;
}

type WaiverFacts = Extract<NonNullable<Approval['facts']>, { readonly kind: 'waive' }>;

/** Kind of a badge. */
type Kind = 'plain' | 'good' | 'warning' | 'bad' | 'info';

type Day = Pick<ScheduleDaySummary, 'date' | 'state' | 'reason' | 'held'>;

const DAY_KINDS: Readonly<Record<ScheduleDay['state'], Kind>> = {
  done: 'good',
  running: 'info',
  waiting: 'warning',
  blocked: 'bad',
  skipped: 'plain',
  missed: 'bad',
};

export interface StateLabel {
  readonly text: string;
  readonly kind: Kind;
}

const APPROVAL_STATE: StateLabel = { text: 'awaits approval', kind: 'warning' };

/** Returns true if an index waits only for an approval and has no error. */
const isAwaited = ({ code }: Pick<HeldIndex, 'code'>): boolean => code === 'APPROVAL_REQUIRED';

/**
 * Returns why a day waits, if the reason is not one of its indices, for example missing prices. Otherwise returns null.
 */
export const findOwnReason = ({ reason, held }: Pick<Day, 'reason' | 'held'>): string | null =>
  reason === null || held.some((index) => reason.includes(index.reason)) ? null : reason;

const BLOCKED_STATE: StateLabel = { text: 'held back', kind: 'bad' };

/** Returns the earlier days whose findings block indices of this day, in ascending order. */
export const listBlockedSince = ({ date, held }: Pick<Day, 'date' | 'held'>): readonly string[] =>
  [...new Set(held.map(({ since }) => since).filter((since) => since < date))].toSorted();

/**
 * Returns the first earlier day that needs a decision about its findings. The indices of this day continue only after
 * it.
 */
export const findFirstDecision = ({ date, held }: Pick<Day, 'date' | 'held'>): string | undefined =>
  listBlockedSince({ date, held: held.filter((index) => !isAwaited(index)) })[0];

/**
 * Returns the state of a day as it is shown. If its indices only wait for approval, the day is not shown as blocked. If
 * it only waits for the decision about an earlier day, it is shown as held back.
 */
export function describeDay({ date, state, reason, held }: Day): StateLabel {
  if (state !== 'blocked' && state !== 'waiting') return { text: state, kind: DAY_KINDS[state] };
  if (held.length > 0 && held.every(isAwaited) && findOwnReason({ reason, held }) === null) return APPROVAL_STATE;
  const hasOwn = held.some((index) => index.since === date && !isAwaited(index));
  return !hasOwn && findFirstDecision({ date, held }) !== undefined
    ? BLOCKED_STATE
    : { text: state, kind: DAY_KINDS[state] };
}

export const isBlocked = (day: Day): boolean => describeDay(day).text === 'blocked';

/** Describes what blocked days need. Adds how many requests to accept findings are pending. */
export const describeDecisions = (blocked: number, requests: number): string => {
  const need = `${blocked === 1 ? 'needs' : 'need'} a decision`;
  return requests === 0 ? need : `${need}, ${countValues(requests, 'request')} pending`;
};

export interface IndexState {
  readonly index: string;
  readonly state: 'blocked' | 'awaited' | 'waiting' | 'done';
  readonly step: string;
  readonly reason: string;
}

export const INDEX_STATES: Readonly<Record<IndexState['state'], StateLabel>> = {
  blocked: BLOCKED_STATE,
  awaited: APPROVAL_STATE,
  waiting: { text: 'waiting', kind: 'warning' },
  done: { text: 'done', kind: 'good' },
};

/** Finding of a check because of which an index is blocked. */
export type DayFinding = ScheduleDay['steps'][number]['items'][number] & {
  readonly check: string;
  readonly index_id: string;
};

export const listBlockingFindings = ({ steps }: Pick<ScheduleDay, 'steps'>): readonly DayFinding[] =>
  steps
    .flatMap(({ items }) => items)
    .flatMap((item) => {
      const { state, detail, index_id: index } = item;
      const check = detail?.['check'];
      return state === 'blocked' && typeof check === 'string' && index !== null
        ? [{ ...item, check, index_id: index }]
        : [];
    });

/** A price move that a check reported. */
interface Move {
  readonly identifier: string;
  readonly value: number;
  /** Prices and weight of the security; undefined for a finding of an earlier release. */
  readonly evidence: MoveEvidence | undefined;
}

/**
 * Splits findings into price moves, the largest first, and others. All moves have the same limit as the first one; a
 * move with another limit is among the others.
 */
export function listMoves(findings: readonly DayFinding[]): {
  readonly limit: number | null;
  readonly moves: readonly Move[];
  readonly others: readonly DayFinding[];
} {
  const moves: Move[] = [];
  const others: DayFinding[] = [];
  let firstLimit: number | null = null;
  for (const finding of findings) {
    const { identifier, measure, evidence } = finding.detail as Partial<FindingDetail>; // the service wrote the detail
    if (finding.check !== 'moves' || identifier == null || measure == null) others.push(finding);
    else if (firstLimit !== null && measure.limit !== firstLimit) others.push(finding);
    else {
      firstLimit = measure.limit;
      moves.push({ identifier, value: measure.value, evidence });
    }
  }
  return { limit: firstLimit, moves: moves.toSorted((a, b) => Math.abs(b.value) - Math.abs(a.value)), others };
}

/** Prices and weight behind a price move. */
interface MoveEvidence {
  readonly previous_date: string;
  readonly previous_close: number;
  readonly close: number;
  readonly weight: number;
}

interface FindingDetail {
  readonly evidence?: MoveEvidence;
  readonly identifier: string | null;
  readonly measure: { readonly value: number; readonly limit: number } | null;
}

/** Order of the states. States that need a decision come first. */
const STATE_ORDER = Object.keys(INDEX_STATES);

/** Returns the first step of a day that is not done. */
export const findOpenStep = ({ steps }: ScheduleDay): ScheduleDay['steps'][number] | undefined =>
  steps.find(({ state }) => state !== 'done');

/**
 * Returns the state of an index that is held back. If an earlier day blocks it, it needs a decision about that day,
 * even if this day waits for something else.
 */
function getBlockedState(index: HeldIndex, { date, state }: Pick<Day, 'date' | 'state'>): IndexState['state'] {
  if (isAwaited(index)) return 'awaited';
  const isOwn = index.since === date || index.code === 'STORE_UNAVAILABLE';
  return state === 'waiting' && isOwn ? 'waiting' : 'blocked';
}

const formatBlockedReason = ({ since, reason }: HeldIndex, { date }: Pick<Day, 'date'>): string =>
  since < date ? `Since ${since}: ${reason}` : reason;

/**
 * Returns the states of all indices on a day: first those that are held back, with their reasons; then those that wait;
 * then those that are done.
 */
export function createIndexStates(
  day: Day & Pick<ScheduleDaySummary, 'step'>,
  indices: readonly string[],
  message = '',
): readonly IndexState[] {
  const heldById = new Map(day.held.map((index) => [index.index_id, index]));
  // The delivery step holds no index back.
  const isOpen = (day.state === 'waiting' || day.state === 'running') && day.step !== null && day.step !== 'deliver';
  const states = indices.map((index): IndexState => {
    const heldIndex = heldById.get(index);
    if (heldIndex !== undefined) {
      return {
        index,
        state: getBlockedState(heldIndex, day),
        step: heldIndex.step,
        reason: formatBlockedReason(heldIndex, day),
      };
    }
    if (!isOpen) return { index, state: 'done', step: '', reason: '' };
    return { index, state: 'waiting', step: day.step ?? '', reason: day.reason ?? message };
  });
  return states.toSorted(
    (a, b) => STATE_ORDER.indexOf(a.state) - STATE_ORDER.indexOf(b.state) || (a.index < b.index ? -1 : 1),
  );
}

/** Returns the space that is left of a width after as many whole cells as fit, in the order of their widths. */
export function computeFreeSpace(widths: readonly number[], width: number): number {
  let free = width;
  for (const cell of widths) {
    if (cell > free) break;
    free -= cell;
  }
  return Math.max(0, free);
}

/** Returns the request that includes the findings of an index. A request that names no index includes all indices. */
export const findIndexRequest = (requests: readonly WaiverRequest[], index: string): WaiverRequest | undefined =>
  requests.find(({ index_id: id }) => id === null || id === index);

/** Returns the indices whose findings are in no request. */
export const listOpenIndices = (indices: readonly string[], requests: readonly WaiverRequest[]): readonly string[] =>
  indices.filter((index) => findIndexRequest(requests, index) === undefined);

type Step = ScheduleDay['steps'][number];

export type StepFile = NonNullable<Step['items'][number]['file']>;

export const listStepFiles = ({ items }: Pick<Step, 'items'>): readonly StepFile[] =>
  items.flatMap(({ file }) => file ?? []);

/**
 * Describes the results of a completed step by their number, for example `2 closes published, 1 index published
 * before.` The message of the service describes any other step.
 */
export function describeResults(step: Pick<Step, 'type' | 'state' | 'items' | 'indices' | 'message'>): string {
  const { type, state, items, indices: total, message } = step;
  const results = items.filter((item) => item.index_id !== null && item.key === item.index_id && item.state === 'done');
  if (state !== 'done' || results.length === 0) return message;
  const indices = `${formatCount(results.length)} of ${countValues(total, 'index', 'indices')}`;
  if (type === 'run') {
    const ends = results.map(({ detail }) => detail?.['end']).filter((end) => typeof end === 'string');
    return `${indices} with a current run${ends.length === 0 ? '' : `, through ${ends.toSorted()[0]}`}.`;
  }
  if (type === 'publish') {
    const closes = results.reduce((sum, { detail }) => sum + Number(detail?.['published'] ?? 0), 0);
    const earlier = results.filter(({ detail }) => detail?.['published'] === 0).length;
    const earlierText = earlier === 0 ? '' : `, ${countValues(earlier, 'index', 'indices')} published before`;
    return `${countValues(closes, 'close')} published${earlierText}.`;
  }
  if (type === 'export') {
    const files = listStepFiles(step);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    return `${countValues(files.length, 'file')} of ${indices}, ${formatBytes(bytes)}.`;
  }
  return message;
}

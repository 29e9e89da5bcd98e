import type { HeldIndex, ScheduleDay, ScheduleDaySummary } from '#clients/typescript/divisor.js';

/** Kinds of badges. */
type Kind = 'plain' | 'good' | 'warning' | 'bad' | 'info';

type Day = Pick<ScheduleDaySummary, 'date' | 'state' | 'reason' | 'held'>;

/** Kinds of badges by the state of a day. */
const DAY_KINDS: Readonly<Record<ScheduleDay['state'], Kind>> = {
  done: 'good',
  running: 'info',
  waiting: 'warning',
  blocked: 'bad',
  skipped: 'plain',
  missed: 'bad',
};

/** State as it is shown, and the kind of its badge. */
export interface ShownState {
  readonly text: string;
  readonly kind: Kind;
}

const AWAITED: ShownState = { text: 'awaits approval', kind: 'warning' };

/** An index waits for the decision of a person, and is not wrong. */
const isAwaited = ({ code }: Pick<HeldIndex, 'code'>): boolean => code === 'APPROVAL_REQUIRED';

/** Returns the reason of a day that waits for something else than its indices, such as prices; null if there is none. */
export const ownReason = ({ reason, held }: Pick<Day, 'reason' | 'held'>): string | null =>
  reason === null || held.some((index) => reason.includes(index.reason)) ? null : reason;

const HELD: ShownState = { text: 'held back', kind: 'bad' };

/** Earlier days that hold indices back, in order. */
export const heldSince = ({ date, held }: Pick<Day, 'date' | 'held'>): readonly string[] =>
  [...new Set(held.map(({ since }) => since).filter((since) => since < date))].toSorted();

/** Returns the first earlier day whose findings need a decision before the indices of a day go on. */
export const decidedFirst = ({ date, held }: Pick<Day, 'date' | 'held'>): string | undefined =>
  heldSince({ date, held: held.filter((index) => !isAwaited(index)) })[0];

/**
 * State of a day: one whose indices only wait for approval is not blocked, and one that only an earlier day holds up is
 * held back.
 */
export function shownDay({ date, state, reason, held }: Day): ShownState {
  if (state !== 'blocked' && state !== 'waiting') return { text: state, kind: DAY_KINDS[state] };
  if (held.length > 0 && held.every(isAwaited) && ownReason({ reason, held }) === null) return AWAITED;
  const hasOwn = held.some((index) => index.since === date && !isAwaited(index));
  return !hasOwn && decidedFirst({ date, held }) !== undefined ? HELD : { text: state, kind: DAY_KINDS[state] };
}

/** Returns true for a day that needs a decision about its figures. */
export const isBlocked = (day: Day): boolean => shownDay(day).text === 'blocked';

/** State of an index on a day. */
export interface IndexState {
  readonly index: string;
  readonly state: 'blocked' | 'awaited' | 'waiting' | 'done';
  readonly step: string;
  readonly reason: string;
}

export const INDEX_STATES: Readonly<Record<IndexState['state'], ShownState>> = {
  blocked: { text: 'blocked', kind: 'bad' },
  awaited: AWAITED,
  waiting: { text: 'waiting', kind: 'warning' },
  done: { text: 'done', kind: 'good' },
};

/** Order of states: what needs a person comes first. */
const ORDER = Object.keys(INDEX_STATES);

/** Returns the first step of a day that is not done. */
export const openStep = ({ steps }: ScheduleDay): ScheduleDay['steps'][number] | undefined =>
  steps.find(({ state }) => state !== 'done');

/** An index that an earlier day holds back waits for a decision about that day, whatever this day waits for. */
function heldState(index: HeldIndex, { date, state }: Pick<Day, 'date' | 'state'>): IndexState['state'] {
  if (isAwaited(index)) return 'awaited';
  const isOwn = index.since === date || index.code === 'STORE_UNAVAILABLE';
  return state === 'waiting' && isOwn ? 'waiting' : 'blocked';
}

const heldReason = ({ since, reason }: HeldIndex, { date }: Pick<Day, 'date'>): string =>
  since < date ? `Since ${since}: ${reason}` : reason;

/** States of the indices of a day: held ones with their reasons first, then those that wait, then the others. */
export function indexStates(
  day: Day & Pick<ScheduleDaySummary, 'step'>,
  indices: readonly string[],
  message = '',
): readonly IndexState[] {
  const held = new Map(day.held.map((index) => [index.index_id, index]));
  // Deliveries hold no index back.
  const isOpen = (day.state === 'waiting' || day.state === 'running') && day.step !== null && day.step !== 'deliver';
  const states = indices.map((index): IndexState => {
    const found = held.get(index);
    if (found !== undefined) {
      return { index, state: heldState(found, day), step: found.step, reason: heldReason(found, day) };
    }
    if (!isOpen) return { index, state: 'done', step: '', reason: '' };
    return { index, state: 'waiting', step: day.step ?? '', reason: day.reason ?? message };
  });
  return states.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || (a.index < b.index ? -1 : 1));
}

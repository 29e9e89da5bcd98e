import type { ScheduleDay } from '#clients/typescript/divisor.js';

/** Kinds of badges by the state of a day. */
export const DAY_KINDS: Readonly<Record<ScheduleDay['state'], 'good' | 'info' | 'warning' | 'bad' | 'plain'>> = {
  done: 'good',
  running: 'info',
  waiting: 'warning',
  blocked: 'bad',
  skipped: 'plain',
  missed: 'bad',
};

/** State of an index on a day. */
export interface IndexState {
  readonly index: string;
  readonly state: 'done' | 'waiting' | 'blocked';
  readonly step: string;
  readonly reason: string;
}

export const INDEX_KINDS: Readonly<Record<IndexState['state'], 'good' | 'warning' | 'bad'>> = {
  done: 'good',
  waiting: 'warning',
  blocked: 'bad',
};

/** States of the indices of a day: held ones with their reasons first, then those that wait, then the others. */
export function indexStates(day: ScheduleDay, indices: readonly string[]): readonly IndexState[] {
  const held = new Map(day.held.map((index) => [index.index_id, index]));
  const hasEnded = day.state === 'done' || day.state === 'skipped' || day.state === 'missed';
  const next = day.steps.find((step) => step.state !== 'done' && step.type !== 'deliver');
  const states = indices.map((index): IndexState => {
    const found = held.get(index);
    if (found !== undefined) return { index, state: 'blocked', step: found.step, reason: found.reason };
    if (hasEnded || next === undefined) return { index, state: 'done', step: '', reason: '' };
    return { index, state: 'waiting', step: next.type, reason: day.reason ?? next.message };
  });
  const order = ['blocked', 'waiting', 'done'];
  return states.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || (a.index < b.index ? -1 : 1));
}

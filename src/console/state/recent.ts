import { signal } from '@preact/signals';

/** A page that was seen. */
interface Visit {
  readonly address: string;
  readonly text: string;
}

const RECENT_PLACE = 'divisor.recent';
const RECENT_MAX = 6;

/** Pages seen last, the newest first. */
export const recent = signal<readonly Visit[]>(kept());

function kept(): readonly Visit[] {
  try {
    const all: unknown = JSON.parse(localStorage.getItem(RECENT_PLACE) ?? '[]');
    return Array.isArray(all) ? (all as Visit[]) : []; // Written below.
  } catch {
    return [];
  }
}

export function noteVisit(visit: Visit): void {
  const others = recent.peek().filter(({ address }) => address !== visit.address);
  recent.value = [visit, ...others].slice(0, RECENT_MAX);
  localStorage.setItem(RECENT_PLACE, JSON.stringify(recent.peek()));
}

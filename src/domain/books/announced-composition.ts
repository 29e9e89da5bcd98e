import type { Finding } from '../refusals/findings.js';
import type { Day } from '../time/days.js';
import type { Composer, Composition, Compositions } from './compositions.js';
import { addComposition, decideOne } from './decide-one.js';
import { areAnnounced, dueOn, nextRebalances, type NextRebalance } from './next-rebalance.js';
import { pendingChange, withReplacements } from './pending-changes.js';

export interface AsIfEffective {
  readonly indexId: string;
  readonly session: number;
  /** Compositions before the session, ascending. */
  readonly before: readonly Composition[];
  /** Announced rebalances of one session, this one or a later one. */
  readonly next: readonly NextRebalance[];
}

/** The compositions that announced rebalances lead to, as if they took effect at the close of a session. */
export function asIfEffective(
  composer: Composer,
  { indexId, session, before, next }: AsIfEffective,
): { readonly list: readonly Composition[]; readonly findings: readonly Finding[] } {
  const sm = composer.market(indexId);
  const list = [...before];
  const findings: Finding[] = [];
  for (const one of next) {
    const decided = decideOne(composer, { indexId, rebalance: dueOn(sm, session, one), known: list });
    findings.push(...decided.findings);
    if (decided.composition === undefined) continue;
    const replaced = withReplacements(composer, { indexId, session, list }, decided.composition);
    findings.push(...replaced.findings);
    addComposition(list, replaced.composition);
  }
  return { list, findings };
}

/** An index whose last composition takes effect at a close, now or announced for later. */
export interface AnnouncedIndex {
  readonly effective: Day;
  /** Compositions up to the session, of which the last is the announced one. */
  readonly compositions: Compositions;
}

/** Nothing is announced: the rebalance that comes next, where the calendar has one. */
export interface NotAnnounced {
  readonly effective: null;
  readonly next: NextRebalance | undefined;
}

/**
 * The announced composition of an index on a session, from the close of the announcement to that at which it takes
 * effect: its index shares are those of the session.
 * @param composer knows nothing after the session
 */
export function announcedIndex(
  composer: Composer,
  { indexId, session }: Pick<AsIfEffective, 'indexId' | 'session'>,
): AnnouncedIndex | NotAnnounced {
  const compositions = composer.compositions(indexId);
  const { sm, list } = compositions;
  const day = sm.sessions[session]!;
  if (list.at(-1)!.session === session) return { effective: day, compositions };
  const change = pendingChange(composer, { indexId, session, list });
  if (change !== undefined)
    return { effective: change.effective, compositions: { ...compositions, list: [...list, change.composition] } };
  const next = nextOf(composer, compositions, day);
  if (!areAnnounced(next, day)) return { effective: null, next: next[0] };
  const pending = asIfEffective(composer, { indexId, session, before: list, next });
  if (pending.list.length === list.length) return { effective: null, next: next[0] };
  return { effective: next[0]!.date, compositions: { ...compositions, list: pending.list } };
}

/** The rebalances that come first: those of the schedule, or the one that a breach has called for. */
function nextOf(composer: Composer, { document, sm, called }: Compositions, day: Day): readonly NextRebalance[] {
  const scheduled = nextRebalances(composer.document(document.id), sm, day + 1);
  const [first] = scheduled;
  if (called === undefined || called.effective === null) return scheduled;
  if (first !== undefined && first.session <= called.effective) return scheduled;
  return [{ date: called.effective, session: called.effective, decision: sm.sessions[called.session]! }];
}

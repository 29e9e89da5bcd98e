import { formatDay } from '../days.js';
import type { Finding } from '../findings.js';
import type { Book, Gap } from './simulate/book.js';
import type { FindingGroups } from './run.js';

/** Warnings of one run before the rest is only counted. */
const FINDINGS_MAX = 200;

interface FindingsInput {
  readonly decisions: readonly Finding[];
  readonly solves: readonly Finding[];
  readonly index: Book;
  readonly portfolio: Book;
}

export function findingGroups({ decisions, solves, index, portfolio }: FindingsInput): FindingGroups {
  const { sm } = index;
  const exits = ({ silent }: Book): Finding[] =>
    silent.map(({ session, column }) => ({
      severity: 'warning',
      code: 'SILENT_DELISTING',
      message: `${sm.identifiers[column]} left on ${formatDay(sm.sessions[session]!)}: it had no bar on ${sm.barAge(session, column)} sessions of its exchange and no action ended it.`,
      path: '',
    }));
  const rights = unadjustedRights(index).map(({ session, column }): Finding => ({
    severity: 'warning',
    code: 'RIGHTS_NOT_ADJUSTED',
    message: `The rights issue of ${sm.identifiers[column]} on ${formatDay(sm.sessions[session]!)} has no subscription price and was not adjusted for.`,
    path: '',
  }));
  return { decisions, solves, indexExits: exits(index), portfolioExits: exits(portfolio), rights };
}

/** Findings as they are reported: each once, and so many at most. @param assumptions of the market, reported first */
export function reportedFindings(
  { decisions, solves, indexExits, portfolioExits, rights }: FindingGroups,
  assumptions: readonly Finding[],
): Finding[] {
  const warnings = new Map<string, Finding>();
  for (const finding of [...assumptions, ...decisions, ...solves, ...indexExits, ...portfolioExits, ...rights])
    warnings.set(`${finding.code} ${finding.path} ${finding.message}`, finding);
  const all = [...warnings.values()];
  if (all.length <= FINDINGS_MAX) return all;
  const more: Finding = {
    severity: 'warning',
    code: 'MORE_FINDINGS',
    message: `${all.length - FINDINGS_MAX} more findings are not listed.`,
    path: '',
  };
  return [...all.slice(0, FINDINGS_MAX), more];
}

/** Names listed of those without a bar. */
const NAMES_MAX = 20;
const NAMES_LISTED_MAX = 3;

/**
 * A warning when names that a portfolio holds at its last close have no bar on it, though their exchange was open and
 * nothing ended them: the level carries earlier prices. A run that ends later may have no such finding.
 */
export function partialLastSession({ sm, from, length, columns, weights }: Book): Finding[] {
  const last = from + length - 1;
  const names = [...columns].flatMap((column, slot) =>
    weights[(length - 1) * columns.length + slot] !== 0 && sm.barAge(last, column) > 0 && !sm.hasEnded(last, column)
      ? [sm.identifiers[column]!]
      : [],
  );
  if (names.length === 0) return [];
  const listed = `${names.slice(0, NAMES_LISTED_MAX).join(', ')}${names.length > NAMES_LISTED_MAX ? ' and more' : ''}`;
  const [have, their] =
    names.length === 1 ? ['1 name that is held has', 'its'] : [`${names.length} names that are held have`, 'their'];
  return [
    {
      severity: 'warning',
      code: 'PARTIAL_DATE',
      message: `${have} no bar on the last session, ${formatDay(sm.sessions[last]!)}: ${listed}. The level carries ${their} earlier price.`,
      path: '',
      count: names.length,
      places: names.slice(0, NAMES_MAX),
    },
  ];
}

/** Rights issues without a subscription price of names that the book held. */
function unadjustedRights({ sm, from, length, columns, weights }: Book): Gap[] {
  const found: Gap[] = [];
  if (sm.market.adjustment === 'total') return found;
  for (const { session, column } of sm.actions.unpricedRights) {
    if (session <= from || session >= from + length) continue;
    const slot = columns.indexOf(column);
    if (slot >= 0 && weights[(session - 1 - from) * columns.length + slot] !== 0) found.push({ session, column });
  }
  return found;
}

import { formatDay } from '../time/days.js';
import { compareText, type Finding, type FindingCode } from '../refusals/findings.js';
import type { Book, Gap } from '../books/book.js';
import { reportJumps } from './price-jumps.js';
import type { FindingGroups } from './run.js';

/** Maximum number of warnings listed for a run. Further warnings are only counted. */
const FINDINGS_MAX = 200;

interface FindingsInput {
  readonly decisions: readonly Finding[];
  readonly solves: readonly Finding[];
  readonly index: Book;
  readonly portfolio: Book;
  /** Currency of the index. */
  readonly currency: string;
}

export function groupFindings({ decisions, solves, index, portfolio, currency }: FindingsInput): FindingGroups {
  const { sm } = index;
  const listExits = ({ silent }: Book): Finding[] =>
    silent.map(({ session, column }) => {
      const [identifier, date] = [sm.identifiers[column]!, formatDay(sm.sessions[session]!)];
      const age = sm.barAge(session, column);
      return {
        severity: 'warning',
        code: 'SILENT_DELISTING',
        message:
          age < Infinity
            ? `${identifier} left on ${date}, because it had no price bar for ${age} sessions of its exchange and no corporate action ended it.`
            : `${identifier}, which was spun off${describeSpinOff(sm, session, column)}, was written off on ${date}, because it had no first price by then.`,
        path: '',
        places: [identifier],
        first_date: date,
        last_date: date,
      };
    });
  const rights = findUnadjustedRights(index).map(({ session, column }): Finding => ({
    severity: 'warning',
    code: 'RIGHTS_NOT_ADJUSTED',
    message: `The rights issue of ${sm.identifiers[column]} on ${formatDay(sm.sessions[session]!)} has no subscription price; no adjustment was made.`,
    path: '',
  }));
  return {
    decisions: sortByRebalance(decisions),
    solves,
    indexExits: listExits(index),
    portfolioExits: listExits(portfolio),
    rights,
    jumps: reportJumps({ books: [index, portfolio], after: portfolio.from, currency }),
  };
}

/** Returns the parent and the ex-date of the latest spin-off of a security. */
function describeSpinOff({ actions, identifiers }: Book['sm'], session: number, column: number): string {
  const spinOff = actions.related.findLast(
    ({ action, session: at }) => action.type === 'SPIN_OFF' && action.related === identifiers[column] && at <= session,
  );
  return spinOff === undefined ? '' : ` from ${spinOff.action.identifier} on ${formatDay(spinOff.action.exDay)}`;
}

/**
 * Sorts decision findings by rebalance date. Rebalances are not decided in this order: one that is decided earlier may
 * take effect later.
 */
export function sortByRebalance(decisions: readonly Finding[]): readonly Finding[] {
  return decisions.toSorted((a, b) => compareText(a.first_date ?? '', b.first_date ?? ''));
}

interface ReportedInput {
  /** Findings on market assumptions, reported first. */
  readonly assumptions: readonly Finding[];
  /** Date of the rebalance in force at the start of the run, YYYY-MM-DD. Findings of earlier rebalances are omitted. */
  readonly since: string;
}

/**
 * Returns the findings to report: without duplicates, with recurring rebalance findings merged, and at most
 * `FINDINGS_MAX`, followed by the number of omitted findings.
 */
export function selectReportedFindings(
  { decisions, solves, indexExits, portfolioExits, rights, jumps }: FindingGroups,
  { assumptions, since }: ReportedInput,
): Finding[] {
  const isOfRun = ({ last_date: date }: Finding): boolean => date === undefined || date >= since;
  const atRebalances = [...decisions, ...solves].filter(isOfRun);
  const warnings = new Map<string, Finding>();
  for (const finding of [
    ...assumptions,
    ...mergeRecurring(atRebalances),
    ...indexExits,
    ...portfolioExits,
    ...rights,
    ...jumps,
  ])
    warnings.set(`${finding.code} ${finding.path} ${finding.message}`, finding);
  const findings = [...warnings.values()];
  if (findings.length <= FINDINGS_MAX) return findings;
  const moreFinding: Finding = {
    severity: 'warning',
    code: 'MORE_FINDINGS',
    message: `${findings.length - FINDINGS_MAX} further findings are not listed.`,
    path: '',
  };
  return [...findings.slice(0, FINDINGS_MAX), moreFinding];
}

/** Codes of findings that are merged over all rebalances of a run, because they seldom differ between rebalances. */
const RECURRING_CODES: ReadonlySet<FindingCode> = new Set([
  'NO_WEIGHT_DATA',
  'WEIGHTS_NOT_ONE',
  'RISK_FALLBACK_IDENTITY',
  'CHOICE_NOT_PROVEN',
  'LIMIT_NOT_KEPT',
]);

/**
 * Merges recurring rebalance findings with equal severity, code, path and constraint row, at the position of the first
 * one.
 */
function mergeRecurring(findings: readonly Finding[]): Finding[] {
  const groups = new Map<string, Finding[]>();
  findings.forEach((finding, k) => {
    const { severity, code, path, row_id: row } = finding;
    const groupKey = RECURRING_CODES.has(code) ? `${severity} ${code} ${path} ${row ?? ''}` : String(k);
    groups.set(groupKey, [...(groups.get(groupKey) ?? []), finding]);
  });
  return [...groups.values()].map(mergeGroup);
}

/**
 * Merges the findings of one group into one that states their number, the first and the last date, and the earliest
 * message.
 */
function mergeGroup(group: readonly Finding[]): Finding {
  const first = group.reduce((least, finding) => (finding.first_date! < least.first_date! ? finding : least));
  if (group.length === 1) return first;
  const lastDate = group.reduce((most, { last_date: date }) => (date! > most ? date! : most), '');
  const message = `${group.length} times from ${first.first_date} to ${lastDate}. First: ${first.message}`;
  return { ...first, message, count: group.length, last_date: lastDate };
}

/**
 * Maximum number of securities without a price bar in the places of a finding (`LISTED_SECURITIES_MAX`) and in its
 * message (`LISTED_MAX`).
 */
const LISTED_SECURITIES_MAX = 20;
const LISTED_MAX = 3;

/**
 * Warns if a portfolio holds securities without a price bar at the last close, although their exchange was open and no
 * corporate action ended them. The level then uses earlier prices. The warning may disappear once the data are
 * complete.
 */
export function reportPartialLastSession({ sm, from, length, columns, weights }: Book): Finding[] {
  const last = from + length - 1;
  const names = [...columns].flatMap((column, slot) =>
    weights[(length - 1) * columns.length + slot] !== 0 && sm.barAge(last, column) > 0 && !sm.hasEnded(last, column)
      ? [sm.identifiers[column]!]
      : [],
  );
  if (names.length === 0) return [];
  const list = `${names.slice(0, LISTED_MAX).join(', ')}${names.length > LISTED_MAX ? ' and more' : ''}`;
  const [have, their] = names.length === 1 ? ['1 holding has', 'its'] : [`${names.length} holdings have`, 'their'];
  return [
    {
      severity: 'warning',
      code: 'PARTIAL_DATE',
      message: `${have} no price bar on the last session, ${formatDay(sm.sessions[last]!)}: ${list}. The level carries ${their} earlier price.`,
      path: '',
      count: names.length,
      places: names.slice(0, LISTED_SECURITIES_MAX),
    },
  ];
}

/** Finds rights issues without a subscription price for securities that the book held. */
function findUnadjustedRights({ sm, from, length, columns, weights }: Book): Gap[] {
  const results: Gap[] = [];
  if (sm.market.adjustment === 'total') return results;
  for (const { session, column } of sm.actions.unpricedRights) {
    if (session <= from || session >= from + length) continue;
    const slot = columns.indexOf(column);
    if (slot >= 0 && weights[(session - 1 - from) * columns.length + slot] !== 0) results.push({ session, column });
  }
  return results;
}

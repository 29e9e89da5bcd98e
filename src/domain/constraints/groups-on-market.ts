import { NO_GROUP } from './scope.js';
import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import { createReferenceSpells } from '../market/reference-spells.js';
import { findNearestName } from '#base/text/nearest-name.js';
import type { ConstraintRow } from './constraint-row.js';

/** Maximum number of groups listed in a message. */
const LISTED_MAX = 10;

/**
 * Warns about groups in rows to which no security of the market ever belonged. Such a row limits nothing. A later
 * reference table may contain the group.
 * @param path path of the list of rows.
 */
export function findUnknownGroups(rows: readonly ConstraintRow[], market: MarketData, path: string): Finding[] {
  return rows.flatMap(({ id, params }, position): Finding[] => {
    const { field, groups } = params as { readonly field?: unknown; readonly groups?: unknown }; // the parameters have not been checked yet
    if (typeof field !== 'string' || !Array.isArray(groups)) return [];
    if (!market.reference.columns.includes(field)) return [];
    const marketGroups = listGroups(market, field);
    return groups.flatMap((group: unknown, k): Finding[] =>
      typeof group !== 'string' || group === NO_GROUP || marketGroups.has(group)
        ? []
        : [
            {
              severity: 'warning',
              code: 'UNKNOWN_IDENTIFIER',
              path: `${path}[${position}].params.groups[${k}]`,
              row_id: id === '' ? null : id,
              message: `No security in the data has the ${field} ${group}. The constraint has no effect there. ${formatGroupsSentence(group, marketGroups)}`,
              value: group,
            },
          ],
    );
  });
}

function listGroups(market: MarketData, field: string): ReadonlySet<string> {
  const groups = new Set<string>();
  for (const spells of createReferenceSpells(market, field))
    for (const { value } of spells) if (value !== null && value !== '') groups.add(String(value));
  return groups;
}

function formatGroupsSentence(group: string, marketGroups: ReadonlySet<string>): string {
  const nearestName = findNearestName(group, marketGroups);
  if (nearestName !== undefined) return `Did you mean ${nearestName}?`;
  const list = [...marketGroups].toSorted().slice(0, LISTED_MAX).join(', ');
  return `There are ${list}${marketGroups.size > LISTED_MAX ? ` and ${marketGroups.size - LISTED_MAX} more` : ''}.`;
}

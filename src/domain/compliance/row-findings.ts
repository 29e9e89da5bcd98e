import type { ConstraintRow } from '../constraints/constraint-row.js';
import { formatDay, type Day } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import { readGroup, listGroupSpells, UNCLASSIFIED } from '../market/market-groups.js';
import type { MarketData } from '../market/market-data.js';
import { findNearestName } from '#base/text/nearest-name.js';
import { createReferenceSpells } from '../market/reference-spells.js';

/** Data for the checks of the constraints that a run is monitored for. */
export interface RowWatch {
  /** Securities that the run held at any time. */
  readonly names: readonly string[];
  /** Market data; null if no row reads them. */
  readonly market: MarketData | null;
  /** Last day of the run. */
  readonly day: Day;
}

/**
 * Reports rows that match no holdings, and securities without a group. Securities without a group form one group
 * together.
 */
export function listRowFindings(rows: readonly ConstraintRow[], watched: RowWatch): Finding[] {
  const { market } = watched;
  return rows.flatMap((row, position) => [
    ...listNeverHeld(row, position, watched.names),
    ...(market === null ? [] : listGroupFindings(row, position, { ...watched, market })),
  ]);
}

const createWarning = (
  { id }: ConstraintRow,
  { code, path, message, all }: Pick<Finding, 'code' | 'path' | 'message'> & { readonly all: readonly string[] },
): Finding => ({
  severity: 'warning',
  code,
  message,
  path,
  row_id: id === '' ? null : id,
  count: all.length,
  places: all.slice(0, 5),
});

/** Formats unknown identifiers. Names the first with the closest known identifier, and counts the others. */
function formatFirst(absent: readonly string[], candidates: Iterable<string>): string {
  const nearestName = findNearestName(absent[0]!, candidates);
  const hint = nearestName === undefined ? '' : ` (did you mean ${nearestName}?)`;
  return `${absent[0]}${hint}${absent.length === 1 ? '' : ` and ${absent.length - 1} more`}`;
}

/** Reports securities of a row that the run never held. */
function listNeverHeld(row: ConstraintRow, position: number, names: readonly string[]): Finding[] {
  const { params } = row;
  const nameSet = new Set(names);
  const member = 'coefficients' in params ? 'coefficients' : 'identifiers';
  const list: unknown = params[member] ?? [];
  const listedNames = Array.isArray(list) ? (list as string[]) : Object.keys(list as object); // as the schema of the constraint class requires
  const absentNames = listedNames.filter((name) => !nameSet.has(name));
  if (absentNames.length === 0) return [];
  const message = `The run never held ${formatFirst(absentNames, names)}. This part of the constraint has no effect.`;
  const path = `rows[${position}].params.${member}`;
  return [createWarning(row, { code: 'UNKNOWN_IDENTIFIER', path, message, all: absentNames })];
}

/** Reports groups without securities, and securities without a group. */
function listGroupFindings(
  row: ConstraintRow,
  position: number,
  { names, market, day }: RowWatch & { readonly market: MarketData },
): Finding[] {
  const { field, groups = null } = row.params as { field?: unknown; groups?: readonly string[] | null }; // as the schema of the constraint class requires
  if (typeof field !== 'string' || !('groups' in row.params || row.type.startsWith('Group'))) return [];
  if (!market.reference.columns.includes(field)) return [];
  if (groups === null) return listUngrouped(row, position, { field, names, day, of: listGroupSpells(market, field) });
  const heldNames = new Set(names);
  const knownGroups = new Set(
    createReferenceSpells(market, field).flatMap((spells, column) =>
      heldNames.has(market.identifiers[column]!) ? spells.map(({ value }) => readGroup(value)) : [],
    ),
  );
  const absentGroups = groups.filter((group) => group !== '' && !knownGroups.has(group));
  if (absentGroups.length === 0) return [];
  const path = `rows[${position}].params.groups`;
  const message = `No security of the run has the ${field} ${formatFirst(absentGroups, knownGroups)}. This part of the constraint has no effect.`;
  return [createWarning(row, { code: 'UNKNOWN_IDENTIFIER', path, message, all: absentGroups })];
}

interface GroupCheck extends Pick<RowWatch, 'names' | 'day'> {
  readonly field: string;
  readonly of: ReturnType<typeof listGroupSpells>;
}

/**
 * Reports securities without a group, because they form one group together. In a published rule, each security without
 * an issuer counts separately.
 */
function listUngrouped(row: ConstraintRow, position: number, { field, names, day, of }: GroupCheck): Finding[] {
  const unclassifiedNames = names.filter((name) => of(name, day).group === UNCLASSIFIED);
  if (unclassifiedNames.length < 2) return [];
  const message = `${unclassifiedNames.length} of ${names.length} securities have no ${field} on ${formatDay(day)} and are grouped as ${UNCLASSIFIED}.`;
  const path = `rows[${position}].params.field`;
  return [createWarning(row, { code: 'UNKNOWN_FIELD_NAME', path, message, all: unclassifiedNames })];
}

import type { ExceededLimit, Finding, PreviewResponse } from '#clients/typescript/divisor.js';
import { countValues, formatCount, formatPercent } from '../../words/numbers.js';
import { isObject, type JsonObject } from '../../words/paths.js';
import { formatInUnit } from '../../words/quantities.js';
import { isAtLimit } from './frontier-point.js';

/** Parts of a constraint label such as `PositionBounds[small]:upper:CAVX`. */
const LABEL = /^(\w+)(?:\[([^\]]*)\])?(?::(.*))?$/;

/**
 * Formats a constraint label: `PositionBounds[small]:upper:CAVX` becomes `Position bounds (small), upper, CAVX`. The id is
 * omitted if it equals the name of the type, or if the rows contain no other constraint of the type.
 * @param rows labels of the constraints from which the id distinguishes this one; default: unknown constraints
 */
export function formatRow(label: string, rows?: readonly string[]): string {
  const [, type, id, rest] = LABEL.exec(label) ?? [];
  if (type === undefined) return label;
  const spaced = type.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  const isNamedByType = id === undefined || id === 'default' || id.replaceAll(/[-_]/g, ' ') === spaced;
  const idText = isNamedByType || isOnlyOfType({ type, id }, rows) ? '' : ` (${id})`;
  const words = `${spaced.charAt(0).toUpperCase()}${spaced.slice(1)}${idText}`;
  return [words, ...(rest?.split(':') ?? []).filter((part) => part !== 'eq')].join(', ');
}

/** Returns true if known rows contain no other constraint of a type. */
const isOnlyOfType = (
  { type, id }: { readonly type: string; readonly id: string },
  rows: readonly string[] | undefined,
): boolean =>
  rows !== undefined &&
  rows.every((row) => {
    const [, rowType, rowId] = LABEL.exec(row) ?? [];
    return rowType !== type || rowId === id;
  });

interface Row {
  readonly type: string;
  readonly id: string;
  readonly index: number;
}

/** Returns the label of a constraint as the service writes it. A constraint without an id has its position. */
export const createRowLabel = ({ type, id, index }: Row): string => `${type}[${id === '' ? index : id}]`;

/**
 * Splits a constraint label: `PositionBounds[small]:upper:CAVX` becomes the constraint `Position bounds (small)` and
 * the subject `CAVX`.
 */
export function parseRowLabel(
  label: string,
  rows?: readonly string[],
): { readonly constraint: string; readonly subject: string | null } {
  const [, head = label, rest = ''] = /^(\w+(?:\[[^\]]*\])?)(?::(.*))?$/.exec(label) ?? [];
  const subject = rest.replace(/^(?:eq|lower|upper)(?::|$)/, '');
  return { constraint: formatRow(head, rows), subject: subject === '' ? null : subject };
}

/** Types of constraints that limit a displayed figure. */
type LimitedFigure = 'TrackingError' | 'Turnover';

/** Returns the note and the mark of a figure with a soft limit. Returns nothing if the limit is met. */
export function createExcessNote(exceeded: readonly ExceededLimit[], figure: LimitedFigure) {
  const excess = exceeded.find(({ type }) => type === figure);
  if (excess === undefined) return {};
  return { kind: 'warning', note: `limit ${formatInUnit(excess.limit, excess.unit)} exceeded (soft)` };
}

const formatExcess = ({ label, value, limit, unit }: ExceededLimit, rows: readonly string[] | undefined): string =>
  `${formatRow(label.replace(/:(?:lower|upper|eq)/, ''), rows)} ${formatInUnit(value, unit)}, limit ${formatInUnit(limit, unit)}`;

/**
 * Describes the first soft bound that is violated: `Forecast tracking error 2.92% exceeds 2.00%`. Returns null if there is none.
 */
export function formatFirstExcess([excess]: readonly ExceededLimit[]): string | null {
  if (excess === undefined) return null;
  const { type, side, value, limit, unit } = excess;
  const verb = side === 'lower' ? 'is below' : 'exceeds';
  return `${type === 'TrackingError' ? 'Forecast tracking error' : formatRow(type)} ${formatInUnit(value, unit)} ${verb} ${formatInUnit(limit, unit)}`;
}

/**
 * Describes the violated soft bounds of constraints that limit none of the shown figures. Returns null if there are
 * none.
 */
export function formatOtherExcesses(exceeded: readonly ExceededLimit[], rows?: readonly string[]): string | null {
  const excesses = exceeded
    .filter(({ type }) => type !== 'TrackingError' && type !== 'Turnover')
    .map((excess) => formatExcess(excess, rows));
  if (excesses.length === 0) return null;
  const restCount = excesses.length - NAMED_MAX;
  return [...excesses.slice(0, NAMED_MAX), ...(restCount > 0 ? [`${restCount} more`] : [])].join('; ');
}

/** Maximum number of bounds in a sentence, and of members if a bound has too many to name all. */
const NAMED_MAX = 3;

/** Maximum number of members of a bound that are all named. */
const MEMBERS_MAX = 6;

/** Matches the labels of constraints that the service itself adds to those of a request. */
const ADDED_ROW = /^\w+\[(?:default|uncovered)\]/;

/** Counts the constraints of a request that have at least one binding bound. */
export const countBindingConstraints = (labels: readonly string[]): number =>
  new Set(labels.filter((label) => !ADDED_ROW.test(label)).map((label) => label.split(':')[0])).size;

/** Counts the binding bounds of the constraints of a request: one per security or group. */
export const countBindingBounds = (labels: readonly string[]): number =>
  labels.filter((label) => !ADDED_ROW.test(label)).length;

/** Returns the labels of the binding bounds of the same constraint and side as a bound, for example all upper bounds. */
export function listBindingSiblings(label: string, binding: readonly string[]): readonly string[] {
  const side = label.split(':').slice(0, 2).join(':');
  return binding.filter((other) => other === label || other.startsWith(`${side}:`));
}

/** Formats the number of binding limits of one side of a constraint, for example `7 binding`. */
export function formatBinding(label: string, binding: readonly string[]): string {
  const { length } = listBindingSiblings(label, binding);
  return length > 1 ? `${formatCount(length)} binding` : 'binding';
}

/** Formats one side of a constraint. If several securities or groups are at the limit, none of them is named. */
export const formatSide = (label: string, rows: readonly string[], binding: readonly string[]): string =>
  formatRow(listBindingSiblings(label, binding).length > 1 ? label.split(':').slice(0, 2).join(':') : label, rows);

/** Returns the labels of the bounds that hold a solution back: the binding bounds without the violated soft bounds. */
export function removeExceeded(labels: readonly string[], exceeded: readonly ExceededLimit[]): readonly string[] {
  const violatedLabels = new Set(exceeded.map(({ label }) => label));
  return labels.filter((label) => !violatedLabels.has(label));
}

/**
 * Describes the binding bounds of the constraints of a request: `Position bounds: QYLG, XURS at upper and 58 at lower`. If a
 * lower bound has many members, only their number is given, because most of them are not held.
 * @param rows labels of all constraints; default: the labels of the binding bounds
 */
export function formatBindingBounds(labels: readonly string[], rows: readonly string[] = labels): string {
  const sidesByRow = new Map<string, Map<string, string[]>>();
  for (const label of labels.filter((own) => !ADDED_ROW.test(own))) {
    const [row = '', side = '', ...member] = label.split(':');
    const sides = sidesByRow.get(row) ?? new Map<string, string[]>();
    sidesByRow.set(
      row,
      sides.set(side, [...(sides.get(side) ?? []), ...(member.length > 0 ? [member.join(':')] : [])]),
    );
  }
  return [...sidesByRow]
    .map(([row, sides]) => [formatRow(row, rows), formatSides(sides)].filter(Boolean).join(': '))
    .join('; ');
}

const formatSides = (sides: ReadonlyMap<string, readonly string[]>): string =>
  [...sides]
    .filter(([, members]) => members.length > 0)
    .toSorted(([, a], [, b]) => a.length - b.length)
    .map(([side, members]) => {
      const text = formatMembers(side, members);
      return side === 'eq' ? text : `${text} at ${side}`;
    })
    .join(' and ');

function formatMembers(side: string, members: readonly string[]): string {
  if (members.length <= MEMBERS_MAX) return members.join(', ');
  if (side === 'lower') return formatCount(members.length);
  return `${members.slice(0, NAMED_MAX).join(', ')} and ${formatCount(members.length - NAMED_MAX)} more`;
}

/**
 * Returns the members of the binding bounds of the constraints that `isRow` accepts, for example of
 * `Exclude[uncovered]`.
 */
export const listBindingMembers = (labels: readonly string[], isRow: (row: string) => boolean): ReadonlySet<string> =>
  new Set(
    labels.flatMap((label) => {
      const [, row = '', member] = /^(.*?):(?:upper|lower|eq):(.*)$/.exec(label) ?? [];
      return member !== undefined && isRow(row) ? [member] : [];
    }),
  );

/** Returns the securities that an optimisation excludes because they have no risk estimate. */
export const listUncoveredSecurities = (labels: readonly string[]): ReadonlySet<string> =>
  listBindingMembers(labels, (row) => row === 'Exclude[uncovered]');

/** Returns the number of securities that a solution can hold; null if there is no solution. */
export const countCandidates = (preview: PreviewResponse | undefined): number | null =>
  preview === undefined ? null : preview.assets.length - listUncoveredSecurities(preview.solve?.binding ?? []).size;

/** Side of a bound on the weight of a security. */
export type BoundSide = 'upper' | 'lower';

/** Returns the securities whose weight is at a bound of the request, with the side of the bound. */
export const listWeightBounds = (labels: readonly string[]): ReadonlyMap<string, BoundSide> =>
  new Map(
    labels.flatMap((label) => {
      const [, side, member] =
        /^(?:PositionBounds|RelativePositionBounds|ActiveBounds)(?:\[[^\]]*\])?:(upper|lower):(.+)$/.exec(label) ?? [];
      return member === undefined ? [] : [[member, side as BoundSide] as const];
    }),
  );

interface IndexWeight {
  readonly identifier: string;
  readonly weight: number | null;
}

/**
 * Describes the securities that are excluded for lack of a risk estimate: their number, their share of the index and the
 * largest of them. Returns null if no security is excluded.
 * @param weights index weights
 */
export function formatUncovered(weights: readonly IndexWeight[], uncovered: ReadonlySet<string>): string | null {
  const excluded = weights.filter(({ identifier }) => uncovered.has(identifier));
  if (excluded.length === 0) return null;
  const share = excluded.reduce((sum, { weight }) => sum + (weight ?? 0), 0);
  const largest = excluded
    .toSorted((a, b) => (b.weight ?? 0) - (a.weight ?? 0))
    .slice(0, NAMED_MAX)
    .map(({ identifier, weight }) => `${identifier} ${formatPercent(weight)}`);
  const isAll = excluded.length <= NAMED_MAX;
  const subject = `${formatCount(excluded.length)} of ${countValues(weights.length, 'security', 'securities')}`;
  return `${subject} (${formatPercent(share)} of the index) ${excluded.length === 1 ? 'has' : 'have'} no risk estimate and ${excluded.length === 1 ? 'is' : 'are'} excluded${isAll ? ':' : ', the largest'} ${largest.join(', ')}.`;
}

/** Code of the finding about securities without a risk estimate. */
const UNCOVERED_CODE = 'NO_WEIGHT_DATA';

/**
 * Describes the share of the index without a risk estimate: `11.88% of the index without a risk estimate`. Returns null
 * if no finding states it.
 */
export function formatUncoveredShare(findings: readonly Finding[]): string | null {
  const [share] = findings.flatMap(({ code, message }) =>
    code === UNCOVERED_CODE ? (/\((\d+\.\d+%) of the index\)/.exec(message)?.[1] ?? []) : [],
  );
  return share === undefined ? null : `${share} of the index without a risk estimate`;
}

/** Adds a sentence before the finding about securities without a risk estimate. The details keep the finding. */
export const prependSentence = (findings: readonly Finding[], sentence: string | null): readonly Finding[] =>
  sentence === null
    ? findings
    : findings.map((finding) =>
        finding.code === UNCOVERED_CODE ? { ...finding, message: `${sentence} ${finding.message}` } : finding,
      );

/**
 * Describes the soft limits that a solution meets, with their constraints. Returns null if there are none.
 * @param rows constraints of the request
 */
export function formatMetSoftLimits(
  rows: readonly JsonObject[],
  exceeded: readonly ExceededLimit[],
  labels: readonly string[],
): string | null {
  const exceededIds = new Set(exceeded.map(({ type, id }) => `${type} ${id}`));
  const met = rows.flatMap(({ type, id = '', params }, index) =>
    typeof type === 'string' &&
    typeof id === 'string' &&
    isObject(params) &&
    typeof params['soft'] === 'number' &&
    !exceededIds.has(`${type} ${id}`)
      ? [formatRow(createRowLabel({ type, id, index }), labels)]
      : [],
  );
  return met.length === 0 ? null : met.join(', ');
}

interface GroupSums {
  /** Active weights of groups in the solution. */
  readonly solution: ReadonlyMap<string, number>;
  /** Active weights of groups that are shown: those of the solution or of a point of the frontier. */
  readonly shown: ReadonlyMap<string, number>;
}

/**
 * Returns the groups whose active weight is at a limit. The limits are the active weights that a bound limits in the
 * solution.
 */
export function listLimitedGroups(labels: readonly string[], { solution, shown }: GroupSums): ReadonlySet<string> {
  const limits = [...listBindingMembers(labels, (row) => /^Active\w*Group/.test(row))].flatMap(
    (group) => solution.get(group) ?? [],
  );
  return new Set([...shown].flatMap(([group, value]) => (isAtLimit(value, limits) ? [group] : [])));
}

/** Initial problem of the page. */
export interface Example {
  readonly text: string;
  readonly rows: readonly JsonObject[];
  readonly terms: JsonObject;
}

/** Upper bound of the example for an index of many securities. */
const UPPER_MIN = 0.05;

/** Upper bound of the example as a multiple of the equal weight. At 1, every weight would be fixed. */
const EQUAL_WEIGHT_MULTIPLE = 1.5;

/**
 * Creates the initial problem. Without constraints, the solution would be the index itself. The bound is soft, because
 * the number of securities that can be held may be smaller.
 * @param securityCount number of securities of the index; null if it is unknown
 */
export function createExample(securityCount: number | null): Example {
  const percent = securityCount === null ? 0 : Math.ceil((100 * EQUAL_WEIGHT_MULTIPLE) / Math.max(1, securityCount));
  const upper = Math.min(1, Math.max(UPPER_MIN, percent / 100));
  return {
    text: `near the index, soft limit of ${formatPercent(upper, 0)} per security`,
    rows: [{ id: 'position-bounds', type: 'PositionBounds', params: { upper, soft: 1 } }],
    terms: { objective: { type: 'min_tracking_error' } },
  };
}

const REPLACES_FULL_INVESTMENT: ReadonlySet<unknown> = new Set(['FullInvestment', 'WeightSum']);

/** Difference from a full investment below which a sum of bounds counts as full. */
const TOLERANCE = 1e-9;

/**
 * Returns warnings about upper bounds that leave the weights of a full investment no choice.
 * @param securityCount number of securities that can be held; null if it is unknown
 */
export function listTightBounds(rows: readonly JsonObject[], securityCount: number | null): readonly Finding[] {
  if (securityCount === null || rows.some(({ type }) => REPLACES_FULL_INVESTMENT.has(type))) return [];
  return rows.flatMap(({ type, params }, position) => {
    const { upper, identifiers = null } = isObject(params) ? params : {};
    if (type !== 'PositionBounds' || typeof upper !== 'number' || identifiers !== null) return [];
    const total = securityCount * upper;
    if (total > 1 + TOLERANCE) return [];
    const sum = `${formatCount(securityCount)} securities × ${formatPercent(upper)} = ${formatPercent(total)}`;
    return {
      severity: 'warning',
      code: 'CAP_INFEASIBLE',
      path: `constraints[${position}].params.upper`,
      message:
        total < 1 - TOLERANCE
          ? `${sum}: weights within this bound do not add up to 100%.`
          : `${sum}: every weight is fixed at ${formatPercent(upper)}.`,
    };
  });
}

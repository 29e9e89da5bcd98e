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

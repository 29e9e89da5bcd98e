/**
 * Formats a constraint label: `PositionBounds[small]:upper:CAVX` becomes `Position bounds (small), upper, CAVX`. If the
 * id equals the name of the type, it is left out.
 */
export function formatRow(label: string): string {
  const [, type, id, rest] = /^(\w+)(?:\[([^\]]*)\])?(?::(.*))?$/.exec(label) ?? [];
  if (type === undefined) return label;
  const spacedType = type.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  const idText = id === undefined || id === 'default' || id.replaceAll(/[-_]/g, ' ') === spacedType ? '' : ` (${id})`;
  const words = `${spacedType.charAt(0).toUpperCase()}${spacedType.slice(1)}${idText}`;
  return [words, ...(rest?.split(':') ?? []).filter((part) => part !== 'eq')].join(', ');
}

/**
 * Splits a constraint label: `PositionBounds[small]:upper:CAVX` becomes the constraint `Position bounds (small)` and
 * the subject `CAVX`.
 */
export function parseRowLabel(label: string): { readonly constraint: string; readonly subject: string | null } {
  const [, head = label, rest = ''] = /^(\w+(?:\[[^\]]*\])?)(?::(.*))?$/.exec(label) ?? [];
  const subject = rest.replace(/^(?:eq|lower|upper)(?::|$)/, '');
  return { constraint: formatRow(head), subject: subject === '' ? null : subject };
}

/** Formats a value as JSON. If it fits into `columns` characters, it is on one line. */
export function formatJson(value: unknown, columns = 100, indent = ''): string {
  const flatText = formatFlat(value);
  if (flatText.length + indent.length <= columns || typeof value !== 'object' || value === null) return flatText;
  const innerIndent = `${indent}  `;
  const formatMember = (member: unknown) => formatJson(member, columns, innerIndent);
  if (Array.isArray(value))
    return `[\n${value.map((item) => innerIndent + formatMember(item)).join(',\n')}\n${indent}]`;
  return `{\n${Object.entries(value)
    .map(([key, member]) => `${innerIndent}${JSON.stringify(key)}: ${formatMember(member)}`)
    .join(',\n')}\n${indent}}`;
}

function formatFlat(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatFlat).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${formatFlat(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

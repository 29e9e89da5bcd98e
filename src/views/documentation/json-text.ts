/** Formats a value as JSON. A value that fits into `columns` characters is written on one line. */
export function jsonText(value: unknown, columns = 100, indent = ''): string {
  const flat = flatText(value);
  if (flat.length + indent.length <= columns || typeof value !== 'object' || value === null) return flat;
  const deeper = `${indent}  `;
  const formatMember = (member: unknown) => jsonText(member, columns, deeper);
  if (Array.isArray(value)) return `[\n${value.map((item) => deeper + formatMember(item)).join(',\n')}\n${indent}]`;
  return `{\n${Object.entries(value)
    .map(([key, member]) => `${deeper}${JSON.stringify(key)}: ${formatMember(member)}`)
    .join(',\n')}\n${indent}}`;
}

function flatText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flatText).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${flatText(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

import type { Finding } from '#clients/typescript/divisor.js';

/**
 * Message of a finding at its field: the label replaces the path at its beginning.
 * `pipeline.weighting.cap is 1.5` at the field Cap reads `Cap is 1.5`; of a part of the field, `Shocks, SECTOR:Energy must be a number`.
 */
export function messageAt({ message, path }: Pick<Finding, 'message' | 'path'>, name: string, label: string): string {
  if (path === '' || !message.startsWith(`${path} `)) return message;
  const at = path.lastIndexOf(`${name}.`);
  const part = path === name || path.endsWith(`.${name}`) || at < 0 ? '' : `, ${path.slice(at + name.length + 1)}`;
  return `${label}${part}${message.slice(path.length)}`;
}

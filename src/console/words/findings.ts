import type { Finding } from '#clients/typescript/divisor.js';
import { isUnsaid, pathWords } from './labels.js';

/** Returns true if a finding reports a missing value, which is not a mistake before the field was edited. */
export const isMissing = ({ code }: Pick<Finding, 'code'>): boolean =>
  code === 'REQUIRED' || code === 'MISSING_PARAMETER';

/** Returns true if two reports have the same finding. */
export const isSameFinding = (a: Finding, b: Finding): boolean =>
  a.code === b.code && a.path === b.path && a.message === b.message;

/** Maximum number of suggested names. */
const SUGGESTED_MAX = 3;

/**
 * Returns accepted names nearest to an unknown one: in another case, with the same words, or with a few other letters.
 */
export function listNearest(typed: string, accepted: readonly string[]): readonly string[] {
  const text = simplify(typed);
  if (text === '') return [];
  return accepted
    .map((name) => ({ name, distance: distanceOf(text, simplify(name)) }))
    .filter(({ distance }) => distance <= Math.max(1, text.length / 3))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, SUGGESTED_MAX)
    .map(({ name }) => name);
}

const simplify = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Letters to insert, delete or replace; less than one where one text is part of the other. */
function distanceOf(a: string, b: string): number {
  if (a === b) return 0;
  if (a.length > 2 && (a.includes(b) || b.includes(a))) return 0.5;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + Number(a[i - 1] !== b[j - 1]))); // Within both rows.
    row = next;
  }
  return row[b.length]!;
}

/** Changes datapoints in an expression to the case of the store; functions and quoted texts are unchanged. */
export function toStoreCase(text: string, datapoints: readonly string[]): string {
  const byLower = new Map(datapoints.map((name) => [name.toLowerCase(), name]));
  return text.replaceAll(/"[^"]*"|'[^']*'|[A-Za-z_]\w*/g, (word, at: number) =>
    datapoints.includes(word) || isCalled(text, at + word.length) ? word : (byLower.get(word.toLowerCase()) ?? word),
  );
}

/** Returns true if a word that ends here names a function or an argument. */
function isCalled(text: string, end: number): boolean {
  let at = end;
  while (text[at] === ' ') at += 1;
  return text[at] === '(' || text[at] === '=';
}

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

/** Path in a document or request; paths in data have rows of files, securities and columns. */
const isOfDocument = /^[a-z_]+(?:\.[a-z_]+|\[\d+\])*$/;

/**
 * Message of a finding in a list: words replace the path at its beginning. `pipeline.weighting.cap is 1.5` reads
 * `Weighting, Cap is 1.5`.
 * @param field that shows the finding; its label replaces its member
 */
export function plainMessage(
  { message, path }: Pick<Finding, 'message' | 'path'>,
  field?: { readonly member: string; readonly label: string },
): string {
  if (!isOfDocument.test(path) || !message.startsWith(`${path} `))
    return field === undefined ? message : messageAt({ message, path }, field.member, field.label);
  const steps = path.split(/[.[\]]+/).filter(Boolean);
  const named = steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  const at = field === undefined ? -1 : named.lastIndexOf(field.member);
  if (field === undefined || at < 0) return pathWords(named, undefined) + message.slice(path.length);
  const parts = [named.slice(0, at), named.slice(at + 1)].map((part) =>
    part.every(isUnsaid) ? [] : [pathWords(part, undefined)],
  );
  return [...parts[0]!, field.label, ...parts[1]!].join(', ') + message.slice(path.length); // There are two.
}

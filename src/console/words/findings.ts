import type { Finding } from '#clients/typescript/divisor.js';
import { formatPathLabel, isUnsaid } from './labels.js';

/** Returns true if a finding reports a missing value. In a field that was not edited yet, this is not an error. */
export const isMissing = ({ code }: Pick<Finding, 'code'>): boolean =>
  code === 'REQUIRED' || code === 'MISSING_PARAMETER';

export const isSameFinding = (a: Finding, b: Finding): boolean =>
  a.code === b.code && a.path === b.path && a.message === b.message;

/** Maximum number of suggestions. */
const SUGGESTED_MAX = 3;

/**
 * Returns the accepted names that are most similar to an unknown name: in another case, with the same words, or with a
 * small edit distance.
 */
export function listNearest(typed: string, accepted: readonly string[]): readonly string[] {
  const text = simplify(typed);
  if (text === '') return [];
  return accepted
    .map((name) => ({ name, distance: computeDistance(text, simplify(name)) }))
    .filter(({ distance }) => distance <= Math.max(1, text.length / 3))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, SUGGESTED_MAX)
    .map(({ name }) => name);
}

const simplify = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Returns the edit distance of two texts. It is less than one if one text contains the other. */
function computeDistance(a: string, b: string): number {
  if (a === b) return 0;
  if (a.length > 2 && (a.includes(b) || b.includes(a))) return 0.5;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + Number(a[i - 1] !== b[j - 1]))); // `j` is within both rows
    row = next;
  }
  return row[b.length]!;
}

/**
 * Changes the names of datapoints in an expression to the case that the store uses. Functions and quoted texts do not
 * change.
 */
export function toStoreCase(text: string, datapoints: readonly string[]): string {
  const byLower = new Map(datapoints.map((name) => [name.toLowerCase(), name]));
  return text.replaceAll(/"[^"]*"|'[^']*'|[A-Za-z_]\w*/g, (word, at: number) =>
    datapoints.includes(word) || isCalled(text, at + word.length) ? word : (byLower.get(word.toLowerCase()) ?? word),
  );
}

/** Returns true if the word before a position is the name of a function or of an argument. */
function isCalled(text: string, end: number): boolean {
  let position = end;
  while (text[position] === ' ') position += 1;
  return text[position] === '(' || text[position] === '=';
}

/**
 * Returns the message of a finding for its field. The label replaces the path at its start: `pipeline.weighting.cap is
 * 1.5` becomes `Cap is 1.5` for the field Cap. A finding about a part of the field names the part: `Shocks,
 * SECTOR:Energy must be a number`.
 */
export function formatMessageAt(
  { message, path }: Pick<Finding, 'message' | 'path'>,
  name: string,
  label: string,
): string {
  if (path === '' || !message.startsWith(`${path} `)) return message;
  const position = path.lastIndexOf(`${name}.`);
  const part =
    path === name || path.endsWith(`.${name}`) || position < 0 ? '' : `, ${path.slice(position + name.length + 1)}`;
  return `${label}${part}${message.slice(path.length)}`;
}

/** Matches a path in a document or a request. A path in data contains file names, rows, securities and columns. */
const isOfDocument = /^[a-z_]+(?:\.[a-z_]+|\[\d+\])*$/;

/**
 * Returns the message of a finding for a list. Words replace the path at its start: `pipeline.weighting.cap is 1.5`
 * becomes `Weighting, Cap is 1.5`.
 * @param field field that shows the finding; its label replaces the member name
 */
export function formatMessage(
  { message, path }: Pick<Finding, 'message' | 'path'>,
  field?: { readonly member: string; readonly label: string },
): string {
  if (!isOfDocument.test(path) || !message.startsWith(`${path} `))
    return field === undefined ? message : formatMessageAt({ message, path }, field.member, field.label);
  const steps = path.split(/[.[\]]+/).filter(Boolean);
  const keys = steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  const memberPosition = field === undefined ? -1 : keys.lastIndexOf(field.member);
  if (field === undefined || memberPosition < 0) return formatPathLabel(keys, undefined) + message.slice(path.length);
  const parts = [keys.slice(0, memberPosition), keys.slice(memberPosition + 1)].map((part) =>
    part.every(isUnsaid) ? [] : [formatPathLabel(part, undefined)],
  );
  return [...parts[0]!, field.label, ...parts[1]!].join(', ') + message.slice(path.length); // there are two parts
}

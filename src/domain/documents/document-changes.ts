/** Difference between two JSON values: an operation of RFC 6902 with the previous value. */
export interface DocumentChange {
  /** JSON pointer (RFC 6901) into the value after all preceding changes. */
  readonly path: string;
  readonly op: 'add' | 'remove' | 'replace';
  /** Value before the change; null for an addition. */
  readonly before: unknown;
  /** Value after the change; null for a removal. */
  readonly after: unknown;
}

/**
 * Computes the changes from one JSON value to another. Applied in order, they turn `before` into `after`. Members of
 * objects are compared by name, in code-point order. Of two lists, the common beginning and end are skipped, and the
 * elements between them are compared by position.
 */
export function listChanges(before: unknown, after: unknown): DocumentChange[] {
  const changes: DocumentChange[] = [];
  compareValues(before, after, '', changes);
  return changes;
}

function compareValues(before: unknown, after: unknown, path: string, changes: DocumentChange[]): void {
  if (isSame(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) compareLists(before, after, path, changes);
  else if (isObject(before) && isObject(after)) compareObjects(before, after, path, changes);
  else changes.push({ path, op: 'replace', before, after });
}

type Json = Readonly<Record<string, unknown>>;

function compareObjects(before: Json, after: Json, path: string, changes: DocumentChange[]): void {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  for (const name of names) {
    const memberPath = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (!Object.hasOwn(after, name))
      changes.push({ path: memberPath, op: 'remove', before: before[name], after: null });
    else if (!Object.hasOwn(before, name))
      changes.push({ path: memberPath, op: 'add', before: null, after: after[name] });
    else compareValues(before[name], after[name], memberPath, changes);
  }
}

function compareLists(
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
  changes: DocumentChange[],
): void {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isSame(before[start], after[start])) start++;
  let tail = 0;
  while (tail < shorter - start && isSame(before.at(-1 - tail), after.at(-1 - tail))) tail++;
  const pairCount = shorter - start - tail;
  for (let i = start; i < start + pairCount; i++) compareValues(before[i], after[i], `${path}/${i}`, changes);
  for (let i = before.length - tail - 1; i >= start + pairCount; i--)
    changes.push({ path: `${path}/${i}`, op: 'remove', before: before[i], after: null });
  for (let i = start + pairCount; i < after.length - tail; i++)
    changes.push({ path: `${path}/${i}`, op: 'add', before: null, after: after[i] });
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isSame(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
  );
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

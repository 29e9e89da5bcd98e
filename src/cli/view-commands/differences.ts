/** A member that two documents have otherwise; the JSON of each, null where one has it not. */
export interface Difference {
  /** JSON pointer. */
  readonly path: string;
  readonly stored: string | null;
  readonly file: string | null;
}

/** What a document in a file has otherwise than the stored one, by its place. */
export function differences(stored: unknown, file: unknown, path = ''): Difference[] {
  if (isObject(stored) && isObject(file))
    return [...new Set([...Object.keys(stored), ...Object.keys(file)])].flatMap((name) =>
      differences(stored[name], file[name], `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
    );
  if (Array.isArray(stored) && Array.isArray(file))
    return Array.from({ length: Math.max(stored.length, file.length) }, (_, i) =>
      differences(stored[i], file[i], `${path}/${i}`),
    ).flat();
  const [a, b] = [jsonOf(stored), jsonOf(file)];
  return a === b ? [] : [{ path, stored: a, file: b }];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const jsonOf = (value: unknown) => (value === undefined ? null : JSON.stringify(value));

import { differences, pathText, valueAt, addValue, type Json, type JsonObject, type Path } from './paths.js';

/** Field in which two editors of one document differ. */
export interface ChangedField {
  readonly path: Path;
  /** The original value; undefined if it was absent. */
  readonly before: Json | undefined;
  readonly mine: Json | undefined;
  readonly theirs: Json | undefined;
  readonly by: 'you' | 'them' | 'both';
}

/** Side whose value a field has. */
export type Side = 'mine' | 'theirs';

interface Versions {
  /** The common original. */
  readonly base: JsonObject;
  readonly mine: JsonObject;
  readonly theirs: JsonObject;
}

/**
 * Returns the fields in which two versions differ, in the order of the document. If one changed a part of a field that
 * the other changed, the whole field is returned.
 */
export function listChangedFields({ base, mine, theirs }: Versions): readonly ChangedField[] {
  const own = pathsOf(base, mine);
  const other = pathsOf(base, theirs);
  const outermost = [...new Map([...own, ...other].map((path) => [pathText(path), path])).values()].filter(
    (path, _, all) => !all.some((outer) => outer.length < path.length && isWithin(path, outer)),
  );
  return outermost.flatMap((path) => {
    const [before, yours, others] = [valueAt(base, path), valueAt(mine, path), valueAt(theirs, path)];
    if (JSON.stringify(yours) === JSON.stringify(others)) return [];
    const isOwn = own.some((one) => isWithin(one, path));
    const isOther = other.some((one) => isWithin(one, path));
    return [{ path, before, mine: yours, theirs: others, by: isOwn && isOther ? 'both' : isOwn ? 'you' : 'them' }];
  });
}

const pathsOf = (before: JsonObject, after: JsonObject): readonly Path[] =>
  differences(before, after).map(({ path }) => path);

const isWithin = (path: Path, outer: Path): boolean => outer.every((step, i) => step === path[i]);

/** Returns the side whose value a field takes: the chosen one, or the only one that changed it; null if both did. */
export const sideOf = ({ path, by }: ChangedField, chosen: ReadonlyMap<string, Side>): Side | null =>
  chosen.get(pathText(path)) ?? (by === 'both' ? null : by === 'you' ? 'mine' : 'theirs');

/** Returns their version with my value of the chosen fields; null while a choice is missing. */
export function resolve(
  theirs: JsonObject,
  fields: readonly ChangedField[],
  chosen: ReadonlyMap<string, Side>,
): JsonObject | null {
  if (fields.some((field) => sideOf(field, chosen) === null)) return null;
  return fields
    .filter((field) => sideOf(field, chosen) === 'mine')
    .reduce<JsonObject>((all, { path, mine }) => addValue(all, path, mine) as JsonObject, theirs); // Stays an object.
}

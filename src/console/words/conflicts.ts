import { listDifferences, formatPath, getValueAt, addValue, type Json, type JsonObject, type Path } from './paths.js';

/** A field in which two versions of a document differ. */
export interface ChangedField {
  readonly path: Path;
  /** Original value; undefined if the field was absent. */
  readonly before: Json | undefined;
  readonly mine: Json | undefined;
  readonly theirs: Json | undefined;
  readonly by: 'you' | 'them' | 'both';
}

/** Version whose value is used for a field. */
export type Side = 'mine' | 'theirs';

interface Versions {
  /** Common original of both versions. */
  readonly base: JsonObject;
  readonly mine: JsonObject;
  readonly theirs: JsonObject;
}

/**
 * Returns the fields in which two versions differ, in document order. If one version changed a whole field and the
 * other only a part of it, the whole field is returned.
 */
export function listChangedFields({ base, mine, theirs }: Versions): readonly ChangedField[] {
  const ownPaths = listPaths(base, mine);
  const other = listPaths(base, theirs);
  const outermost = [...new Map([...ownPaths, ...other].map((path) => [formatPath(path), path])).values()].filter(
    (path, _, all) => !all.some((outer) => outer.length < path.length && isWithin(path, outer)),
  );
  return outermost.flatMap((path) => {
    const [before, yours, others] = [getValueAt(base, path), getValueAt(mine, path), getValueAt(theirs, path)];
    if (JSON.stringify(yours) === JSON.stringify(others)) return [];
    const isOwn = ownPaths.some((one) => isWithin(one, path));
    const isOther = other.some((one) => isWithin(one, path));
    return [{ path, before, mine: yours, theirs: others, by: isOwn && isOther ? 'both' : isOwn ? 'you' : 'them' }];
  });
}

const listPaths = (before: JsonObject, after: JsonObject): readonly Path[] =>
  listDifferences(before, after).map(({ path }) => path);

const isWithin = (path: Path, outer: Path): boolean => outer.every((step, i) => step === path[i]);

/**
 * Returns the version from which a field takes its value: the selected version, or the only version that changed the
 * field. Returns null if both changed it and the user has selected none.
 */
export const findSide = ({ path, by }: ChangedField, chosen: ReadonlyMap<string, Side>): Side | null =>
  chosen.get(formatPath(path)) ?? (by === 'both' ? null : by === 'you' ? 'mine' : 'theirs');

/**
 * Returns the other user's version with this user's values in the selected fields. Returns null while a selection is
 * missing.
 */
export function resolve(
  theirs: JsonObject,
  fields: readonly ChangedField[],
  chosen: ReadonlyMap<string, Side>,
): JsonObject | null {
  if (fields.some((field) => findSide(field, chosen) === null)) return null;
  return fields
    .filter((field) => findSide(field, chosen) === 'mine')
    .reduce<JsonObject>((all, { path, mine }) => addValue(all, path, mine) as JsonObject, theirs); // replacing a member of an object returns an object
}

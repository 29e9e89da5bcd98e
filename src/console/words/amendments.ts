/**
 * Changes of a definition that has published closes: which changes can apply from a date, and the amendment that
 * applies them.
 */

import {
  listDifferences,
  isObject,
  getValueAt,
  addValue,
  type Difference,
  type Json,
  type JsonObject,
  type Path,
} from './paths.js';

/** Members that an amendment can change. The contract has the same list. */
export const AMENDABLE_MEMBERS: readonly string[] = [
  'universe',
  'rebalance',
  'reviews',
  'pipeline',
  'derivation',
  'overlay',
  'events',
  'rounding',
];

/** Members of the treatment that an amendment cannot change. The contract has the same list. */
export const FIXED_TREATMENT: readonly string[] = ['dividends', 'reinvestment'];

/** Members that do not affect closes. */
const DESCRIPTIVE_MEMBERS: readonly string[] = ['name', 'description', 'tags'];

/** Changes of a definition, split by their effect on published closes. */
export interface SortedChanges {
  /** Changes that can apply from a date. */
  readonly amendable: readonly Difference[];
  /** Changes that can only apply to the whole history. */
  readonly fixed: readonly Difference[];
}

/**
 * Splits the changes that affect closes.
 * @param through last published close
 */
export function sortChanges(before: JsonObject, after: JsonObject, through: string): SortedChanges {
  const changes = listDifferences(before, after).filter(
    ({ path: [member], ...values }) =>
      !(isEmpty(values.before) && isEmpty(values.after)) &&
      !DESCRIPTIVE_MEMBERS.includes(String(member)) &&
      !(member === 'amendments' && areLater(before, after, through)),
  );
  const isFixed = ({ path: [member, part, name] }: Difference): boolean =>
    !AMENDABLE_MEMBERS.includes(String(member)) || (part === 'treatment' && FIXED_TREATMENT.includes(String(name)));
  return { amendable: changes.filter((change) => !isFixed(change)), fixed: changes.filter(isFixed) };
}

/** Returns true for an empty value. A stored definition contains defaults; a form leaves them out. */
const isEmpty = (value: Json | undefined): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

/** Returns true if the definitions differ only in new amendments that apply after the published closes. */
function areLater(before: JsonObject, after: JsonObject, through: string): boolean {
  const [known, all] = [listAmendments(before), listAmendments(after)];
  const isKept = JSON.stringify(all.slice(0, known.length)) === JSON.stringify(known);
  return isKept && all.slice(known.length).every(({ effective_from: from }) => String(from) > through);
}

const listAmendments = ({ amendments }: JsonObject): readonly JsonObject[] =>
  Array.isArray(amendments) ? (amendments as readonly Json[]).filter(isObject) : [];

interface AmendedDefinition {
  /** The stored definition. */
  readonly before: JsonObject;
  /** The edited definition. */
  readonly after: JsonObject;
  readonly amendable: SortedChanges['amendable'];
}

/**
 * Returns the definition that is valid on a date, before and after the new amendment. Earlier amendments are applied.
 */
export function computeDefinitionsOn(
  date: string,
  { before, after, amendable }: AmendedDefinition,
): { readonly inForce: JsonObject; readonly amended: JsonObject } {
  const { amendments: _, ...first } = before;
  const inForce = listAmendments(before)
    .filter(({ effective_from: from }) => String(from) <= date)
    .reduce<Json>((text, { changes }) => mergePatch(text, changes ?? {}), first) as JsonObject; // a merge patch of an object returns an object
  const amendedDocument = amendable.reduce<Json>((text, { path }) => {
    const ownPath = cutAtChangedList(path, before, inForce);
    return addValue(text, ownPath, getValueAt(after, ownPath));
  }, inForce) as JsonObject; // replacing members of an object returns an object
  return { inForce, amended: amendedDocument };
}

/** Cuts a path at the first list that an earlier amendment changed. The positions in such a list are different. */
function cutAtChangedList(path: Path, before: JsonObject, inForce: JsonObject): Path {
  const position = path.findIndex(
    (step, k) =>
      typeof step === 'number' &&
      JSON.stringify(getValueAt(before, path.slice(0, k))) !== JSON.stringify(getValueAt(inForce, path.slice(0, k))),
  );
  return position === -1 ? path : path.slice(0, position);
}

/** Returns the stored definition with a new amendment and with the changes that do not affect closes. */
export function addAmendment(date: string, terms: JsonObject, changed: AmendedDefinition): JsonObject {
  const { before, after } = changed;
  const { inForce, amended } = computeDefinitionsOn(date, changed);
  const amendment = { ...terms, effective_from: date, changes: createPatch(inForce, amended) };
  const descriptions = Object.fromEntries(DESCRIPTIVE_MEMBERS.map((member) => [member, after[member]]));
  return {
    ...before,
    ...descriptions,
    amendments: [...listAmendments(before), amendment].toSorted((a, b) =>
      String(a['effective_from']) < String(b['effective_from']) ? -1 : 1,
    ),
  };
}

/**
 * Applies a JSON merge patch.
 * @source RFC 7396
 */
function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: Record<string, Json | undefined> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete result[name];
    else if (value !== undefined) result[name] = mergePatch(result[name], value);
  return result;
}

/**
 * Creates the JSON merge patch that turns one object into another.
 * @source RFC 7396
 */
export function createPatch(before: JsonObject, after: JsonObject): JsonObject {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    names.flatMap((name) => {
      const [was, is] = [before[name], after[name]];
      if (JSON.stringify(was) === JSON.stringify(is)) return [];
      return [[name, isObject(was) && isObject(is) ? createPatch(was, is) : (is ?? null)] as const];
    }),
  );
}

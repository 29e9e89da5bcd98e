/** Changes of a definition with published closes: which of them can apply from a date, and the amendment that does so. */

import {
  differences,
  isObject,
  valueAt,
  addValue,
  type Difference,
  type Json,
  type JsonObject,
  type Path,
} from './paths.js';

/** Members that an amendment can change, as in the contract. */
export const AMENDABLE: readonly string[] = [
  'universe',
  'rebalance',
  'reviews',
  'pipeline',
  'derivation',
  'overlay',
  'events',
  'rounding',
];

/** Members of the treatment that no amendment changes, as in the contract. */
export const FIXED_TREATMENT: readonly string[] = ['dividends', 'reinvestment'];

/** Members that affect no close. */
const DESCRIPTIVE: readonly string[] = ['name', 'description', 'tags'];

/** Changes of a definition by their effect on published closes. */
export interface SortedChanges {
  /** Changes that can apply from a date. */
  readonly amendable: readonly Difference[];
  /** Changes that apply to the whole history only. */
  readonly fixed: readonly Difference[];
}

/** Sorts the changes that affect closes. @param through last published close */
export function sortChanges(before: JsonObject, after: JsonObject, through: string): SortedChanges {
  const changes = differences(before, after).filter(
    ({ path: [member], ...values }) =>
      !(isEmpty(values.before) && isEmpty(values.after)) &&
      !DESCRIPTIVE.includes(String(member)) &&
      !(member === 'amendments' && areLater(before, after, through)),
  );
  const isFixed = ({ path: [member, part, name] }: Difference): boolean =>
    !AMENDABLE.includes(String(member)) || (part === 'treatment' && FIXED_TREATMENT.includes(String(name)));
  return { amendable: changes.filter((change) => !isFixed(change)), fixed: changes.filter(isFixed) };
}

/** A stored definition has its defaults, which a form omits. */
const isEmpty = (value: Json | undefined): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

/** Returns true if only amendments after the published closes were added. */
function areLater(before: JsonObject, after: JsonObject, through: string): boolean {
  const [known, all] = [amendmentsOf(before), amendmentsOf(after)];
  const isKept = JSON.stringify(all.slice(0, known.length)) === JSON.stringify(known);
  return isKept && all.slice(known.length).every(({ effective_from: from }) => String(from) > through);
}

const amendmentsOf = ({ amendments }: JsonObject): readonly JsonObject[] =>
  Array.isArray(amendments) ? (amendments as readonly Json[]).filter(isObject) : [];

interface Amended {
  /** The stored definition. */
  readonly before: JsonObject;
  /** The edited one. */
  readonly after: JsonObject;
  readonly amendable: SortedChanges['amendable'];
}

/** Returns the definition before and after an amendment from a date: earlier amendments that are effective by then apply to both. */
export function textsOn(
  date: string,
  { before, after, amendable }: Amended,
): { readonly inForce: JsonObject; readonly amended: JsonObject } {
  const { amendments: _, ...first } = before;
  const inForce = amendmentsOf(before)
    .filter(({ effective_from: from }) => String(from) <= date)
    .reduce<Json>((text, { changes }) => mergePatch(text, changes ?? {}), first) as JsonObject; // Patches of an object.
  const amended = amendable.reduce<Json>((text, { path }) => {
    const own = wholeLists(path, before, inForce);
    return addValue(text, own, valueAt(after, own));
  }, inForce) as JsonObject; // Members of it are replaced.
  return { inForce, amended };
}

/** Ends a path at the first list that an earlier amendment has changed: its rows are other ones. */
function wholeLists(path: Path, before: JsonObject, inForce: JsonObject): Path {
  const at = path.findIndex(
    (step, k) =>
      typeof step === 'number' &&
      JSON.stringify(valueAt(before, path.slice(0, k))) !== JSON.stringify(valueAt(inForce, path.slice(0, k))),
  );
  return at === -1 ? path : path.slice(0, at);
}

/** Returns the stored definition with a further amendment, and with changes that affect no close. */
export function addAmendment(date: string, terms: JsonObject, changed: Amended): JsonObject {
  const { before, after } = changed;
  const { inForce, amended } = textsOn(date, changed);
  const amendment = { ...terms, effective_from: date, changes: patchBetween(inForce, amended) };
  const described = Object.fromEntries(DESCRIPTIVE.map((member) => [member, after[member]]));
  return {
    ...before,
    ...described,
    amendments: [...amendmentsOf(before), amendment].toSorted((a, b) =>
      String(a['effective_from']) < String(b['effective_from']) ? -1 : 1,
    ),
  };
}

/** Applies a merge patch. @source RFC 7396 */
function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const merged: Record<string, Json | undefined> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete merged[name];
    else if (value !== undefined) merged[name] = mergePatch(merged[name], value);
  return merged;
}

/** Returns the merge patch that leads from one object to another. @source RFC 7396 */
export function patchBetween(before: JsonObject, after: JsonObject): JsonObject {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    names.flatMap((name) => {
      const [was, is] = [before[name], after[name]];
      if (JSON.stringify(was) === JSON.stringify(is)) return [];
      return [[name, isObject(was) && isObject(is) ? patchBetween(was, is) : (is ?? null)] as const];
    }),
  );
}

import { subtractDays } from './dates.js';
import {
  addValue,
  type PathDifference,
  formatPath,
  getValueAt,
  isObject,
  type Json,
  type JsonObject,
  listDifferences,
  type Path,
} from './paths.js';

/**
 * Changes of a definition that has published closes: which changes can apply from a date, and the amendment that
 * applies them.
 */

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
export const FIXED_TREATMENT: readonly string[] = ['dividends', 'reinvestment', 'reinvestment_at'];

/** Members that do not affect closes. */
const DESCRIPTIVE_MEMBERS: readonly string[] = ['name', 'description', 'tags'];

/** Changes of a definition, split by their effect on published closes. */
export interface SortedChanges {
  /** Changes that can apply from a date. */
  readonly amendable: readonly PathDifference[];
  /** Changes that can only apply to the whole history. */
  readonly fixed: readonly PathDifference[];
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
  const isFixed = ({ path: [member, part, name] }: PathDifference): boolean =>
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
  const amendment = { ...terms, effective_from: date, changes: createMergePatch(inForce, amended) };
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
export function createMergePatch(before: JsonObject, after: JsonObject): JsonObject {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    names.flatMap((name) => {
      const [was, is] = [before[name], after[name]];
      if (JSON.stringify(was) === JSON.stringify(is)) return [];
      return [[name, isObject(was) && isObject(is) ? createMergePatch(was, is) : (is ?? null)] as const];
    }),
  );
}

/** Review that another schedule moves by a session, or leaves out. */
export interface ReviewMove {
  /** Effective date under the schedule of the index. */
  readonly date: string;
  readonly manner: 'ignored' | 'early' | 'late';
}

/** Days before and after a review within which its date moves to a session. */
const NEAR_DAYS = 7;

/**
 * Returns a definition that moves single reviews by amendments and keeps its schedule before and after them.
 * @param before the definition with its schedule
 * @param after the definition with the dates of all reviews instead, of which some are moved
 * @returns null if the reviews are too close to each other, or if the definition amends its schedule
 */
export function moveReviews(before: JsonObject, after: JsonObject, moves: readonly ReviewMove[]): JsonObject | null {
  const schedule = isObject(before['rebalance']) ? before['rebalance'] : {};
  const amended = isObject(after['rebalance']) ? after['rebalance'] : {};
  if (moves.length === 0 || schedule['frequency'] === 'custom' || amended['frequency'] !== 'custom') return null;
  const known = listAmendments(after);
  if (known.some(({ changes }) => isObject(changes) && changes['rebalance'] !== undefined)) return null;
  const dates = (Array.isArray(amended['dates']) ? amended['dates'].map(String) : []).toSorted();
  const places = moves
    .toSorted((a, b) => (a.date < b.date ? -1 : 1))
    .map(({ date, manner }) => ({ date, to: manner === 'ignored' ? null : findMoved(dates, date, manner) }));
  const others = dates.filter((date) => places.every(({ to }) => to !== date));
  const added: JsonObject[] = [];
  for (const { date, to } of places) {
    if (to === undefined) return null;
    const [first, last] = [date, to ?? date].toSorted() as [string, string];
    const previous = others.findLast((one) => one < first) ?? String(before['base_date']);
    const next = others.find((one) => one > last);
    const from = latest(subtractDays(first, NEAR_DAYS), subtractDays(previous, -1));
    const until = subtractDays(last, -NEAR_DAYS);
    const end = next !== undefined && next < until ? next : until;
    if (from > first || end <= last || from <= String(added.at(-1)?.['effective_from'] ?? '')) return null;
    const held = to ?? next;
    const kept = Object.fromEntries(Object.entries(schedule).filter(([name]) => !RULE_MEMBERS.has(name)));
    const single = held === undefined ? { frequency: 'none' } : { ...kept, frequency: 'custom', dates: [held] };
    added.push(
      {
        effective_from: from,
        reason: to === null ? `The review of ${date} is left out.` : `The review of ${date} is on ${to}.`,
        changes: { rebalance: createMergePatch(schedule, single) },
      },
      {
        effective_from: end,
        reason: `The schedule before ${from} continues.`,
        changes: { rebalance: createMergePatch(single, schedule) },
      },
    );
  }
  const all = new Map(known.map((one) => [String(one['effective_from']), one]));
  for (const one of added) {
    const same = all.get(String(one['effective_from']));
    const changes = { ...(isObject(same?.['changes']) ? same['changes'] : {}), ...(one['changes'] as JsonObject) };
    all.set(String(one['effective_from']), same === undefined ? one : { ...same, changes });
  }
  const amendments = [...all].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  return { ...after, rebalance: schedule, amendments };
}

/** Members of a schedule that determine its dates by a rule. */
const RULE_MEMBERS: ReadonlySet<string> = new Set(['anchor', 'months', 'weekday', 'nth', 'day', 'session', 'offset']);

const latest = (a: string, b: string): string => (a > b ? a : b);

/** Returns the date to which a review moves by a session; undefined if there is none. */
function findMoved(dates: readonly string[], date: string, manner: 'early' | 'late'): string | undefined {
  const to = manner === 'early' ? dates.findLast((one) => one < date) : dates.find((one) => one > date);
  const isNear = to !== undefined && subtractDays(to, NEAR_DAYS) < date && to > subtractDays(date, NEAR_DAYS);
  return isNear ? to : undefined;
}

/** Sentence in three parts: the words before a change, the changed words, and the words after it. */
type MarkedWord = readonly [before: string, changed: string, after: string];

/**
 * Marks the words in which a sentence differs from the most similar one of other sentences. If it shares less than half
 * of its words with each of them, the whole sentence is marked.
 */
export function markChange(text: string, others: readonly string[]): MarkedWord {
  const words = text.split(/(?<= )/);
  let best: readonly [start: number, end: number] = [0, words.length];
  for (const other of others) {
    const otherWords = other.split(/(?<= )/);
    const sharedCount = Math.min(words.length, otherWords.length);
    let start = 0;
    while (start < sharedCount && words[start] === otherWords[start]) start++;
    let after = 0;
    while (after < sharedCount - start && words.at(-1 - after) === otherWords.at(-1 - after)) after++;
    if (start + after > words.length - (best[1] - best[0])) best = [start, words.length - after];
  }
  const [start, end] = 2 * (best[1] - best[0]) > words.length ? [0, words.length] : best;
  return [words.slice(0, start).join(''), words.slice(start, end).join(''), words.slice(end).join('')];
}

/** A field in which two versions of a document differ. */
export interface DifferingField {
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
export function listChangedFields({ base, mine, theirs }: Versions): readonly DifferingField[] {
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
export const findSide = ({ path, by }: DifferingField, chosen: ReadonlyMap<string, Side>): Side | null =>
  chosen.get(formatPath(path)) ?? (by === 'both' ? null : by === 'you' ? 'mine' : 'theirs');

/**
 * Returns the other user's version with this user's values in the selected fields. Returns null while a selection is
 * missing.
 */
export function resolveChange(
  theirs: JsonObject,
  fields: readonly DifferingField[],
  chosen: ReadonlyMap<string, Side>,
): JsonObject | null {
  if (fields.some((field) => findSide(field, chosen) === null)) return null;
  return fields
    .filter((field) => findSide(field, chosen) === 'mine')
    .reduce<JsonObject>((all, { path, mine }) => addValue(all, path, mine) as JsonObject, theirs); // replacing a member of an object returns an object
}

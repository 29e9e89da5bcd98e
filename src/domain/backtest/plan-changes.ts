import { listClosures, type SessionChange } from '../calendars/closures.js';
import { toCanonicalJson } from '../json/canonical-json.js';
import type { IndexDocument } from '../documents/index-document.js';
import { listReferences } from '../checks/validate-reference.js';
import { formatFieldName } from '../catalogue/type-spec.js';
import type { BacktestPlan } from '../documents/backtest-plan.js';

/** Plan with the original request. */
export interface RequestedPlan {
  readonly plan: BacktestPlan;
  /** Request as a client sent it; absent if it was not stored. */
  readonly asked?: unknown;
}

/**
 * Describes the differences between the definitions of two plans with the same id, one sentence each. Returns an empty
 * list if only the requests differ. A benchmark that only one plan has counts as a difference of the requests.
 */
export function listDefinitionChanges(before: RequestedPlan, after: RequestedPlan): string[] {
  return [
    ...listDocumentChanges(before.plan, after.plan),
    ...listCalendarChanges(before.plan, after.plan),
    ...listModelChanges(before.plan, after.plan),
    ...listStrategyChanges(before, after),
  ];
}

/**
 * Removes the labels of the documents of a plan, which have no effect on a run: tags, descriptions and names. The name
 * of the index that is run stays, because the run stores it.
 */
export const removeLabels = (plan: BacktestPlan): BacktestPlan => ({
  ...plan,
  documents: Object.fromEntries(
    Object.entries(plan.documents).map(([id, document]) => [
      id,
      { ...document, name: id === plan.runId ? document.name : '', description: null, tags: [] },
    ]),
  ),
});

/** Returns true if two plans have the same request, ignoring the end date. */
export function isSameRequest({ request: before }: BacktestPlan, { request: after }: BacktestPlan): boolean {
  return isSame({ ...before, end: null }, { ...after, end: null });
}

function listDocumentChanges(before: BacktestPlan, after: BacktestPlan): string[] {
  const changes = Object.keys(before.documents)
    .toSorted()
    .flatMap((id) => {
      const [was, is] = [removeClosures(before.documents[id]!), removeClosures(after.documents[id])];
      return is === undefined || isSame(was, is)
        ? []
        : [
            `The index ${id} changed since this run: ${joinTexts(listChangedFields(spreadPipeline(was), spreadPipeline(is)))}.`,
          ];
    });
  const isOther = before.indexId !== after.indexId || !isSame(listReachedIndices(before), listReachedIndices(after));
  if (changes.length > 0 || !isOther) return changes;
  return [
    `The indices that the run depends on changed from ${joinTexts(listReachedIndices(before))} to ${joinTexts(listReachedIndices(after))}.`,
  ];
}

const removeClosures = <T extends IndexDocument | undefined>(document: T): T =>
  document && { ...document, closures: undefined };

/** Returns the members of a document with the parts of its pipeline in place of the pipeline. */
const spreadPipeline = ({ pipeline, ...document }: IndexDocument): object => ({ ...document, ...pipeline });

/** Maximum number of changed days in a sentence. */
const LISTED_DAYS_MAX = 5;

/** Describes the calendars whose recorded session changes differ between the plans. */
function listCalendarChanges({ documents: before }: BacktestPlan, { documents: after }: BacktestPlan): string[] {
  const [was, is] = [listClosures(before), listClosures(after)];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].toSorted().flatMap((code) => {
    const days = listChangedDays(was[code]?.changes ?? [], is[code]?.changes ?? []);
    if (days.length === 0) return [];
    const moreText = days.length > LISTED_DAYS_MAX ? ` and ${days.length - LISTED_DAYS_MAX} more` : '';
    return [`The calendar ${code} changed since this run: ${joinTexts(days.slice(0, LISTED_DAYS_MAX))}${moreText}.`];
  });
}

/** Returns the dates of changes that only one of two lists has. Reasons and hours have no effect on a run. */
function listChangedDays(before: readonly SessionChange[], after: readonly SessionChange[]): string[] {
  const formatEffect = ({ date, session }: SessionChange) => `${date} ${session}`;
  const [effectsBefore, effectsAfter] = [new Set(before.map(formatEffect)), new Set(after.map(formatEffect))];
  const sessionChanges = [
    ...before.filter((change) => !effectsAfter.has(formatEffect(change))),
    ...after.filter((change) => !effectsBefore.has(formatEffect(change))),
  ];
  return [...new Set(sessionChanges.map(({ date }) => date))].toSorted();
}

/** Describes stored risk models of both plans that were re-estimated. */
function listModelChanges({ models: before = {} }: BacktestPlan, { models: after = {} }: BacktestPlan): string[] {
  return Object.keys(before)
    .toSorted()
    .flatMap((id) =>
      after[id] === undefined || isSame(before[id], after[id]) ? [] : [`The risk model ${id} changed since this run.`],
    );
}

/** Returns the ids of the tracked index and of every index on which it depends. */
function listReachedIndices({ indexId, documents }: BacktestPlan): string[] {
  const reachedIds: string[] = [];
  const visitIndex = (id: string): void => {
    if (reachedIds.includes(id)) return;
    reachedIds.push(id);
    const document: IndexDocument | undefined = documents[id];
    if (document !== undefined) for (const next of listReferences(document)) visitIndex(next);
  };
  visitIndex(indexId);
  return reachedIds;
}

/**
 * Describes the changes of a strategy: its name, its terms and its defaults. A default changed if the client sent the
 * same request twice but the resolved requests differ.
 */
function listStrategyChanges(before: RequestedPlan, after: RequestedPlan): string[] {
  const { runId, strategy: was } = before.plan;
  const { strategy: is } = after.plan;
  if (was === undefined && is === undefined) return [];
  if (was === undefined || is === undefined)
    return [`${runId} was ${was ? 'a strategy' : 'an index'}; it is ${is ? 'a strategy' : 'an index'}.`];
  const isAskedAgain = before.asked !== undefined && isSame(before.asked, after.asked ?? null);
  const changedDefaults = isAskedAgain ? listChangedFields(before.plan.request, after.plan.request) : [];
  const name = before.plan.name === after.plan.name ? [] : ['name'];
  const fields = [...name, ...listChangedFields(was, is), ...changedDefaults];
  return fields.length === 0 ? [] : [`The strategy ${runId} changed since this run: ${joinTexts(fields)}.`];
}

/** Returns the names of the fields that differ, in alphabetical order. */
function listChangedFields(before: object, after: object): string[] {
  const fieldsBefore = new Map<string, unknown>(Object.entries(before));
  const fieldsAfter = new Map<string, unknown>(Object.entries(after));
  return [...new Set([...fieldsBefore.keys(), ...fieldsAfter.keys()])]
    .filter((field) => !isSame(fieldsBefore.get(field), fieldsAfter.get(field)))
    .map(formatFieldName)
    .toSorted();
}

function isSame(a: unknown, b: unknown): boolean {
  return toCanonicalJson(a ?? null) === toCanonicalJson(b ?? null);
}

const joinTexts = (texts: readonly string[]): string => texts.join(', ');

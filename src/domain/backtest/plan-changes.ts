import { canonicalJson } from '../json/canonical-json.js';
import type { IndexDocument } from '../documents/index-document.js';
import { referencesOf } from '../checks/validate-reference.js';
import type { BacktestPlan } from '../documents/backtest-plan.js';

/** A plan with the request that it was made for. */
export interface AskedPlan {
  readonly plan: BacktestPlan;
  /** As a client sent it; absent where that was not remembered. */
  readonly asked?: unknown;
}

/**
 * What differs in the definitions of two plans of one id, a sentence each; nothing where only the request does. A
 * benchmark that only one of the requests names is part of the request.
 */
export function definitionChanges(before: AskedPlan, now: AskedPlan): string[] {
  return [
    ...documentChanges(before.plan, now.plan),
    ...modelChanges(before.plan, now.plan),
    ...strategyChanges(before, now),
  ];
}

/** Whether two plans ask for the same, whatever the end. */
export function isSameRequest({ request: before }: BacktestPlan, { request: now }: BacktestPlan): boolean {
  return isSame({ ...before, end: null }, { ...now, end: null });
}

function documentChanges(before: BacktestPlan, now: BacktestPlan): string[] {
  const changes = Object.keys(before.documents)
    .toSorted()
    .flatMap((id) => {
      const [was, is] = [before.documents[id]!, now.documents[id]];
      return is === undefined || isSame(was, is)
        ? []
        : [`The index ${id} is not that of the run: ${list(changedFields(was, is))}.`];
    });
  const isOther = before.indexId !== now.indexId || !isSame(reachOf(before), reachOf(now));
  if (changes.length > 0 || !isOther) return changes;
  return [`The run reached the indices ${list(reachOf(before))}; now it would reach ${list(reachOf(now))}.`];
}

/** Stored risk models of both plans that were estimated again. */
function modelChanges({ models: before = {} }: BacktestPlan, { models: now = {} }: BacktestPlan): string[] {
  return Object.keys(before)
    .toSorted()
    .flatMap((id) =>
      now[id] === undefined || isSame(before[id], now[id]) ? [] : [`The risk model ${id} is not that of the run.`],
    );
}

/** Ids of the tracked index and of every index that it leads to. */
function reachOf({ indexId, documents }: BacktestPlan): string[] {
  const reached: string[] = [];
  const reach = (id: string): void => {
    if (reached.includes(id)) return;
    reached.push(id);
    const document: IndexDocument | undefined = documents[id];
    if (document !== undefined) for (const next of referencesOf(document)) reach(next);
  };
  reach(indexId);
  return reached;
}

/** The terms of a strategy: those of its plan, and those that fill in a request. */
function strategyChanges(before: AskedPlan, now: AskedPlan): string[] {
  const { runId, strategy: was } = before.plan;
  const { strategy: is } = now.plan;
  if (was === undefined && is === undefined) return [];
  if (was === undefined || is === undefined)
    return [`${runId} was ${was ? 'a strategy' : 'an index'}; it is ${is ? 'a strategy' : 'an index'}.`];
  const isAskedAgain = before.asked !== undefined && isSame(before.asked, now.asked ?? null);
  const filledIn = isAskedAgain ? changedFields(before.plan.request, now.plan.request) : [];
  const name = before.plan.name === now.plan.name ? [] : ['name'];
  const fields = [...name, ...changedFields(was, is), ...filledIn];
  return fields.length === 0 ? [] : [`The strategy ${runId} is not that of the run: ${list(fields)}.`];
}

/** Fields that differ, in the order of their names. */
function changedFields(before: object, now: object): string[] {
  const was = new Map<string, unknown>(Object.entries(before));
  const is = new Map<string, unknown>(Object.entries(now));
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((field) => !isSame(was.get(field), is.get(field)))
    .toSorted();
}

function isSame(a: unknown, b: unknown): boolean {
  return canonicalJson(a ?? null) === canonicalJson(b ?? null);
}

const list = (texts: readonly string[]): string => texts.join(', ');

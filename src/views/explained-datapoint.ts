import type { IndexExplanation } from '#contract/indices/explanation.js';
import type { ExplainedDatapoint } from '#domain/rules/explain.js';

/** A datapoint of an explanation; from when on it can be known matters where it is not. */
export function toExplainedDatapoint({
  path,
  field,
  value,
  read: { knownFrom, ...read },
}: ExplainedDatapoint): IndexExplanation['datapoints'][number] {
  return { path, field, value, ...read, known_from: value === null ? knownFrom : null };
}

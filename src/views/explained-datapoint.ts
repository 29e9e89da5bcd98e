import type { IndexExplanation } from '#contract/indices/explanation.js';
import type { ExplainedDatapoint } from '#domain/rules/explain.js';

/** Returns a datapoint of an explanation. If its value is missing, the date from which it can be known is included. */
export function toExplainedDatapoint({
  path,
  field,
  value,
  read: { knownFrom, ...read },
}: ExplainedDatapoint): IndexExplanation['datapoints'][number] {
  return { path, field, value, ...read, known_from: value === null ? knownFrom : null };
}

import type { IndexExplanation } from '#contract/indices/explanation.js';
import type { ExplainedDatapoint } from '#domain/rules/explain.js';

/**
 * Converts a datapoint of an explanation to its form in the API. A missing value is returned with the date from which
 * it can be known.
 */
export function toExplainedDatapoint({
  path,
  field,
  value,
  read: { knownFrom, ...read },
}: ExplainedDatapoint): IndexExplanation['datapoints'][number] {
  return { path, field, value, ...read, known_from: value === null ? knownFrom : null };
}

import type { IndexExplanation } from '#contract/indices/explanation.js';
import type { ExplainedDatapoint } from '#domain/rules/explain.js';

/**
 * Converts a datapoint of an explanation to the format of the API. If its value is missing, the result contains the
 * date from which a value can be known.
 */
export function toExplainedDatapoint({
  path,
  field,
  value,
  read: { knownFrom, ...read },
}: ExplainedDatapoint): IndexExplanation['datapoints'][number] {
  return { path, field, value, ...read, known_from: value === null ? knownFrom : null };
}

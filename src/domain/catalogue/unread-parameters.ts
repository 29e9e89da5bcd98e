import type { z } from 'zod';
import { keepSmallValue, type Finding } from '../refusals/findings.js';
import { formatPath } from '../schema/shape.js';
import { createParameterSpecs, type Condition } from './type-spec.js';

/** Parameter that has an effect only with some values of other parameters. */
interface ConditionalParameter {
  readonly name: string;
  readonly when: readonly Condition[];
  readonly usual: unknown;
}

const conditionalBySchema = new WeakMap<z.ZodObject, readonly ConditionalParameter[]>();

/**
 * Reports parameters that differ from their default but have no effect in combination with other parameters. The schema
 * declares by `when` on which parameters an effect depends.
 * @param values Values parsed by the schema.
 * @param path Path of the values, as the client wrote it.
 */
export function reportUnreadParameters(
  schema: z.ZodObject,
  values: Readonly<Record<string, unknown>>,
  path: string,
): Finding[] {
  return listConditional(schema).flatMap(({ name, when, usual }): Finding[] => {
    const value = values[name];
    if (JSON.stringify(value) === JSON.stringify(usual)) return [];
    const opposingParameter = findFirstAgainst(when, values);
    if (opposingParameter === undefined) return [];
    const field = formatPath(path, [name]);
    const message = `${field} has no effect if ${opposingParameter} is ${String(values[opposingParameter])}.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', message, path: field, ...keepSmallValue(value) }];
  });
}

function listConditional(schema: z.ZodObject): readonly ConditionalParameter[] {
  const entry = conditionalBySchema.get(schema);
  if (entry !== undefined) return entry;
  const conditionalParameters = createParameterSpecs(schema).flatMap(({ name, when, default: usual }) =>
    when === null ? [] : [{ name, when, usual }],
  );
  conditionalBySchema.set(schema, conditionalParameters);
  return conditionalParameters;
}

/**
 * Returns a parameter that violates a condition. Of several conditions, chooses the one that is closest to being met.
 * Returns undefined if a condition is met.
 */
function findFirstAgainst(when: readonly Condition[], values: Readonly<Record<string, unknown>>): string | undefined {
  let furthest = -1;
  let opposingField: string | undefined;
  for (const condition of when) {
    const names = Object.keys(condition);
    const failingIndex = names.findIndex((name) => !condition[name]!.includes(String(values[name])));
    if (failingIndex < 0) return undefined;
    if (failingIndex > furthest) [furthest, opposingField] = [failingIndex, names[failingIndex]];
  }
  return opposingField;
}

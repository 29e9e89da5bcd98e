import { expect, test } from 'vitest';
import { z } from 'zod';
import { API } from '#contract/api.js';
import { defineQuery, type Route } from '#contract/route.js';
import { CONSTRAINT_CLASSES } from '#domain/definition/constraints.js';
import { ConstraintSet } from '#domain/definition/constraint-sets.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { StrategyDocument } from '#domain/definition/strategies.js';
import { SELECTION_CLASSES } from '#domain/definition/rule-pipeline.js';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';

interface Form {
  readonly check?: string;
  readonly format?: string;
  readonly pattern?: RegExp;
  readonly error?: unknown;
}

/** Returns the string formats of a schema that have no description. Clients would see only a regular expression. */
function listUndescribedFormats(schema: z.ZodType): string[] {
  const results: string[] = [];
  const overrideSchema = ({ zodSchema }: { readonly zodSchema: z.core.$ZodTypes }): void => {
    const { def } = zodSchema._zod;
    const checks = (def.checks ?? []).map((check) => check._zod.def as Form);
    for (const { check, format, pattern, error } of [def as Form, ...checks])
      if (check === 'string_format' && error === undefined) results.push(`${format}: ${String(pattern)}`);
  };
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override: overrideSchema });
  return results;
}

test('an invalid value is described in words, never as a regular expression', () => {
  const routes: readonly Route[] = Object.values(API);
  const sentSchemas = [
    ...routes.flatMap((route) => [route.body?.schema, route.params, defineQuery(route)]),
    IndexDocument,
    StrategyDocument,
    ConstraintSet,
    ...[...SELECTION_CLASSES, ...WEIGHTING_CLASSES, ...CONSTRAINT_CLASSES].map(({ params }) => params),
  ].filter((schema) => schema !== undefined);
  expect(sentSchemas.length).toBeGreaterThan(100);
  expect([...new Set(sentSchemas.flatMap(listUndescribedFormats))]).toEqual([]);
  expect(listUndescribedFormats(z.strictObject({ day: z.array(z.string().regex(/^x$/)) }))).toEqual(['regex: /^x$/']);
});

import { expect, test } from 'vitest';
import { type CatalogueEntry, createTypeSpec } from '#domain/definition/catalogue.js';
import { CONSTRAINT_CLASSES } from '#domain/definition/constraints.js';
import { RETURNS_CLASSES } from '#domain/definition/expected-returns.js';
import { OBJECTIVE_CLASSES } from '#domain/definition/objectives.js';
import { SELECTION_CLASSES } from '#domain/definition/rule-pipeline.js';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';
import { expressionFilter } from '#domain/definition/selection-filters.js';

const ENTRIES: readonly CatalogueEntry[] = [
  ...SELECTION_CLASSES,
  ...WEIGHTING_CLASSES,
  ...CONSTRAINT_CLASSES,
  ...OBJECTIVE_CLASSES,
  ...RETURNS_CLASSES,
];

const parameters = ENTRIES.flatMap((entry) =>
  createTypeSpec(entry).parameters.map((spec) => ({ entry, spec, name: `${entry.type}.${spec.name}` })),
);
const isAccepted = ({ entry, spec }: (typeof parameters)[number], value: unknown): boolean =>
  (entry.params.shape[spec.name] as { safeParse(given: unknown): { success: boolean } }).safeParse(value).success;

/** Texts that a text parameter accepts: a column or a day. */
const TEXTS = ['SECTOR', '2024-01-02'];

test('a parameter that is declared as a text takes one, and one that is declared as JSON takes none', () => {
  for (const parameter of parameters) {
    const { type, choices } = parameter.spec;
    if (type === 'string')
      expect([parameter.name, (choices ?? TEXTS).some((text) => isAccepted(parameter, text))]).toEqual([
        parameter.name,
        true,
      ]);
    // A `json` parameter that may have any value accepts numbers and strings. Every other one refuses strings.
    if (type === 'json' && !isAccepted(parameter, 1))
      expect([parameter.name, TEXTS.some((text) => isAccepted(parameter, text))]).toEqual([parameter.name, false]);
  }
});

test('an expression is declared as the type that it is parsed from', () => {
  const spec = createTypeSpec(expressionFilter).parameters.find(({ name }) => name === 'expression')!;
  const takesText = expressionFilter.params.shape.expression.safeParse('CLOSE > 1').success;
  expect(spec).toMatchObject({ type: takesText ? 'string' : 'json', ref: 'ExpressionNode' });
});

import { describe, expect, test } from 'vitest';
import type { ParameterSpec } from '#domain/definition/catalogue.js';
import { createDefinitionFields, DerivationPayload, IndexDocument } from '#domain/definition/index-document.js';
import { RebalanceSpec, validateRebalance } from '#domain/definition/schedule.js';
import type { Finding } from '#domain/base/findings.js';

const fields = createDefinitionFields();

/** Returns true if a field is used when the other fields have these values. */
const isRead = ({ when }: ParameterSpec, values: Readonly<Record<string, unknown>>): boolean =>
  when === null ||
  when.some((all) => Object.entries(all).every(([name, texts]) => texts.includes(String(values[name]))));

describe('the fields of a definition', () => {
  test('have the defaults that a document without them is stored with', () => {
    const document = IndexDocument.parse({
      id: 'A',
      name: 'A',
      calendar: 'XNYS',
      base_date: '2024-01-02',
      universe: {},
      events: {},
      pipeline: { weighting: { type: 'EqualWeight' } },
    });
    const derivation = DerivationPayload.parse({ source_index_id: 'P' });
    const { universe, events, rebalance, pipeline } = document;
    const parts = { index: document, universe, events, rebalance, reviews: document, derivation, ...pipeline };
    for (const [part, specs] of Object.entries(fields) as [keyof typeof fields, readonly ParameterSpec[]][])
      for (const { name, required, default: otherwise = null } of specs.filter((spec) => !spec.required))
        expect([part, name, required, (parts[part] as Record<string, unknown>)[name] ?? null]).toEqual([
          part,
          name,
          false,
          otherwise,
        ]);
  });

  test('are read wherever a schedule needs them, and only with values of their choices', () => {
    const { frequency, anchor } = RebalanceSpec.shape;
    for (const cadence of frequency.unwrap().options)
      for (const day of anchor.unwrap().options) {
        const rebalance = RebalanceSpec.parse({ frequency: cadence, anchor: day });
        const findings = validateRebalance(rebalance, '');
        const listPaths = (level: Finding['severity']) =>
          findings.flatMap(({ severity, path }) => (severity === level ? [path.replace(/^\./, '')] : []));
        const readNames = fields.rebalance.filter((spec) => isRead(spec, rebalance)).map(({ name }) => name);
        expect(readNames).toEqual(expect.arrayContaining(listPaths('error')));
        expect(readNames.filter((name) => listPaths('warning').includes(name))).toEqual([]);
      }
    for (const specs of Object.values(fields) as (readonly ParameterSpec[])[])
      for (const { name, when } of specs)
        for (const [other, values] of (when ?? []).flatMap((all) => Object.entries(all)))
          expect([name, specs.find((spec) => spec.name === other)?.choices]).toEqual([
            name,
            expect.arrayContaining([...values]),
          ]);
  });
});

import { expect, test } from 'vitest';
import { reportAssumptions } from '#domain/definition/index-validation.js';
import { IndexDocument, TreatmentSpec } from '#domain/definition/index-document.js';
import { buildMarket } from '../backtest/market-builder.js';

test('prices of securities without a currency are in that of the index that holds them, not of an overlay on it', () => {
  const fields = { calendar: 'MAIN', base_date: '2024-01-02' };
  const ruleFields = { ...fields, pipeline: { weighting: { type: 'EqualWeight' } } };
  const overlay = { ...fields, kind: 'overlay' as const, overlay: { type: 'currency', to: 'EUR' }, currency: 'EUR' };
  const documents = new Map(
    [
      { ...ruleFields, id: 'W', name: 'W', currency: 'GBP' },
      { ...overlay, id: 'E', name: 'E', source_index_id: 'W' },
      { ...overlay, id: 'EE', name: 'EE', source_index_id: 'E' },
    ].map((body) => [body.id, IndexDocument.parse(body)]),
  );
  const market = buildMarket({ dates: ['2024-01-02'], close: { A: [1] } });
  const listAssumptions = (id: string) =>
    reportAssumptions({
      document: documents.get(id)!,
      treatment: TreatmentSpec.parse({}),
      market,
      indexOf: (other) => documents.get(other),
    }).map(({ code, value, message }) => [code, value, message.split('the currency of ')[1]]);
  expect(listAssumptions('W')).toEqual([['CURRENCY_ASSUMED', 'GBP', 'the index.']]);
  for (const id of ['E', 'EE'])
    expect(listAssumptions(id)).toEqual([['CURRENCY_ASSUMED', 'GBP', 'the underlying index W.']]);
});

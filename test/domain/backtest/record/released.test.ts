import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createRunColumns, openColumns, readRecord } from '#domain/backtest/run-file/columns.js';
import { encodeRecord } from '#views/json/record.js';
import { BacktestResultSummary } from '#contract/analytics/record.js';
import { buildMarket, createWeekdayCalendars } from '../market-builder.js';
import { runOn } from '../random-run.js';
import { createDocument } from '../../index-document.js';

const STAMP = { runAt: '2026-01-01T00:00:00+00:00', runHash: 'h', storeContentHash: 's', engineVersion: '0' };
/** Versions with a stored shape of their records. */
const VERSIONS = ['0.2.0', '0.4.0'];

/** Members by name. The members of a list are the members of its items; null means a value without members. */
type Shape = { readonly [member: string]: Shape } | null;

/** Returns the members of a shape such as `{days:numbers,snapshots:[{date:json}]}`. */
function parseShape(text: string): Shape {
  return JSON.parse(
    text
      .replaceAll(/[[\]]/g, '')
      .replaceAll(/\w+(?=:)/g, '"$&"')
      .replaceAll(/:\w+/g, ':null'),
  ) as Shape;
}

function selectMembers(packedValue: unknown, shape: Shape): unknown {
  const isWhole = shape === null || packedValue === null || Object.hasOwn(packedValue as object, 'portfolioRows');
  if (isWhole) return packedValue;
  if (Array.isArray(packedValue)) return packedValue.map((item) => selectMembers(item, shape));
  return Object.fromEntries(
    Object.entries(packedValue as object).flatMap(([member, value]) =>
      member in shape ? [[member, selectMembers(value, shape[member]!)]] : [],
    ),
  );
}

test.each(VERSIONS)(
  'a record with only the fields of version %s is read and served with the members of today',
  (version) => {
    const shapes = JSON.parse(readFileSync(`test/golden/record-${version}/shape.json`, 'utf8')) as {
      readonly plain: string;
      readonly rest: string;
    };
    const dates = ['2024-01-01', '2024-01-02', '2024-01-03', '2024-01-04'];
    const market = buildMarket({
      dates,
      close: { A: [10, 11, null, 13], B: [20, 19, 18, 19], MARK: [7, 7, 8, 9] },
    });
    const document = createDocument({
      base_date: dates[0],
      rebalance: { frequency: 'daily' },
      universe: { kind: 'list', identifiers: ['A', 'B'] },
    });
    const benchmark = { id: 'MARK', kind: 'identifier', price_column: 'CLOSE' } as const;
    const run = runOn(createWeekdayCalendars({ MAIN: { from: dates[0]!, to: '2024-01-31' } }), market, document, {
      benchmark,
    });
    const bytes = createRunColumns(run, { contentHash: 's' });
    const columns = openColumns((start, end) => bytes.slice(start, end));
    const storedRecord = JSON.parse(new TextDecoder().decode(columns.u8('record'))) as Record<
      'plain' | 'rest',
      unknown
    >;
    const releasedShape = {
      ...storedRecord,
      plain: selectMembers(storedRecord.plain, parseShape(shapes.plain)),
      rest: selectMembers(storedRecord.rest, parseShape(shapes.rest)),
    };
    const record = readRecord({
      ...columns,
      u8: (name, ...range) =>
        name === 'record' ? new TextEncoder().encode(JSON.stringify(releasedShape)) : columns.u8(name, ...range),
    });
    const servedRecord: unknown = JSON.parse(new TextDecoder().decode(encodeRecord(record, STAMP)));
    expect(
      BacktestResultSummary.omit({ stale: true, index_version: true, store_id: true }).safeParse(servedRecord).error,
    ).toBeUndefined();
  },
);

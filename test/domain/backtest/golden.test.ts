import { computeDrawdown, computeReturns } from '#domain/analytics/returns.js';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { formatDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { buildMarket, type ActionSketch } from './market-builder.js';
import { createPlainDecider } from './test-deciders.js';

const fixture = JSON.parse(
  readFileSync(new URL('../../../../test/golden/backtest/four-names.json', import.meta.url), 'utf8'),
);

function listTable(name: string): Record<string, unknown>[] {
  const { columns, data } = fixture.import.tables[name];
  return data.map((row: unknown[]) => Object.fromEntries(columns.map((column: string, i: number) => [column, row[i]])));
}

function runGolden(variant: 'price' | 'total'): Run {
  const rows = listTable('market');
  const dates = [...new Set(rows.map((row) => row['date'] as string))];
  const names = [...new Set(rows.map((row) => row['identifier'] as string))];
  const createPanel = (field: string) =>
    Object.fromEntries(
      names.map((name) => [
        name,
        dates.map((date) => rows.find((row) => row['identifier'] === name && row['date'] === date)![field] as number),
      ]),
    );
  const actions = listTable('corporate_actions').map((row): ActionSketch => ({
    name: row['identifier'] as string,
    type: row['type'] as ActionSketch['type'],
    value: row['value'] as number,
    ex: row['ex_date'] as string,
  }));
  const market = buildMarket({
    dates,
    close: createPanel('CLOSE'),
    fields: { SHARES_OUTSTANDING: createPanel('SHARES_OUTSTANDING') },
    actions,
  });
  const document = IndexDocument.parse({
    ...fixture.index,
    pipeline: { ...fixture.index.pipeline, treatment: { ...fixture.index.pipeline.treatment, dividends: variant } },
  });
  return runBacktest({
    market,
    calendars: openCalendars(),
    createDecider: createPlainDecider,
    report: () => {},
    plan: {
      runId: document.id,
      name: document.name,
      indexId: document.id,
      documents: { [document.id]: document },
      request: { benchmark: null, ...fixture.backtest },
    },
  });
}

function close(actual: ArrayLike<number>, expected: readonly number[]): void {
  expect(actual.length).toBe(expected.length);
  expected.forEach((value, i) =>
    expect(Math.abs(actual[i]! - value)).toBeLessThanOrEqual(1e-10 * Math.max(1, Math.abs(value))),
  );
}

describe.each(['price', 'total'] as const)(
  'the four-name index in %s return equals the separate calculation',
  (variant) => {
    const run = runGolden(variant);
    const expected = fixture.expected[variant];

    test('levels of index, uncapped index and portfolio', () => {
      close(run.index.book.value, expected.index_level);
      close(run.uncapped!().value, expected.uncapped_index_level);
      close(run.level, expected.level);
      close(run.portfolio.value, expected.nav);
    });

    test('returns, drawdown and metrics', () => {
      close(computeReturns(run.level), expected.returns);
      close(computeDrawdown(run.level), expected.drawdown);
      close(
        Object.keys(expected.metrics).map((name) => run.metrics[name as keyof typeof run.metrics]!),
        Object.values(expected.metrics),
      );
      close([run.totalCosts], [expected.total_costs]);
    });

    test('compositions at both rebalances', () => {
      const { identifiers } = run.index.compositions.sm;
      expect(run.rebalances.map(({ date }) => formatDay(date))).toEqual(Object.keys(expected.rebalances));
      for (const { date, columns, weights, uncapped, capped, redistributed } of run.rebalances) {
        const decidedWeights = expected.rebalances[formatDay(date)];
        expect([...columns].map((column) => identifiers[column])).toEqual(Object.keys(decidedWeights.w));
        close(weights, Object.values(decidedWeights.w));
        close(uncapped, Object.values(decidedWeights.raw));
        expect([...capped].map((column) => identifiers[column])).toEqual(decidedWeights.capped);
        close([redistributed], [decidedWeights.redistributed]);
      }
    });
  },
);

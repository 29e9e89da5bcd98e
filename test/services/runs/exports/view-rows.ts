import { describe, expect, test } from 'vitest';
import { expectRows, IDS, readJson, formatPath, service, type Cell, type Row } from './set-up.js';

const listFrame = ({ index, columns, data }: { index: string[]; columns: string[]; data: Cell[][] }): Row[] =>
  data.map((row, i) => ({ date: index[i]!, ...Object.fromEntries(columns.map((column, c) => [column, row[c]!])) }));

export function describeViewRows(): void {
  describe.each(IDS)('the rows of %s are those of its views', (id) => {
    test('levels', async () => {
      const rows = await readJson({ id, table: 'levels' });
      const { result } = await service.job<Record<string, { index: string[]; data: number[] }>>(
        `/analytics/${id}/backtest`,
        id === 'LAZY' ? {} : { transaction_cost_bps: 7, ...(id === 'HEDGED' ? { start: '2020-02-03' } : {}) },
      );
      const listColumn = (name: string): Cell[] => rows.map((row) => row[name]!);
      expect(listColumn('date')).toEqual(result['level']!.index);
      expect(listColumn('level')).toEqual(result['level']!.data);
      expect(listColumn('index_level')).toEqual(result['index_level']!.data);
      expect(listColumn('return')).toEqual([null, ...result['returns']!.data]);
      expect(listColumn('drawdown')).toEqual(result['drawdown']!.data);
      const firstDate = String(rows[0]!['date']);
      for (const variant of ['price', 'total', 'net']) {
        const view = await service.ok<{ levels: { data: number[] }; divisor: { data: number[] } }>(
          'GET',
          `/analytics/${id}/levels?variant=${variant}&start=${firstDate}`,
        );
        expect(listColumn(variant)).toEqual(view.levels.data);
        if (variant === 'total') expect(listColumn('divisor')).toEqual(view.divisor.data);
      }
      const costs = listColumn('costs').reduce((sum: number, cost) => sum + Number(cost), 0);
      expect(costs).toBeCloseTo(result['total_costs'] as unknown as number, 6);
    });

    test('weights', async () => {
      const rows = await readJson({ id, table: 'weights' });
      const { portfolio } = await service.ok<{ portfolio: { weights: Parameters<typeof listFrame>[0] } }>(
        'GET',
        `/analytics/${id}/record`,
      );
      const list = listFrame(portfolio.weights).flatMap(({ date, ...weights }) =>
        Object.entries(weights).flatMap(([identifier, weight]) => (weight === 0 ? [] : [{ date, identifier, weight }])),
      );
      const firstDate = portfolio.weights.index[0]!;
      const heldNames = rows
        .filter((row) => String(row['date']) >= firstDate && row['portfolio_weight'] !== 0)
        .map(({ date, identifier, portfolio_weight: weight }) => ({ date, identifier, weight }));
      expectRows(
        heldNames as Row[],
        list.toSorted((a, b) => (`${a.date} ${a.identifier}` < `${b.date} ${b.identifier}` ? -1 : 1)) as Row[],
      );
      const earlyDate = String(rows[0]!['date']);
      expect(earlyDate < firstDate).toBe(id !== 'HEDGED');
      for (const date of [earlyDate, '2020-06-19', '2021-03-19']) {
        const view = await service.ok<{ weights: { identifier: string; weight: number }[] }>(
          'GET',
          `/analytics/${id}/weights?as_of=${date}`,
        );
        const shownRows = rows.flatMap((row) => {
          const weight = row['weight']!;
          if (id !== 'LAZY') expect(row['index_weight']).toBe(weight);
          return row['date'] === date && weight !== 0 ? [[row['identifier'], weight]] : [];
        });
        expect(new Map(shownRows as [string, number][])).toEqual(
          new Map(view.weights.map(({ identifier, weight }) => [identifier, weight])),
        );
      }
      expect(rows.every((row) => (row['index_weight'] === null) === (id === 'LAZY'))).toBe(true);
    });

    test('constituents', async () => {
      const rows = await readJson({ id, table: 'constituents' });
      const { weights } = await service.ok<{ weights: { identifier: string; weight: number; raw_weight: number }[] }>(
        'GET',
        `/analytics/${id}/weights`,
      );
      const byName = new Map(weights.map((row) => [row.identifier, row]));
      expect(rows.map((row) => row['identifier'])).toEqual([...byName.keys()].toSorted());
      const { portfolio } = await service.ok<{ portfolio: { positions: Parameters<typeof listFrame>[0] } }>(
        'GET',
        `/analytics/${id}/record`,
      );
      const { columns, data } = portfolio.positions;
      const last = data.at(-1)![columns.indexOf('date')];
      const positions = data.filter((row) => row[columns.indexOf('date')] === last);
      const { entries } = await service.ok<{ entries: { identifier: string; fields: Record<string, Cell> }[] }>(
        'GET',
        `/data/reference?identifiers=${[...byName.keys()].join(',')}&fields=NAME,SECTOR,COUNTRY,CURRENCY`,
      );
      for (const row of rows) {
        const view = byName.get(String(row['identifier']))!;
        expect([row['weight'], row['uncapped_weight']]).toEqual([view.weight, view.raw_weight]);
        const position = positions.find((one) => one[columns.indexOf('asset_id')] === row['identifier'])!;
        expect([row['shares'], row['price'], row['value']]).toEqual(
          ['units', 'price', 'value'].map((name) => position[columns.indexOf(name)]),
        );
        const { fields } = entries.find(({ identifier }) => identifier === row['identifier'])!;
        expect([row['name'], row['sector'], row['country'], row['currency']]).toEqual([
          fields['NAME'],
          fields['SECTOR'],
          fields['COUNTRY'],
          fields['CURRENCY'],
        ]);
      }
      expect(
        (await service.ask('GET', formatPath({ id, table: 'constituents', query: '&end=2018-01-01' }, 'csv'))).status,
      ).toBe(422);
    });

    test('trades and rebalances', async () => {
      const { portfolio, index } = await service.ok<{
        portfolio: { transactions: Parameters<typeof listFrame>[0]; nav: { index: string[]; data: number[] } };
        index: Record<
          'target' | 'optimised',
          { rebalances: { date: string; announced: string | null; weights: Row }[] } | null
        >;
      }>('GET', `/analytics/${id}/record`);
      const { columns, data } = portfolio.transactions;
      const list = data.map((row) => Object.fromEntries(columns.map((column, c) => [column, row[c]!])));
      const trades = await readJson({ id, table: 'trades' });
      expect(
        trades.map(({ date, identifier, side, value, cost, reason }) => ({
          date,
          identifier,
          side,
          value,
          cost,
          reason,
        })),
      ).toEqual(
        list.map(({ date, asset_id, side, notional, cost, reason }) => ({
          date,
          identifier: asset_id,
          side,
          value: notional,
          cost,
          reason,
        })),
      );
      const weights = new Map(
        (await readJson({ id, table: 'weights' })).map((row) => [
          `${row['date']} ${row['identifier']}`,
          row['portfolio_weight'],
        ]),
      );
      const navs = new Map(portfolio.nav.index.map((date, i) => [date, portfolio.nav.data[i]!]));
      const dividends = new Map(
        (await readJson({ id, table: 'levels' })).map((row) => [String(row['date']), Number(row['costs'])]),
      );
      for (const trade of trades) {
        expect(trade['weight_after']).toBe(weights.get(`${trade['date']} ${trade['identifier']}`) ?? 0);
        const rows = trades.filter((one) => one['date'] === trade['date'] && one['identifier'] === trade['identifier']);
        if (rows.length > 1) continue; // the security left and was received on the same day
        // The portfolio value before the trades includes the costs of the trades.
        const after = navs.get(String(trade['date']))!;
        const before = after + dividends.get(String(trade['date']))!;
        const money = Number(trade['weight_after']) * after - Number(trade['weight_before']) * before;
        expect(trade['side'] === 'buy' ? money : -money).toBeCloseTo(Number(trade['value']), 5);
      }
      const snapshots = new Map(
        (index.optimised ?? index.target!).rebalances.map((snapshot) => [snapshot.date, snapshot]),
      );
      const rebalances = await readJson({ id, table: 'rebalances' });
      expect(rebalances.length).toBeGreaterThan(2);
      for (const [i, row] of rebalances.entries()) {
        const snapshot = snapshots.get(String(row['date']));
        const costs = list.filter(({ date }) => date === row['date']).reduce((sum, { cost }) => sum + Number(cost), 0);
        if (row['cost'] !== null) expect(row['cost']).toBeCloseTo(costs, 6);
        if (id === 'LAZY') continue;
        const heldWeights = Object.entries(snapshot!.weights).filter(([, weight]) => weight !== 0);
        expect(row['constituents']).toBe(heldWeights.filter(([, weight]) => Number(weight) > 0).length);
        expect(row['gross_constituents']).toBe(heldWeights.length);
        expect(row['decision_date']).toBe(snapshot!.announced ?? row['date']);
        const before = i === 0 ? {} : snapshots.get(String(rebalances[i - 1]!['date']))!.weights;
        expect(row['added']).toBe(heldWeights.filter(([name]) => !(name in before)).length);
      }
    });

    test('attribution and risk', async () => {
      const query = '&start=2020-11-02&end=2021-10-29';
      const rows = await readJson({ id, table: 'attribution', query });
      const view = await service.ok<{ contributions: Row[]; total_return: number }>(
        'GET',
        `/analytics/${id}/attribution?${query.slice(1)}`,
      );
      const list = view.contributions.map(
        ({ asset_id, ...row }) => ({ identifier: asset_id, ...row, part: null }) as Row,
      );
      expect(rows).toEqual(list.toSorted((a, b) => (String(a['identifier']) < String(b['identifier']) ? -1 : 1)));
      expect(rows.reduce((sum, { contribution }) => sum + Number(contribution), 0)).toBeCloseTo(view.total_return, 10);
      const rollingAnswer = await service.ok<{ risk: Parameters<typeof listFrame>[0] }>(
        'GET',
        `/analytics/${id}/rolling`,
      );
      expect(await readJson({ id, table: 'risk' })).toEqual(listFrame(rollingAnswer.risk));
    });
  });
}

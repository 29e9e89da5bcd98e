import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { runService, type RunningService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';

const DAYS = [...openCalendars().get('XNYS')!.sessions]
  .map(formatDay)
  .filter((day) => day >= '2024-01-02' && day <= '2024-03-28');
const NAMES = ['A', 'B'];
const BARS = ['identifier', 'date', 'CLOSE'];
let service: RunningService;

beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

test('an exchange rate of 0 or less is reported at import, flagged by the audit and refused where it is needed', async () => {
  const AT = 40;
  const tables = {
    market: createFrame(
      BARS,
      DAYS.flatMap((day, t) => NAMES.map((name, n) => [name, day, 50 + n + (t % 7)])),
    ),
    reference: createFrame(
      ['identifier', 'CURRENCY'],
      NAMES.map((name) => [name, 'USD']),
    ),
    series: createFrame(
      BARS,
      DAYS.map((day, t) => ['EURUSD', day, t === AT ? -1 : 1.1]),
    ),
  };
  const importedAnswer = await service.ask<{ findings: object[] }>('POST', '/data/import', {
    store_id: 'rates',
    name: 'x',
    tables,
    activate: true,
  });
  expect(importedAnswer.body.findings).toContainEqual(
    expect.objectContaining({ code: 'OUT_OF_RANGE', path: 'series[EURUSD]', value: -1 }),
  );
  for (const [id, currency] of [
    ['LISTED', 'USD'],
    ['EURO', 'EUR'],
  ])
    await service.ask('PUT', `/indices/${id}`, {
      id,
      name: id,
      currency,
      calendar: 'XNYS',
      base_date: DAYS[0],
      rebalance: { frequency: 'monthly' },
      universe: { kind: 'list', identifiers: NAMES },
      pipeline: { weighting: { type: 'EqualWeight' } },
    });
  const conversion = { id: 'CONVERTED', name: 'x', kind: 'overlay', source_index_id: 'LISTED', calendar: 'XNYS' };
  await service.ask('PUT', '/indices/CONVERTED', {
    ...conversion,
    base_date: DAYS[0],
    overlay: { type: 'currency', to: 'EUR' },
  });
  const message = `The exchange rate EURUSD is -1 on ${DAYS[AT]}; a rate must be greater than 0.`;
  for (const id of ['EURO', 'CONVERTED']) {
    await service.ask('POST', `/analytics/${id}/backtest`, {});
    expect((await service.waitForJob(`backtest:${id}`)).error).toMatchObject({ code: 'NUMERIC_FAILURE', message });
  }
  await service.ask('POST', '/analytics/EURO/backtest', { end: DAYS[AT - 1] });
  expect((await service.waitForJob('backtest:EURO')).status).toBe('succeeded');
  const audit = await service.ask<{ doubts: object[] }>('GET', '/data/stores/rates/audit');
  expect(audit.body.doubts).toContainEqual(
    expect.objectContaining({ kind: 'exchange_rate', identifier: 'EURUSD', date: DAYS[AT], repair: null }),
  );
});

/**
 * Securities with prices of 100, 200 and so on for all days, except that E ends on day 20. The series are a level, a
 * rate and an exchange rate.
 */
const buildTables = (actions: readonly (readonly unknown[])[], currencies: readonly (readonly unknown[])[] = []) => ({
  market: createFrame(
    [...BARS, 'VOLUME'],
    ['A', 'B', 'C', 'D', 'E'].flatMap((name, n) =>
      DAYS.slice(0, name === 'E' ? 20 : DAYS.length).map((day) => [name, day, 100 * (n + 1), 1000]),
    ),
  ),
  corporate_actions: createFrame(
    ['identifier', 'type', 'value', 'ex_date', 'announced', 'related', 'subscription_price', 'election_date'],
    actions.map((row) => (row.length === 8 ? row : [...row, null])),
  ),
  ...(currencies.length === 0 ? {} : { reference: createFrame(['identifier', 'CURRENCY'], currencies) }),
  series: createFrame(
    BARS,
    DAYS.flatMap((day, t) => [
      ['LEVEL', day, t < 30 ? 99 : 3000],
      ['RATE', day, 100],
      ['USDCNH', day, 7],
    ]),
  ),
});
const createImport = (tables: object) => ({
  store_id: 'actions',
  name: 'x',
  currency: 'USD',
  tables,
  on_exists: 'replace',
  activate: true,
});

test('a merger into no other security is refused', async () => {
  for (const [related, code] of [
    [null, 'REQUIRED'],
    ['A', 'NOT_IN_CHOICES'],
  ]) {
    const merger = ['A', 'MERGER', 0.5, DAYS[30], null, related, null];
    const { status, body } = await service.ask('POST', '/data/import', createImport(buildTables([merger])));
    expect([status, body]).toMatchObject([
      422,
      { error: { detail: { findings: [{ severity: 'error', code, path: 'corporate_actions[row 1].related' }] } } },
    ]);
  }
  const merger = ['A', 'MERGER', -1, DAYS[30], null, null, null];
  const { body } = await service.ask('POST', '/data/import', createImport(buildTables([merger])));
  const text = JSON.stringify(body);
  expect(text).toContain(`The MERGER of A on ${DAYS[30]!} has no related identifier; related must`);
  expect(text).toContain('The value of a MERGER is -1');
});

test('endings and splits of one security on one day are a finding that states the applied one; an offer with an election is not', async () => {
  const columns = ['identifier', 'type', 'value', 'ex_date', 'related', 'cash', 'election_date'];
  const createTables = (actions: readonly (readonly unknown[])[]) => ({
    ...buildTables([]),
    corporate_actions: createFrame(columns, actions),
  });
  const listFindings = async (...actions: readonly (readonly unknown[])[]) => {
    const { status, body } = await service.ask<{ findings: { code: string }[] }>(
      'POST',
      '/data/import',
      createImport(createTables(actions)),
    );
    expect(status).toBe(201);
    return body.findings.filter(({ code }) => code === 'ACTION_CONFLICT');
  };
  const merger = ['E', 'MERGER', 1, DAYS[20], 'C', null, null];
  const bid = ['E', 'ACQUISITION', 200, DAYS[20], null, null, null];
  expect(await listFindings(merger, bid)).toEqual([
    expect.objectContaining({
      severity: 'warning',
      path: `corporate_actions[E ${DAYS[20]}]`,
      message: expect.stringMatching(/MERGER of E .* is applied: .* are ignored: ACQUISITION at 200/),
    }),
  ]);
  expect(await listFindings(merger, [...bid.slice(0, 6), DAYS[18]])).toEqual([]);
  expect(await listFindings([...merger.slice(0, 5), 200, null])).toEqual([]);
  expect(await listFindings(['E', 'DELISTING', null, DAYS[20], null, null, null], bid)).toEqual([
    expect.objectContaining({ message: expect.stringMatching(/ACQUISITION of E .* DELISTING without a price/) }),
  ]);
  const keptAnswer = await service.ask<{ actions: object[] }>('GET', '/data/corporate-actions/E');
  expect(keptAnswer.body.actions).toHaveLength(2);
  const split = (value: number, day = 20) => ['E', 'SPLIT', value, DAYS[day], null, null, null];
  expect(await listFindings(split(2), split(4))).toEqual([
    expect.objectContaining({
      severity: 'warning',
      path: `corporate_actions[E ${DAYS[20]}]`,
      message: expect.stringMatching(/E has 2 splits .*, with the ratios 2 and 4. .* combined ratio of 8/),
    }),
  ]);
  expect(await listFindings(split(2), split(4, 21), ['E', 'STOCK_DIVIDEND', 1.05, DAYS[20], null, null, null])).toEqual(
    [],
  );
});

test('cash in addition to shares is accepted for a merger, and refused for any other action', async () => {
  const columns = ['identifier', 'type', 'value', 'ex_date', 'related', 'Cash'];
  const importStore = (...actions: readonly (readonly unknown[])[]) =>
    service.ask(
      'POST',
      '/data/import',
      createImport({ ...buildTables([]), corporate_actions: createFrame(columns, actions) }),
    );
  expect(
    (await importStore(['E', 'MERGER', 1, DAYS[20], 'C', 200], ['A', 'DIVIDEND', 1, DAYS[20], null, null])).status,
  ).toBe(201);
  const readActions = async (name: string) =>
    (await service.ask<{ actions: object[] }>('GET', `/data/corporate-actions/${name}`)).body.actions;
  expect(await readActions('E')).toMatchObject([{ type: 'MERGER', value: 1, cash: 200 }]);
  expect(await readActions('A')).toMatchObject([{ cash: null }]);
  for (const [type, cash, code] of [
    ['DIVIDEND', 2, 'NOT_IN_CHOICES'],
    ['ACQUISITION', 2, 'NOT_IN_CHOICES'],
    ['MERGER', -2, 'OUT_OF_RANGE'],
    ['MERGER', 'much', 'NOT_A_NUMBER'],
  ] as const)
    expect((await importStore(['E', type, 1, DAYS[20], 'C', cash])).body).toMatchObject({
      error: { detail: { findings: [{ code, path: 'corporate_actions[row 1].Cash' }] } },
    });
});

test('improbable values of an action or a currency are reported with both numbers, and flagged by the audit', async () => {
  const actions = [
    ['A', 'DIVIDEND', 1, DAYS[30], DAYS[31], null, null],
    ['A', 'SPLIT', 2, DAYS[31], null, null, null],
    ['A', 'DIVIDEND', 50, DAYS[31], null, null, null],
    ['A', 'DIVIDEND', 49.9, DAYS[32], DAYS[32], null, null],
    ['B', 'RIGHTS_ISSUE', 0.25, DAYS[30], null, null, 201],
    ['B', 'RIGHTS_ISSUE', 0.25, DAYS[32], DAYS[31], null, 200, DAYS[29]],
    ['C', 'SPIN_OFF', 0.5, DAYS[30], null, null, null],
    ['D', 'ACQUISITION', 601, DAYS[55], null, null, null],
    ['E', 'MERGER', 0.5, DAYS[20], null, 'C', null],
    ['C', 'DELISTING', 0, DAYS[40], null, null, null],
  ];
  const currencies = [
    ['A', 'USD'],
    ['B', 'XQZ'],
    ['C', 'CNH'],
    ['D', 'GBX'],
    ['E', 'CNH'],
  ];
  const { body } = await service.ask<{ findings: object[] }>(
    'POST',
    '/data/import',
    createImport(buildTables(actions, currencies)),
  );
  const nameCell = (name: string, day: number) => `corporate_actions[${name} ${DAYS[day]}]`;
  const reports = [
    ['ACTION_DATES', nameCell('A', 30), `${DAYS[31]}, after its ex-date ${DAYS[30]}`],
    ['ACTION_SIZE', nameCell('A', 31), `not less than the previous close, 50 on ${DAYS[30]}`],
    ['ACTION_SIZE', nameCell('A', 31), `the close does not reflect it: 100 on ${DAYS[30]}, 100 on ${DAYS[31]}`],
    ['ACTION_SIZE', nameCell('B', 30), `201, which is above the previous close, 200 on ${DAYS[29]}`],
    ['ACTION_DATES', nameCell('B', 32), `${DAYS[31]}, after its election_date ${DAYS[29]}`],
    ['ACTION_WITHOUT_PRICE', nameCell('C', 30), 'has no related identifier'],
    ['ACTION_DATES', nameCell('C', 40), `the store has a bar on ${DAYS[50]}`],
    ['ACTION_SIZE', nameCell('D', 55), `pays 601 per share, which is far from the previous close, 400 on ${DAYS[54]}`],
    // a subscription of 0.5 of 300 for 500
    [
      'ACTION_SIZE',
      nameCell('E', 20),
      `worth 150 at the close of ${DAYS[19]}, which is far from the previous close of E, 500 on ${DAYS[19]}`,
    ],
    ['UNKNOWN_CURRENCY', 'reference[B].CURRENCY', 'XQZ'],
  ] as const;
  expect(body.findings.filter((one) => (one as { code: string }).code !== 'PRICE_JUMP')).toEqual(
    reports.map(([code, path, part]) =>
      expect.objectContaining({ severity: 'warning', code, path, message: expect.stringContaining(part) }),
    ),
  );
  const audit = await service.ask<{ doubts: { kind: string }[] }>('GET', '/data/stores/actions/audit');
  expect(audit.body.doubts.filter(({ kind }) => kind === 'action_terms')).toHaveLength(7);
  expect(audit.body.doubts).toContainEqual(
    expect.objectContaining({ kind: 'unknown_currency', identifier: 'B', evidence: { currency: 'XQZ' }, repair: null }),
  );
});

test('a series whose values cannot be per cent per year is flagged if a rate is named and refused if one is needed', async () => {
  await service.ask('POST', '/data/import', createImport(buildTables([])));
  await service.ask('PUT', '/indices/PLAIN', {
    id: 'PLAIN',
    name: 'x',
    currency: 'USD',
    calendar: 'XNYS',
    base_date: DAYS[0],
    rebalance: { frequency: 'monthly' },
    universe: { kind: 'list', identifiers: NAMES },
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  const message = `The series LEVEL is 3000 on ${DAYS[30]}; a rate must be in percent per year, at most 100 in magnitude: 5 is 5%.`;
  const requestFinancing = async (financing: string) => {
    const { body } = await service.ask<{ findings: object[] }>('PUT', '/indices/DOUBLE', {
      id: 'DOUBLE',
      name: 'x',
      kind: 'overlay',
      source_index_id: 'PLAIN',
      calendar: 'XNYS',
      base_date: DAYS[0],
      overlay: { type: 'leverage', factor: 2, financing },
    });
    return body.findings;
  };
  const run = async (request: object) => {
    await service.ask('POST', '/analytics/DOUBLE/backtest', request);
    return service.waitForJob('backtest:DOUBLE');
  };
  expect(await requestFinancing('LEVEL')).toEqual([
    expect.objectContaining({
      severity: 'warning',
      code: 'OUT_OF_RANGE',
      path: 'overlay.financing',
      value: 3000,
      message,
    }),
  ]);
  expect((await run({})).error).toMatchObject({
    code: 'RATE_OUT_OF_RANGE',
    message,
    detail: { series: 'LEVEL', date: DAYS[30], value: 3000, limit: 100 },
  });
  expect((await run({ end: DAYS[29] })).status).toBe('succeeded');
  expect(await requestFinancing('RATE')).toEqual([]);
  expect((await run({})).status).toBe('succeeded');
});

test('a pack of a closed day states the date of its closes, and a pack with ended securities how they ended', async () => {
  const endAction = ['E', 'ACQUISITION', 520, DAYS[20], null, null, null];
  await service.ask('POST', '/data/import', createImport(buildTables([endAction])));
  const pack = (request: object) =>
    service.ask<{ as_of: string; requested_as_of: string | null; findings: object[] }>(
      'POST',
      '/indices/PLAIN/rebalance-pack',
      request,
    );
  const { body } = await pack({ as_of: '2024-02-10', aum: 1e6 }); // a Saturday
  expect([body.requested_as_of, body.as_of]).toEqual(['2024-02-10', '2024-02-09']);
  expect(body.findings).toEqual([
    expect.objectContaining({ code: 'WINDOW_CUT', path: 'as_of', value: '2024-02-10', severity: 'warning' }),
    // Reviews are decided at the close of the last session of a month.
    expect.objectContaining({ code: 'NOT_ANNOUNCED', path: 'as_of', severity: 'info' }),
  ]);
  const onSession = (await pack({ as_of: '2024-02-09', aum: 1e6 })).body;
  expect({ ...onSession, requested_as_of: body.requested_as_of, findings: body.findings }).toEqual(body);
  expect((await pack({ aum: 1e6 })).body.requested_as_of).toBe(null);
  const of = { name: 'OLD', holdings: [{ identifier: 'E', shares: 10 }] };
  const refusal = await pack({ accounts: [{ name: 'NEW', cash: 1000 }, of] });
  expect(refusal).toMatchObject({ status: 422 });
  expect(refusal.body).toMatchObject({
    error: {
      detail: {
        findings: [
          {
            path: 'accounts[1]',
            message:
              'The account OLD has the value 0 at the closes, without 1 of its holdings, which cannot be traded; it must be greater than 0.',
          },
          {
            severity: 'warning',
            path: 'accounts[1].holdings[0].identifier',
            message: expect.stringContaining(
              `It has ended (ACQUISITION of ${DAYS[20]}): paid 520 per share. Add the cash`,
            ),
          },
        ],
      },
    },
  });
});

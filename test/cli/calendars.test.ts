import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runHere } from './process.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'divisor-calendars-'));
  const sessions = [
    '2024-12-30',
    '2024-12-31',
    '2025-01-01',
    '2025-01-02',
    '2025-01-03',
    '2025-01-06',
    '2025-01-07',
    '2025-01-08',
    '2025-01-10',
  ];
  writeFileSync(join(folder, 'new-york.json'), JSON.stringify({ code: 'XNYS', sessions }));
  const closures = {
    code: 'XLON',
    range: ['2024-12-23', '2025-01-03'],
    weekmask: [{ from: null, mask: '1111100' }],
    holidays: ['2024-12-25', '2024-12-26', '2025-01-01'],
  };
  writeFileSync(join(folder, 'london.json'), JSON.stringify(closures));
  writeFileSync(join(folder, 'XETR.csv'), 'date,open\n2024-12-23,x\n2024-12-27,x\n2024-12-30,x\n2025-01-03,x\n');
  writeFileSync(join(folder, 'nowhere.json'), JSON.stringify({ code: 'XNOW', sessions: ['2024-01-02'] }));
  writeFileSync(join(folder, 'readme.txt'), 'passed over');
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('divisor calendars', () => {
  test('lists every code with its coverage and sources', async () => {
    const { status, out } = await runHere(['calendars', 'list']);
    expect(status).toBe(0);
    expect(out).toMatch(
      /^XHKG +Hong Kong Stock Exchange +Asia\/Hong_Kong +1999-01-01 +2026-12-31 +2027-12-31 +exchange_calendars .*$/m,
    );
    expect(out.trim().split('\n').length).toBeGreaterThan(100);
  });

  test('prints the differences from a reference by calendar and year, and sets its exit status', async () => {
    const { status, out } = await runHere(['calendars', 'check', folder]);
    expect(status).toBe(1);
    expect(out).toBe(
      'code  year  differences\n' +
        'XETR  2025  +01-02\n' +
        'XNYS  2025  -01-01\n' +
        '3 calendars compared, 2 days differ.\n' +
        'No calendar for: XNOW.\n',
    );
  });

  test('applies corrections of the requested confidence to the reference, within the requested dates', async () => {
    const correctionsFile = join(folder, 'corrections.list');
    const createEntry = (close: string[], open: string[], confidence: string) => ({ close, open, confidence });
    writeFileSync(
      correctionsFile,
      JSON.stringify({
        XNYS: [createEntry(['2025-01-01'], [], 'high'), createEntry(['2025-01-02'], [], 'check')],
        XETR: [createEntry([], ['2025-01-02'], 'high')],
      }),
    );
    const high = await runHere(['calendars', 'check', folder, '--corrections', correctionsFile]);
    expect([high.status, high.out]).toEqual([0, '3 calendars compared, 0 days differ.\nNo calendar for: XNOW.\n']);
    const correctedOutcome = await runHere([
      'calendars',
      'check',
      folder,
      '--corrections',
      correctionsFile,
      '--confidence',
      'high,check',
    ]);
    expect(correctedOutcome.out).toContain('XNYS  2025  +01-02\n');
    const earlyOutcome = await runHere(['calendars', 'check', folder, '--to', '2024-12-31']);
    expect(earlyOutcome.status).toBe(0);
  });

  test.each([
    [{ code: 'XNYS', sessions: ['2024-01-02', '2024-01-03T00:00:00Z'] }, 'sessions[1] is "2024-01-03T00:00:00Z"'],
    [
      { code: 'XNYS', range: ['2024-01-01', '2024-01-31'], weekmask: [{ from: null, mask: '11111' }], holidays: [] },
      'weekmask[0].mask is "11111"',
    ],
    [{ code: 'XNYS', range: ['2024-01-01', '2024-01-31'], holidays: ['2024-01-01'] }, 'weekmask is missing'],
    [{ code: 'XNYS', dates: [] }, 'it must contain code and sessions, or code, range, weekmask'],
  ])('names the first faulty entry of a reference: %j', async (reference, place) => {
    const faulty = mkdtempSync(join(folder, 'faulty-'));
    writeFileSync(join(faulty, 'XNYS.json'), JSON.stringify(reference));
    const { status, err } = await runHere(['calendars', 'check', faulty]);
    expect([status, err]).toEqual([64, expect.stringContaining(`XNYS.json is not a reference of sessions: ${place}`)]);
    expect(err).not.toMatch(/expected tuple|"path"/);
  });

  test('names the line of a CSV reference without a date, and the faulty entry of corrections', async () => {
    const faulty = mkdtempSync(join(folder, 'faulty-'));
    writeFileSync(join(faulty, 'XNYS.csv'), 'date\n2024-01-02\n02.01.2024\n');
    expect((await runHere(['calendars', 'check', faulty])).err).toContain('date in line 3 is "02.01.2024"');
    const corrections = join(faulty, 'corrections.txt');
    writeFileSync(corrections, JSON.stringify({ XNYS: [{ close: ['soon'], open: [], confidence: 'high' }] }));
    const { err } = await runHere(['calendars', 'check', folder, '--corrections', corrections]);
    expect(err).toContain('XNYS[0].close[0] is "soon"');
  });

  test('reports wrong arguments and unreadable files', async () => {
    expect(await runHere(['calendars', 'chck'])).toMatchObject({ status: 64 });
    expect(await runHere(['calendars', 'check', folder, '--from', '2025-02-30'])).toMatchObject({
      status: 64,
      err: expect.stringContaining('--from must be a day'),
    });
    expect(await runHere(['calendars', 'check', join(folder, 'none')])).toMatchObject({
      status: 64,
      err: expect.stringContaining('cannot be used as a reference'),
    });
    expect((await runHere(['calendars', '--help'])).out).toContain('divisor calendars check REFERENCE');
  });
});

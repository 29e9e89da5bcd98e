import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { divisor, finished, serving, type Run } from './process.js';
import { hasPseudoTerminal, onTerminal } from './pseudo-terminal.js';

if (!hasPseudoTerminal)
  console.log('The command line is not tried on a terminal: this machine has no `script` of util-linux.');

let folder: string;
let home: string;
const file = (name: string) => join(folder, name);

const INDEX = {
  id: 'EVEN',
  name: 'Even',
  calendar: 'XNYS',
  base_date: '2020-01-02',
  pipeline: { weighting: { type: 'EqualWeight' } },
};
const GRID = {
  '/document/rebalance/frequency': ['monthly', 'quarterly'],
  '/request/transaction_cost_bps': [0, 10, 400],
};

type Line = Record<string, unknown> & { readonly event: string };
const linesOf = (out: string): Line[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
const ending = ({ status, out, err }: { status: number | string; out: string; err: string }) => ({
  status,
  out,
  err: err.replace(/\n$/, ''),
});

/** A folder of prices that everything below works on: four names, four years of weekdays. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'divisor-commands-'));
  await mkdir(file('prices'));
  home = file('home');
  const rows = ['date,identifier,CLOSE'];
  for (let day = Date.UTC(2019, 6, 1), i = 0; day < Date.UTC(2023, 0, 1); day += 86_400_000) {
    const date = new Date(day);
    if (date.getUTCDay() % 6 === 0) continue;
    for (const [k, name] of ['A', 'B', 'C', 'D'].entries())
      rows.push(
        `${date.toISOString().slice(0, 10)},${name},${(100 * Math.exp(0.0003 * i + 0.1 * Math.sin(i / (7 + k)) * (k + 1))).toFixed(6)}`,
      );
    i++;
  }
  await writeFile(join(file('prices'), 'market.csv'), `${rows.join('\n')}\n`);
  await writeFile(file('even.json'), JSON.stringify(INDEX));
  await writeFile(file('grid.json'), JSON.stringify(GRID));
  const imported = await onHome(['import', file('prices'), '--id', 'desk', '--activate']);
  if (imported.status !== 0) throw new Error(imported.err);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a command on the home to its end. */
const onHome = (words: readonly string[]) => finished([...words, '--home', home], { DIVISOR_DATA_ROOTS: folder });

describe('on a pipe and a home', () => {
  test('a backtest stores its document first, tells its states once each and ends with the result', async () => {
    const { status, out, err } = await onHome(['backtest', 'EVEN', '--document', file('even.json'), '--cost-bps', '5']);
    expect([status, err]).toEqual([0, '']);
    const lines = linesOf(out);
    expect(new Set(out.trim().split('\n')).size).toBe(lines.length);
    expect([...new Set(lines.map(({ event }) => event))]).toEqual(['status', 'result']);
    expect(lines.at(-2)).toMatchObject({ event: 'status', job_id: 'backtest:EVEN', status: 'succeeded', progress: 1 });
    const { result } = lines.at(-1) as unknown as {
      result: { metrics: { total_return: number }; level: { data: number[] } };
    };
    expect(result.metrics.total_return).toBeCloseTo(result.level.data.at(-1)! / result.level.data[0]! - 1, 12);
  });

  test('a backtest that need not run has the stored result at once', async () => {
    const { status, out, err } = await onHome(['backtest', 'EVEN', '--cost-bps', '5', '--if-stale']);
    expect([status, err]).toEqual([0, '']);
    expect(linesOf(out)).toMatchObject([{ event: 'result', result: { metrics: expect.anything() } }]);
    const again = await onHome(['backtest', 'EVEN', '--cost-bps', '6', '--if-stale']);
    expect(linesOf(again.out).some(({ event }) => event === 'status')).toBe(true);
  });

  test('a document may come on standard input', () => {
    const { status, stdout } = spawnSync(
      process.execPath,
      ['dist/src/main.js', 'backtest', 'PIPED', '--document', '-', '--home', home],
      {
        input: JSON.stringify({ ...INDEX, id: 'PIPED' }),
        env: { PATH: process.env['PATH'], DIVISOR_DATA_ROOTS: folder },
        encoding: 'utf8',
      },
    );
    expect([status, linesOf(stdout).at(-1)?.event]).toEqual([0, 'result']);
  });

  test('a sweep ranks the combinations of a grid, one line each, and keeps the request it came from', async () => {
    const { status, out, err } = await onHome([
      'sweep',
      file('grid.json'),
      '--index',
      'EVEN',
      '--id',
      'terms',
      '--start',
      '2021-01-04',
      '--rank-by',
      'total_return',
    ]);
    expect([status, err]).toEqual([0, '']);
    const rows = linesOf(out).filter(({ event }) => event === 'row') as unknown as {
      rank: number;
      start: string;
      patch: Record<string, unknown>;
      metrics: { total_return: number };
    }[];
    expect(rows.map(({ rank }) => rank)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(rows.map(({ metrics }) => metrics.total_return)).toEqual(
      rows.map(({ metrics }) => metrics.total_return).toSorted((a, b) => b - a),
    );
    expect(new Set(rows.map(({ patch }) => JSON.stringify(patch))).size).toBe(6);
    expect(rows[0]?.start).toBe('2021-01-04');
    expect(linesOf(out).at(-1)).toMatchObject({
      event: 'result',
      result: { sweep_id: 'terms', rank_by: 'total_return', variants: 6 },
    });
  });

  test.each([
    ['a list of variants', [{ '/request/transaction_cost_bps': 1 }, { '/request/transaction_cost_bps': 2 }], 2],
    [
      'a whole request',
      { index_id: 'EVEN', grid: { '/request/transaction_cost_bps': [1, 2, 3] }, request: { start: '2021-01-04' } },
      3,
    ],
  ])('a sweep takes %s', async (_, given, variants) => {
    await writeFile(file('given.json'), JSON.stringify(given));
    const { status, out } = await onHome([
      'sweep',
      file('given.json'),
      ...(Array.isArray(given) ? ['--index', 'EVEN'] : []),
    ]);
    expect([status, linesOf(out).at(-1)]).toMatchObject([0, { result: { variants } }]);
  });

  test('a report is written where --out says, and nothing else is', async () => {
    const { status, out } = await onHome(['report', 'FACTSHEET-A4', '--index', 'EVEN', '--out', file('even.pdf')]);
    expect([status, linesOf(out).at(-1)]).toEqual([0, { event: 'result', out: file('even.pdf') }]);
    expect((await readFile(file('even.pdf'))).subarray(0, 5).toString()).toBe('%PDF-');
  });

  test('a risk model and an optimisation are made the same way', async () => {
    const risk = await onHome(['risk', 'even', '--index', 'EVEN']);
    expect([risk.status, linesOf(risk.out).at(-1)]).toMatchObject([0, { result: { diagnostics: { assets: 4 } } }]);
    await writeFile(
      file('limits.json'),
      JSON.stringify({
        id: 'limits',
        name: 'Limits',
        constraints: [{ type: 'PositionBounds', params: { upper: 0.4 } }],
      }),
    );
    const optimised = await onHome(['optimise', 'EVEN', 'limits', '--constraints', file('limits.json')]);
    expect([optimised.status, linesOf(optimised.out).at(-1)]).toMatchObject([0, { result: { converged: true } }]);
  });

  test('a folder outside the allowed ones is refused with their names and the flag, which allows it', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'divisor-elsewhere-'));
    try {
      await writeFile(join(elsewhere, 'market.csv'), 'date,identifier,CLOSE\n2020-01-02,A,1\n2020-01-03,A,2\n');
      const refused = await onHome(['import', elsewhere, '--id', 'elsewhere']);
      expect([refused.status, refused.err.split('\n').at(-2)]).toEqual([
        2,
        `  Allowed are folders below ${folder} (--data-roots, DIVISOR_DATA_ROOTS) and databases on localhost, 127.0.0.1, ::1 (DIVISOR_DATABASE_HOSTS).`,
      ]);
      const allowed = await onHome(['import', elsewhere, '--id', 'elsewhere', '--data-roots', elsewhere]);
      expect([allowed.status, allowed.err]).toEqual([0, '']);
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });

  test('a home that a service has is left to it, in one sentence', async () => {
    const service = await serving(home, ['--log-level', 'error', '--workers', '1', '--drain-ms', '0'], {
      DIVISOR_DATA_ROOTS: folder,
    });
    try {
      const { status, err } = await finished(['backtest', 'EVEN', '--home', home]);
      expect([status, err]).toEqual([75, expect.stringContaining(`in use by process ${service.child.pid}`)]);
    } finally {
      service.child.kill('SIGTERM');
      await service.ended;
    }
  });

  test('a benchmark of the machine says its limits, its kernels and its jobs', async () => {
    const { status, out, err } = await finished(['bench', '--assets', '20', '--years', '2']);
    expect([status, err]).toEqual([0, '']);
    const lines = linesOf(out);
    expect([...new Set(lines.map(({ event }) => event))]).toEqual(['machine', 'kernel', 'work', 'result']);
    expect(lines.filter(({ event }) => event === 'work').map(({ work }) => work)).toEqual([
      'generate a market',
      'backtest',
      'sweep',
      'backtest, stored with its record',
      'risk model',
      'optimisation',
      'factsheet',
    ]);
    for (const { rate } of lines.filter(({ event }) => event === 'kernel')) expect(rate).toBeGreaterThan(0);
  });
});

describe('against a service', () => {
  let service: Run & { readonly url: string };
  let key: string;
  beforeAll(async () => {
    key = (await finished(['keys', 'create', '--home', home, '--name', 'test', '--scopes', 'read,run'])).out.trim();
    service = await serving(home, ['--log-level', 'error', '--workers', '1', '--drain-ms', '0'], {
      DIVISOR_DATA_ROOTS: folder,
    });
    await served();
  });
  afterAll(async () => {
    service?.child.kill('SIGTERM');
    await service?.ended;
  });
  /** The store is read again in the background after a start. */
  async function served(): Promise<void> {
    for (;;) {
      const { store } = (await (await fetch(`${service.url}/health`)).json()) as { store: { active: string | null } };
      if (store.active !== null) return;
    }
  }
  const asked = (words: readonly string[], environment: Record<string, string> = {}) =>
    finished(words, { DIVISOR_URL: service.url, DIVISOR_API_KEY: key, ...environment });

  test('work is done there, with the key of the environment', async () => {
    const { status, out, err } = await asked(['backtest', 'EVEN']);
    expect([status, err, linesOf(out).at(-1)?.event]).toEqual([0, '', 'result']);
  });

  test('what it takes is told, and nothing it stores changes', async () => {
    const auth = { headers: { authorization: `Bearer ${key}` } };
    const before = (await fetch(`${service.url}/analytics/EVEN/record`, auth)).headers.get('etag');
    const { status, out, err } = await asked(['bench', '--index', 'EVEN']);
    expect([status, err]).toEqual([0, '']);
    expect(linesOf(out).map(({ work }) => work)).toEqual(['answer to a request', 'backtest', 'sweep', undefined]);
    expect((await fetch(`${service.url}/analytics/EVEN/record`, auth)).headers.get('etag')).toBe(before);
  });

  test.each([
    ['a wrong key', { DIVISOR_API_KEY: `dvs_${'a'.repeat(12)}_${'b'.repeat(43)}` }, 77, 'UNAUTHENTICATED'],
    ['no key', { DIVISOR_API_KEY: '' }, 77, 'UNAUTHENTICATED'],
  ])('%s ends with 77', async (_, environment, status, code) => {
    expect(ending(await asked(['backtest', 'EVEN'], environment))).toEqual({
      status,
      out: '',
      err: expect.stringMatching(new RegExp(`^divisor: ${code}: [^\\n]+$`)),
    });
  });

  test('a key without the scope ends with 77 and says which it lacks', async () => {
    const { status, err } = await asked(['backtest', 'EVEN', '--document', file('even.json')]);
    expect([status, err]).toEqual([77, 'divisor: FORBIDDEN_SCOPE: The key lacks the scope write.\n']);
  });

  test('a refusal ends with 2, with a line for every finding', async () => {
    await writeFile(
      file('bad-grid.json'),
      JSON.stringify({ '/document/pipeline/weighting/cap': [7], '/request/transaction_cost_bps': [-1] }),
    );
    const { status, err } = await asked(['sweep', file('bad-grid.json'), '--index', 'EVEN']);
    expect([status, err.split('\n').filter((line) => line.startsWith('  error ')).length]).toEqual([2, 2]);
    expect((await asked(['backtest', 'NOBODY'])).err).toMatch(/^divisor: INDEX_NOT_FOUND: .*\n$/);
  });

  test('a job that fails ends with 1 and its own code', async () => {
    const { status, err } = await asked(['risk', 'short', '--identifiers', 'A,B', '--start', '2022-12-28']);
    expect([status, err]).toEqual([1, expect.stringMatching(/^divisor: RISK_INSUFFICIENT_DATA: /)]);
  });

  test('a job of the same id with another request ends with 75', async () => {
    await writeFile(
      file('slow.json'),
      JSON.stringify({ '/request/transaction_cost_bps': Array.from({ length: 1500 }, (_, i) => i / 10) }),
    );
    const slow = divisor(['sweep', file('slow.json'), '--index', 'EVEN', '--id', 'slow'], {
      DIVISOR_URL: service.url,
      DIVISOR_API_KEY: key,
    });
    await new Promise<void>((running) =>
      slow.child.stdout.on('data', () => slow.out().includes('"running"') && running()),
    );
    const { status, err } = await asked(['sweep', file('grid.json'), '--index', 'EVEN', '--id', 'slow']);
    expect([status, err]).toEqual([75, 'divisor: JOB_RUNNING: The job sweep:slow runs with a different request.\n']);
    slow.child.kill('SIGINT');
    expect(await slow.ended).toBe(130);
  });

  test('a folder outside the allowed ones is refused without a path, and where to see them is said', async () => {
    const key = (
      await finished(['keys', 'create', '--home', home, '--name', 'data', '--scopes', 'read,data'])
    ).out.trim();
    const { status, err } = await asked(['import', '/', '--name', 'Root'], { DIVISOR_API_KEY: key });
    expect([status, err.split('\n').at(-2)]).toEqual([
      2,
      '  Run `divisor config` where the service runs: it shows the folders and hosts it allows.',
    ]);
    expect(err).toContain('error LOCATION_NOT_ALLOWED location: ');
    expect(err).toContain('(--data-roots, DIVISOR_DATA_ROOTS)');
    expect(err).not.toContain(folder);
  });

  test('Ctrl-C cancels the job and ends with 130', async () => {
    const costs = Array.from({ length: 1500 }, (_, i) => i / 10);
    await writeFile(file('many.json'), JSON.stringify({ '/request/transaction_cost_bps': costs }));
    const run = divisor(['sweep', file('many.json'), '--index', 'EVEN', '--id', 'many'], {
      DIVISOR_URL: service.url,
      DIVISOR_API_KEY: key,
    });
    await new Promise<void>((running) =>
      run.child.stdout.on('data', () => run.out().includes('"running"') && running()),
    );
    run.child.kill('SIGINT');
    expect([await run.ended, run.err()]).toEqual([130, '']);
    const job = (await (
      await fetch(`${service.url}/jobs/sweep:many`, { headers: { authorization: `Bearer ${key}` } })
    ).json()) as { status: string };
    expect(job.status).toBe('cancelled');
  });

  describe.skipIf(!hasPseudoTerminal)('on a terminal', () => {
    test('one line redraws itself with the progress, and the result is a table', () => {
      const { status, screen, written } = onTerminal(['sweep', file('grid.json'), '--index', 'EVEN'], {
        DIVISOR_URL: service.url,
        DIVISOR_API_KEY: key,
      });
      expect(status).toBe(0);
      expect(written).toContain('\r\u001b[2K');
      expect(written).not.toContain('{"event"');
      const lines = screen.map((line) => line.trim());
      expect(lines[0]).toMatch(/^sweep +\d+\.\d s {2}done$/);
      expect(lines[1]).toMatch(/^rank +frequency +transaction_cost_bps +sharpe ratio +total return/);
      expect(lines.slice(2, 8).map((line) => line.split(/ +/)[0])).toEqual(['1', '2', '3', '4', '5', '6']);
      expect(lines).toContain('6 variants');
    });

    test('what goes wrong stands on a line of its own', () => {
      const { status, screen } = onTerminal(['backtest', 'NOBODY'], { DIVISOR_URL: service.url, DIVISOR_API_KEY: key });
      expect([status, screen]).toEqual([2, [expect.stringMatching(/^divisor: INDEX_NOT_FOUND: /)]]);
    });

    test('--json says the same as on a pipe', () => {
      const { status, screen } = onTerminal(['backtest', 'EVEN', '--json'], {
        DIVISOR_URL: service.url,
        DIVISOR_API_KEY: key,
      });
      expect([status, linesOf(screen.join('\n')).at(-1)?.event]).toEqual([0, 'result']);
    });
  });
});

describe('without a service', () => {
  test('nobody at the address ends with 69', async () => {
    const { port, close } = await deadPort();
    await close();
    const { status, out, err } = await finished([
      'report',
      'FACTSHEET-A4',
      '--index',
      'EVEN',
      '--url',
      `http://127.0.0.1:${port}`,
    ]);
    expect([status, out, err]).toEqual([
      69,
      '',
      `divisor: Nothing answers at http://127.0.0.1:${port}. Start one with \`divisor serve\`, or leave --url and DIVISOR_URL out to work on a home.\n`,
    ]);
  });

  test.each([
    [['backtest', 'X', '--url', 'localhost:8080'], '--url must be an address such as http://127.0.0.1:8080'],
    [['backtest'], 'divisor backtest takes INDEX; 0 words were given'],
    [['backtest', 'X', '--cost-bps', 'five'], '--cost-bps must be a number, not "five"'],
    [['backtest', 'X', '--cost', '5'], "Unknown option '--cost'"],
    [['import', '.', '--adjustment', 'both'], '--adjustment must be one of none, splits, total, not "both"'],
    [['sweep', 'nowhere.json', '--index', 'X'], 'nowhere.json cannot be read as JSON'],
    [['bench', '--url', 'http://127.0.0.1:1'], 'divisor bench needs --index'],
    [['bench', '--years', '1'], '--years must be at least 2'],
    [
      ['import', '/', '--url', 'http://127.0.0.1:1', '--data-roots', '/'],
      '--data-roots is for a home opened by the command',
    ],
  ])('%j is explained and ends with 64', async (words, message) => {
    const { status, out, err } = await finished([...words], { DIVISOR_HOME: file('unused') });
    expect([status, out, err]).toEqual([64, '', expect.stringContaining(message)]);
    expect(err.trim().split('\n')).toHaveLength(1);
  });

  test('every command explains its words, flags, examples and exit statuses', async () => {
    for (const name of ['import', 'backtest', 'sweep', 'optimise', 'risk', 'report']) {
      const { status, out } = await finished([name, '--help']);
      expect([name, status]).toEqual([name, 0]);
      for (const part of [`Usage: divisor ${name} `, 'Flags', 'Examples', 'Exit statuses', '--url URL', '--json'])
        expect(out).toContain(part);
      for (const example of out.split('Examples\n')[1]!.split('\n\n')[0]!.split('\n'))
        expect(example.trim()).toMatch(new RegExp(`^divisor ${name} `));
    }
  });
});

async function deadPort(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((closed) => server.close(() => closed())),
  };
}

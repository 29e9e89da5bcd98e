import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Run, runDivisor, DIVISOR_IN_SHELL, runHere, startService } from '../process.js';
import { hasPseudoTerminal, runOnTerminal } from '../pseudo-terminal.js';
import { testRetries } from './retries.js';
import { testSqlShell } from './sql-shell.js';
import { testFilesAndData } from './files-and-data.js';
import { folder, home, toPath, INDEX, toLines, readEnding } from './set-up.js';
import { waitUntil } from '../../waiting.js';

export function describeAgainstAService(): void {
  describe('against a service', () => {
    let service: Run & { readonly url: string };
    let key: string;
    beforeAll(async () => {
      key = (await runHere(['keys', 'create', '--home', home, '--name', 'test', '--scopes', 'read,run'])).out.trim();
      service = await startService(home, ['--log-level', 'error', '--workers', '1', '--drain-ms', '0'], {
        DIVISOR_DATA_ROOTS: folder,
      });
      await waitForStore();
    });
    afterAll(async () => {
      service?.child.kill('SIGTERM');
      await service?.ended;
    });
    /** Waits until the service has read the store again. It does this in the background after a start. */
    async function waitForStore(): Promise<void> {
      await waitUntil(async () => {
        const answer = await fetch(`${service.url}/health`, { headers: { 'x-api-key': key } });
        const { store } = (await answer.json()) as { store: { active: string | null } };
        return store.active !== null;
      });
    }
    const runCommand = (words: readonly string[], environment: Record<string, string> = {}) =>
      runHere(words, { DIVISOR_URL: service.url, DIVISOR_API_KEY: key, ...environment });

    describe('with a key for everything', () => {
      let all: string;
      beforeAll(async () => {
        const result = await runHere(['keys', 'create', '--home', home, '--name', 'all', '--scopes', 'admin']);
        all = result.out.trim();
      });
      testFilesAndData(() => ({ DIVISOR_URL: service.url, DIVISOR_API_KEY: all }));
    });

    test('a home that a service uses is refused in one sentence', async () => {
      const { status, err } = await runHere(['backtest', 'EVEN', '--home', home]);
      expect([status, err]).toEqual([75, expect.stringContaining(`in use by process ${service.child.pid}`)]);
    });

    test('work runs in the service, with the key from the environment', async () => {
      const { status, out, err } = await runCommand(['backtest', 'EVEN']);
      expect([status, err, toLines(out).at(-1)?.event]).toEqual([0, '', 'result']);
    });

    testRetries(runCommand);

    test('the estimated resources are reported, and nothing stored changes', async () => {
      const auth = { headers: { authorization: `Bearer ${key}` } };
      const before = (await fetch(`${service.url}/analytics/EVEN/record`, auth)).headers.get('etag');
      const { status, out, err } = await runCommand(['bench', '--index', 'EVEN']);
      expect([status, err]).toEqual([0, '']);
      expect(toLines(out).map(({ work }) => work)).toEqual(['response to a request', 'backtest', 'sweep', undefined]);
      expect((await fetch(`${service.url}/analytics/EVEN/record`, auth)).headers.get('etag')).toBe(before);
    });

    test('a shell completes the ids of the store', async () => {
      const { status, out } = await runCommand(['completion', 'ids', 'names']);
      expect([status, out]).toEqual([0, 'A\nB\nC\nD\n']);
    });

    test.each([
      ['a wrong key', { DIVISOR_API_KEY: `dvs_${'a'.repeat(12)}_${'b'.repeat(43)}` }, 77, 'UNAUTHENTICATED'],
      ['no key', { DIVISOR_API_KEY: '' }, 77, 'UNAUTHENTICATED'],
    ])('%s ends with 77', async (_, environment, status, code) => {
      expect(readEnding(await runCommand(['backtest', 'EVEN'], environment))).toEqual({
        status,
        out: '',
        err: expect.stringMatching(new RegExp(`^divisor: ${code}: [^\\n]+$`)),
      });
    });

    test('a key without the scope exits with 77 and the missing scope', async () => {
      const { status, err } = await runCommand(['backtest', 'EVEN', '--document', toPath('even.json')]);
      expect([status, err]).toEqual([77, 'divisor: FORBIDDEN_SCOPE: The key lacks the scope write.\n']);
    });

    test('a refusal exits with 2, and prints a line for each finding', async () => {
      await writeFile(
        toPath('bad-grid.json'),
        JSON.stringify({ '/document/pipeline/weighting/cap': [7], '/request/transaction_cost_bps': [-1] }),
      );
      const { status, err } = await runCommand(['sweep', toPath('bad-grid.json'), '--index', 'EVEN']);
      expect([status, err.split('\n').filter((line) => line.startsWith('  error ')).length]).toEqual([2, 2]);
      expect((await runCommand(['backtest', 'NOBODY'])).err).toMatch(/^divisor: INDEX_NOT_FOUND: .*\n$/);
    });

    test('a job that fails ends with 1 and its own code', async () => {
      const { status, err } = await runCommand(['risk', 'short', '--identifiers', 'A,B', '--start', '2022-12-28']);
      expect([status, err]).toEqual([1, expect.stringMatching(/^divisor: RISK_INSUFFICIENT_DATA: /)]);
    });

    test('a folder outside the allowed ones is refused without its path, with a hint to the list of allowed folders', async () => {
      const key = (
        await runHere(['keys', 'create', '--home', home, '--name', 'data', '--scopes', 'read,data'])
      ).out.trim();
      const { status, err } = await runCommand(['import', '/', '--name', 'Root'], { DIVISOR_API_KEY: key });
      expect([status, err.split('\n').at(-2)]).toEqual([
        2,
        expect.stringMatching(
          /^ {2}Run `divisor config` on the machine .* --data-roots\. .* divisor import uploads it\.$/,
        ),
      ]);
      expect(err).toContain('error LOCATION_NOT_ALLOWED location: ');
      expect(err).toContain('(--data-roots, DIVISOR_DATA_ROOTS)');
      expect(err).not.toContain(folder);
    });

    test('views are printed as one JSON object per row in a pipe, and as CSV with the same values', async () => {
      await runCommand(['backtest', 'EVEN', '--if-stale']);
      const lines = toLines((await runCommand(['levels', 'EVEN', '--start', '2022-12-01'])).out);
      const table = (await runCommand(['levels', 'EVEN', '--start', '2022-12-01', '--csv'])).out.trim().split('\r\n');
      expect(table[0]).toBe('date,price,divisor');
      const rows = lines
        .slice(0, -1)
        .map(({ date, price, divisor }) => [date, price, divisor].map((cell) => cell ?? '').join(','));
      expect(table.slice(1)).toEqual(rows);
      expect(rows.length).toBeGreaterThan(15);
    });

    test('market data, limits and curves are printed as rows of the response', async () => {
      const readRows = async (words: readonly string[]) => {
        const { status, out, err } = await runCommand(words);
        expect([words, status, err]).toEqual([words, 0, '']);
        return toLines(out)
          .slice(0, -1)
          .map(({ event: _row, ...members }) => members);
      };
      const bars = (await readFile(toPath('prices/market.csv'), 'utf8')).trim().split('\n');
      const closes = bars.map((bar) => bar.split(',')).filter(([date, name]) => name === 'A' && date! >= '2022-12-28');
      const prices = await readRows(['data', 'prices', 'A', '--start', '2022-12-28', '--columns', 'CLOSE']);
      expect(prices).toEqual(closes.map(([date, _name, close]) => ({ date, CLOSE: Number(close) })));
      expect((await readRows(['data', 'names'])).map(({ identifier }) => identifier)).toEqual(['A', 'B', 'C', 'D']);
      const [a, none] = await readRows(['data', 'reference', 'A,NOBODY', '--fields', 'CLOSE', '--as-of', '2022-12-28']);
      expect([a, none!['found']]).toEqual([{ identifier: 'A', found: true, CLOSE: Number(closes[0]![2]) }, false]);
      expect(await readRows(['data', 'actions', 'A'])).toEqual([]);
      expect(await readRows(['data', 'series'])).toEqual([]);
      expect((await readRows(['data', 'fields'])).map(({ name }) => name)).toContain('MOMENTUM');
      expect(await readRows(['strategy', 'list'])).toEqual([]);
      // Each of the four securities has 25 %, which exceeds the maximum of 10 %.
      const limits = await readRows(['limits', 'EVEN', '--by', 'IDENTIFIER']);
      expect(limits.some(({ value, limit }) => Number(value) > 0.25 && limit === 0.1)).toBe(true);
      expect(limits.every(({ rule }) => rule === 'UCITS_5_10_40')).toBe(true);
      const curve = await readRows(['term-structure', 'EVEN', '2023-06-30', '--as-of', '2022-12-30', '--rate', '0.05']);
      const spot = (await readRows(['levels', 'EVEN', '--start', '2022-12-30']))[0]!['price'] as number;
      expect(curve[0]!['fair_value']).toBeCloseTo(spot * Math.exp((0.05 * 182) / 365), 8);
      const [curveWith] = await readRows(['term-structure', 'EVEN', '2023-06-30', '--dividends', '2023-01-20:2']);
      expect(curveWith!['dividend_points']).toBe(2);
      const command = ['events', '--from', '2023-01-01', '--to', '2023-12-31', '--index', 'EVEN', '--kinds', 'expiry'];
      const thirdFridays = ['2023-03-17', '2023-06-16', '2023-09-15', '2023-12-15'];
      expect((await readRows(command)).map(({ date }) => date)).toEqual(thirdFridays);
      expect((await runCommand([...command, '--out', toPath('year.ics')])).status).toBe(0);
      const calendarText = await readFile(toPath('year.ics'), 'utf8');
      expect([...calendarText.matchAll(/^DTSTART;VALUE=DATE:(\d+)/gm)].map(([, day]) => day)).toEqual(
        thirdFridays.map((day) => day.replaceAll('-', '')),
      );
      expect(await readRows(['actions', 'EVEN'])).toEqual([]);
      expect(await readRows(['actions', 'EVEN', '--choices'])).toEqual([]);
      const pack = await runCommand(['rebalance-pack', 'EVEN', '--aum', '1e6']);
      expect(pack.err).toContain('no volume for A and 3 more');
      const orders = toLines(pack.out).slice(0, -1);
      expect(orders.map(({ account, side }) => `${account} ${side}`)).toEqual(Array<string>(4).fill('AUM buy'));
      for (const { weight_after } of orders) expect(Number(weight_after)).toBeCloseTo(0.25, 3);
      expect(await runCommand(['factor-risk', 'EVEN'])).toMatchObject({ status: 64 }); // the command requires a benchmark
      for (const words of ['total-risk EVEN', 'factor-risk EVEN --benchmark A'])
        expect((await readRows(words.split(' '))).reduce((sum, { share }) => sum + Number(share), 0)).toBeCloseTo(1, 9);
    });

    test('a definition is written to a file and stored again, and a difference is reported at its path', async () => {
      expect((await runCommand(['index', 'show', 'EVEN', '--out', toPath('shown.json')])).status).toBe(0);
      expect(toLines((await runCommand(['index', 'diff', 'EVEN', toPath('shown.json')])).out)).toHaveLength(1);
      expect(toLines((await runCommand(['index', 'diff', 'EVEN', toPath('even.json')])).out)).toHaveLength(1);
      const changedIndex = { ...INDEX, rebalance: { frequency: 'monthly' } };
      await writeFile(toPath('changed.json'), JSON.stringify(changedIndex));
      expect(toLines((await runCommand(['index', 'diff', 'EVEN', toPath('changed.json')])).out)[0]).toEqual({
        event: 'row',
        path: '/rebalance/frequency',
        stored: '"quarterly"',
        file: '"monthly"',
      });
    });

    test('each view is printed, and an unknown view is refused with the known ones', async () => {
      for (const words of [
        ['stores'],
        ['jobs', '--kind', 'backtest,render', '--status', 'succeeded'],
        ['renders'],
        ['index', 'list'],
        ['index', 'preview', 'EVEN'],
        ['index', 'explain', 'EVEN', 'A'],
        ['index', 'methodology', 'EVEN'],
        ['weights', 'EVEN'],
        ['rebalances', 'EVEN'],
        ['attribution', 'EVEN'],
        ['rolling', 'EVEN', '--window', '20'],
        ['performance', 'EVEN'],
        ['view', 'rolling-risk', 'EVEN', '--with', 'window=20'],
        ['view', 'rebalance', 'EVEN', '--with', 'date=2022-12-01'],
        ['compare', 'EVEN', '--benchmark', 'A', '--start', '2022-12-01'],
        ['watchlist', 'list'],
        ['audit', 'desk'],
      ]) {
        const { status, out, err } = await runCommand(words);
        expect([words, status, err]).toEqual([words, 0, '']);
        expect(toLines(out).at(-1)?.event).toBe('result');
      }
      const [row, peer] = toLines((await runCommand(['compare', 'EVEN', '--benchmark', 'A'])).out);
      expect(row).toMatchObject({ index_id: 'EVEN', correlation_EVEN: 1, correlation_A: peer!['correlation_EVEN'] });
      // The store has no reference data by which securities could be grouped.
      expect(await runCommand(['attribution', 'EVEN', '--by', 'SECTOR'])).toMatchObject({
        status: 2,
        err: expect.stringContaining('SECTOR'),
      });
      const figures = toLines((await runCommand(['performance', 'EVEN'])).out);
      expect(figures.find(({ figure }) => figure === 'tracking_error')).toMatchObject({ against: 'EVEN' });
      expect(
        await runCommand(['export', 'levels', '--index', 'EVEN', '--out', toPath('absent/levels.csv')]),
      ).toMatchObject({
        status: 64,
        err: expect.stringContaining('absent does not exist'),
      });
      expect(await runCommand(['index', 'shwo'])).toMatchObject({
        status: 64,
        err: expect.stringContaining('Did you mean index show?'),
      });
    });

    test('backtests of many indices report each outcome, and exit with 1 if one was refused', async () => {
      const { status, out, err } = await runCommand(['backtests', 'EVEN,NOBODY', '--csv']);
      const [header, even, none] = out.split('\r\n');
      expect([status, err, header]).toEqual([1, '', 'index_id,outcome,total_return,error']);
      expect(even).toMatch(/^EVEN,done,-?[\d.e-]+,$/);
      expect(none).toMatch(/^NOBODY,refused,,INDEX_NOT_FOUND: /);
      expect(await runCommand(['backtests', 'EVEN', '--if-stale', '--csv'])).toMatchObject({
        status: 0,
        out: `${header}\r\nEVEN,current,,\r\n`,
      });
      expect((await runCommand(['rerun', '--ids', 'EVEN', '--csv'])).out).toMatch(
        /^index_id.*\r\nEVEN,current,.*\r\n$/,
      );
      const row = JSON.parse((await runCommand(['backtests', 'EVEN'])).out.split('\n')[0]!) as {
        findings: { code: string }[];
      };
      const code = row.findings[0]!.code;
      expect((await runCommand(['backtests', 'EVEN', '--fail-on', `PARTIAL_DATE,${code}`])).status).toBe(3);
      expect((await runCommand(['backtests', 'EVEN', '--fail-on', 'PARTIAL_DATE'])).status).toBe(0);
    });

    test('a nightly script that runs twice at once and is killed once leaves complete files and no others', async () => {
      const key = (
        await runHere(['keys', 'create', '--home', home, '--name', 'night', '--scopes', 'read,run,data,write'])
      ).out.trim();
      await writeFile(toPath('odd.json'), JSON.stringify({ ...INDEX, id: 'ODD', name: 'Odd' }));
      const put = await runCommand(['index', 'put', toPath('odd.json')], { DIVISOR_API_KEY: key });
      expect([put.status, put.err]).toEqual([0, '']);
      await mkdir(toPath('night'));
      await writeFile(
        toPath('night.sh'),
        `set -e
cd ${toPath('night')}
divisor() { ${DIVISOR_IN_SHELL} "$@"; }
divisor refresh desk > /dev/null
divisor backtests EVEN,ODD --if-stale --csv --out runs.csv > /dev/null
divisor export levels --index EVEN --out levels.csv > /dev/null
`,
      );
      const environment = { PATH: process.env['PATH'], DIVISOR_URL: service.url, DIVISOR_API_KEY: key };
      const spawnNight = () => spawn('sh', [toPath('night.sh')], { env: environment, stdio: 'ignore', detached: true });
      const awaitStatus = async (child: ReturnType<typeof spawnNight>) =>
        ((await once(child, 'close')) as [number | null])[0];
      const killedNight = spawnNight();
      const statuses = [spawnNight(), spawnNight()].map(awaitStatus);
      process.kill(-killedNight.pid!, 'SIGKILL'); // kills the shell and its child processes
      expect(await Promise.all(statuses)).toEqual([0, 0]);
      const { levels } = (await (
        await fetch(`${service.url}/analytics/EVEN/levels`, { headers: { authorization: `Bearer ${key}` } })
      ).json()) as { levels: { index: string[] } };
      const rows = (await readFile(toPath('night/levels.csv'), 'utf8')).trim().split(/\r?\n/);
      expect(rows).toHaveLength(levels.index.length + 1);
      const runs = (await readFile(toPath('night/runs.csv'), 'utf8')).trim().split('\r\n');
      expect(runs.slice(1).map((row) => row.split(',').slice(0, 2))).toEqual([
        ['EVEN', expect.stringMatching(/^(done|current)$/) as string],
        ['ODD', expect.stringMatching(/^(done|current)$/) as string],
      ]);
    });

    test('a job of the same id with another request ends with 75; Ctrl-C cancels the job and ends with 130', async () => {
      const costs = Array.from({ length: 600 }, (_, i) => i / 10);
      const grid = { '/document/rebalance/frequency': ['daily'], '/request/transaction_cost_bps': costs };
      await writeFile(toPath('slow.json'), JSON.stringify(grid));
      const slowProcess = runDivisor(['sweep', toPath('slow.json'), '--index', 'EVEN', '--id', 'slow'], {
        DIVISOR_URL: service.url,
        DIVISOR_API_KEY: key,
      });
      await new Promise<void>((running) =>
        slowProcess.child.stdout.on('data', () => slowProcess.out().includes('"running"') && running()),
      );
      const { status, err } = await runCommand(['sweep', toPath('grid.json'), '--index', 'EVEN', '--id', 'slow']);
      expect([status, err]).toEqual([75, 'divisor: JOB_RUNNING: The job sweep:slow runs with a different request.\n']);
      slowProcess.child.kill('SIGINT');
      const endStatus = await slowProcess.ended;
      // On a busy machine the command may also report that it is still waiting.
      const messagesText = slowProcess.err().replaceAll(/^divisor sweep: still waiting .*\n/gm, '');
      expect([endStatus, messagesText]).toEqual([130, '']);
      const job = (await (
        await fetch(`${service.url}/jobs/sweep:slow`, { headers: { authorization: `Bearer ${key}` } })
      ).json()) as { status: string };
      expect(job.status).toBe('cancelled');
    });

    describe.skipIf(!hasPseudoTerminal)('on a terminal', () => {
      const createEnvironment = () => ({ DIVISOR_URL: service.url, DIVISOR_API_KEY: key });
      test('one line redraws itself with the progress, and the result is a table', async () => {
        const { status, screen, written } = await runOnTerminal(
          ['sweep', toPath('grid.json'), '--index', 'EVEN'],
          createEnvironment(),
        );
        expect(status).toBe(0);
        expect(written).toContain('\r\u001b[2K');
        expect(written).not.toContain('{"event"');
        const lines = screen.map((line) => line.trim());
        expect(lines[0]).toMatch(/^sweep +\d+\.\d s {2}done$/);
        expect(lines[1]).toMatch(/^rank +frequency +transaction_cost_bps +sharpe ratio +total return/);
        expect(lines.slice(2, 8).map((line) => line.split(/ +/)[0])).toEqual(['1', '2', '3', '4', '5', '6']);
        expect(lines).toContain('6 variants');
      });

      test('a backtest shows its level and findings, and an explanation every step to the weight', async () => {
        const { status, screen } = await runOnTerminal(['backtest', 'EVEN'], createEnvironment());
        const levels = toLines((await runCommand(['levels', 'EVEN'])).out).filter(({ event }) => event === 'row');
        const lines = screen.map((line) => line.trim());
        expect([status, lines]).toEqual([0, expect.arrayContaining(['rebalances           13'])]);
        const [first, last] = [levels[0]!, levels.at(-1)!];
        expect(lines.find((line) => line.startsWith('level '))?.replaceAll(/ +/g, ' ')).toBe(
          `level ${(last['price'] as number).toFixed(2)} on ${String(last['date'])}, from 100.00 on ${String(first['date'])}`,
        );
        expect(lines.find((line) => line.startsWith('CURRENCY_ASSUMED'))).toContain('no CURRENCY');
        const explanation = await runOnTerminal(['index', 'explain', 'EVEN', 'A'], createEnvironment());
        const text = explanation.screen.join('\n');
        // Each of four securities has a quarter on the rebalance date.
        for (const part of [
          /^A is in EVEN on 2022-12-30$/m,
          /composition +in force from 2022-12-30, decided on 2022-12-30/,
          /EqualWeight: raw weight 1 = 1$/m,
          /1 \/ 4, the sum of all raw weights, = 25\.0000%/,
          /^ +weight +25\.0000%$/m,
          /entered +2020-01-02, by rebalance, with 25\.0000% at \d/,
        ])
          expect(text).toMatch(part);
      });

      test('an error is on its own line', async () => {
        const { status, screen } = await runOnTerminal(['backtest', 'NOBODY'], createEnvironment());
        expect([status, screen]).toEqual([2, [expect.stringMatching(/^divisor: INDEX_NOT_FOUND: /)]]);
      });

      testSqlShell(createEnvironment);
      test('--json prints the same output as a pipe', async () => {
        const { status, screen } = await runOnTerminal(['backtest', 'EVEN', '--json'], createEnvironment());
        expect([status, toLines(screen.join('\n')).at(-1)?.event]).toEqual([0, 'result']);
      });
    });
  });
}

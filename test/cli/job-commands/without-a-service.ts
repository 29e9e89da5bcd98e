import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { DivisorError, type DivisorClient } from '#clients/typescript/divisor.js';
import { readCommandLine } from '#cli/commands/command-line.js';
import { refresh } from '#cli/commands/data.js';
import { SERVICE_COMMANDS } from '#cli/dispatch.js';
import { API } from '#contract/api.js';
import { defineQuery, type Route } from '#contract/route.js';
import { runHere } from '../process.js';
import { COMPLETED, COMPLETED_IN_A_LIST, isInstalled, listCompletions } from './completed.js';
import { toPath } from './set-up.js';
import { type AddressInfo, createServer } from 'node:net';

export async function findDeadPort(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((closed) => server.close(() => closed())),
  };
}

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly properties?: object;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

function listMembers(schema: Schema, definitions = schema.$defs ?? {}): string[] {
  const { $ref, properties = {}, anyOf = [], oneOf = [], allOf = [] } = schema;
  const named = $ref === undefined ? [] : [definitions[$ref.replace('#/$defs/', '')]!];
  const variants = [...named, ...anyOf, ...oneOf, ...allOf];
  return [...Object.keys(properties), ...variants.flatMap((variant) => listMembers(variant, definitions))];
}

export function describeWithoutAService(): void {
  describe('without a service', () => {
    test.for(['bash', 'zsh', 'fish'] as const)(
      '%s completes commands, flags and their values',
      async (shell, { skip }) => {
        if (shell === 'fish' && !isInstalled('fish')) skip('fish is not installed');
        const script = (await runHere(['completion', shell])).out;
        const cases = shell === 'zsh' ? COMPLETED : [...COMPLETED, ...COMPLETED_IN_A_LIST];
        const lines = cases.map(([line]) => line);
        expect(listCompletions(shell, script, lines)).toEqual(cases.map(([, words]) => words));
      },
    );

    test('every family of routes has its command, which each shell completes', async () => {
      const words =
        'refresh activate stores inspect import audit repair backtest backtests rerun optimise study sweep risk report levels ' +
        'weights rebalances attribution rolling performance view compare export jobs renders publish published verify-published';
      const families = {
        index: ['list', 'show', 'put', 'diff', 'versions', 'restore', 'preview', 'explain', 'methodology'],
        watchlist: ['list', 'put'],
        publication: ['keys', 'rotate'],
      };
      for (const shell of ['bash', 'zsh', 'fish']) {
        const { status, out } = await runHere(['completion', shell]);
        const printedWords = new Set(out.split(/[\s"]+/));
        const missingWords = [...words.split(' '), ...Object.entries(families).flat(2)].filter(
          (word) => !printedWords.has(word),
        );
        expect([shell, status, missingWords]).toEqual([shell, 0, []]);
      }
      for (const words of ['import --mapping', 'import --field', 'backtests --if-stale', 'backtests --benchmark']) {
        const [name = '', flag = ''] = words.split(' ');
        expect((await runHere([name, '--help'])).out).toContain(flag);
      }
    });

    test('the words and flags of a command are parameters of its operation', () => {
      const commands = Object.entries(SERVICE_COMMANDS).filter(([, { operation }]) => operation !== undefined);
      expect(commands.length).toBeGreaterThan(50);
      for (const [name, { operation, words = [], flags = {}, fixed = {} }] of commands) {
        const route: Route = API[operation as keyof typeof API];
        const members = new Set([
          ...Object.keys(defineQuery(route)?.shape ?? {}),
          ...listMembers(
            z.toJSONSchema(route.body?.schema ?? z.strictObject({}), { io: 'input', unrepresentable: 'any' }),
          ),
          ...(route.versioned === true ? ['note'] : []),
        ]);
        const params = words.filter(({ member, isBody }) => member === undefined && isBody !== true);
        expect([name, params.length]).toEqual([name, [...route.path.matchAll(/\{/g)].length]);
        const stated = [
          ...words.map(({ member }) => member ?? null),
          ...Object.entries(flags).map(([flag, { member = flag.replaceAll('-', '_') }]) => member),
          ...Object.keys(fixed),
        ];
        expect([name, stated.filter((member) => member !== null && !members.has(member))]).toEqual([name, []]);
      }
    });

    test('a refresh uses the result of an equal pending one, and waits for any other', async () => {
      const busyError = new DivisorError({ code: 'STORE_REFRESHING', message: 'busy', detail: null }, { status: 409 });
      const notFound = new DivisorError({ code: 'JOB_NOT_FOUND', message: 'no job', detail: null }, { status: 404 });
      const failedError = new DivisorError(
        { code: 'STORE_READ_FAILED', message: 'gone', detail: null },
        { status: null },
      );
      const pendingJob = { job_id: 'refresh:desk', kind: 'refresh', status: 'pending', result: null, request: 'own' };
      /** Runs the command while other refreshes of the store run one after another. */
      const submitJob = async (
        job: { kind: 'refresh' | 'sync'; request: object },
        words: readonly string[],
        others = 1,
      ) => {
        const runningJob = { ...job, job_id: `${job.kind}:desk`, status: 'running', result: null };
        const waitedFor: string[] = [];
        const call = (operation: string, { params }: { params: { job_id?: string } }) => {
          if (operation === 'refreshStore')
            return waitedFor.length < others ? Promise.reject(busyError) : Promise.resolve(pendingJob);
          return params.job_id === runningJob.job_id ? Promise.resolve(runningJob) : Promise.reject(notFound);
        };
        const waitForJob = ({ job_id: id }: { job_id: string }) => {
          waitedFor.push(id);
          return Promise.reject(failedError);
        };
        const { flags } = readCommandLine('refresh', refresh, ['desk', ...words]);
        const submission = await refresh.submit({ call, waitForJob } as unknown as DivisorClient, ['desk'], flags);
        return { taken: submission, waitedFor };
      };
      const laterRefresh = { kind: 'refresh', request: { full: false, until: null } } as const;
      const rejectingRefresh = {
        kind: 'refresh',
        request: { ...laterRefresh.request, fail_on: 'PARTIAL_DATE' },
      } as const;
      const failFlags = ['--fail-on', 'PARTIAL_DATE'];
      for (const [job, words] of [
        [laterRefresh, []],
        [rejectingRefresh, failFlags],
      ] as const)
        expect(await submitJob(job, words)).toMatchObject({ taken: { job: { request: job.request } }, waitedFor: [] });
      for (const words of [['--full'], ['--until', '2024-06-28'], ['--dry-run'], failFlags])
        expect(await submitJob(laterRefresh, words)).toEqual({
          taken: { job: pendingJob },
          waitedFor: ['refresh:desk'],
        });
      expect(await submitJob({ ...laterRefresh, kind: 'sync' }, [])).toEqual({
        taken: { job: pendingJob },
        waitedFor: ['sync:desk'],
      });
      // Another process can start a refresh as soon as the first one has ended.
      expect((await submitJob(laterRefresh, ['--full'], 2)).waitedFor).toEqual(['refresh:desk', 'refresh:desk']);
      await expect(submitJob(laterRefresh, ['--full'], 10)).rejects.toBe(busyError);
    });

    test('an address without a service exits with 69', async () => {
      const { port, close } = await findDeadPort();
      await close();
      const { status, out, err } = await runHere([
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
        `divisor: Nothing answers at http://127.0.0.1:${port}. Start one with \`divisor serve\`, or omit --url and DIVISOR_URL to work on a home.\n`,
      ]);
    });

    test.each([
      [['backtest', 'X', '--url', 'localhost:8080'], '--url must be an address such as http://127.0.0.1:8080'],
      [['backtest'], 'divisor backtest takes INDEX; 0 words were given'],
      [['backtest', 'X', '--cost-bps', 'five'], '--cost-bps must be a number, not "five"'],
      [['backtest', 'X', '--cost', '5'], "Unknown option '--cost'"],
      [['inspect', 'X', '--date-formt', 'Y'], 'Did you mean --date-format?'],
      [['verify-published', 'x', '--haed', 'y'], 'Did you mean --head?'],
      [['import', '.', '--adjustment', 'both'], '--adjustment must be one of none, splits, total, not "both"'],
      [['sweep', 'nowhere.json', '--index', 'X'], 'nowhere.json cannot be read as JSON'],
      [['compare', 'A', 'B'], '2 words were given. Several ids are one word: A,B.'],
      [['report', 'FACTSHEET-A4', '--out', 'f.txt'], 'the extension of f.txt must be .pdf'],
      [['import', 'nowhere.xlsx'], 'there is no file'],
      [['jobs', '--limit', '-3'], '--limit lacks its value; write a value that begins with a dash as --limit=VALUE'],
      [['verify-published', 'nowhere.jsonl'], 'nowhere.jsonl cannot be read: ENOENT'],
      [['bench', '--url', 'http://127.0.0.1:1'], 'divisor bench needs --index'],
      [['bench', '--years', '1'], '--years must be at least 2'],
      [
        ['import', '/', '--url', 'http://127.0.0.1:1', '--data-roots', '/'],
        '--data-roots applies only to a home that the command opens',
      ],
    ])('%j is explained and ends with 64', async (words, message) => {
      const { status, out, err } = await runHere([...words], { DIVISOR_HOME: toPath('unused') });
      expect([status, out, err]).toEqual([64, '', expect.stringContaining(message)]);
      expect(err.trim().split('\n')).toHaveLength(1);
    });

    test('every command explains its words, flags, examples and exit statuses', async () => {
      for (const name of ['import', 'backtest', 'sweep', 'optimise', 'risk', 'validate-risk', 'report']) {
        const { status, out } = await runHere([name, '--help']);
        expect([name, status]).toEqual([name, 0]);
        for (const part of [`Usage: divisor ${name} `, 'Flags', 'Examples', 'Exit statuses', '--url URL', '--json'])
          expect(out).toContain(part);
        for (const example of out.split('Examples\n')[1]!.split('\n\n')[0]!.split('\n'))
          expect(example.trim()).toMatch(new RegExp(`^divisor ${name} `));
      }
    });
  });
}

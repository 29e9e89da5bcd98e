import { expect, test } from 'vitest';
import type { runHere } from '../process.js';
import { toLines } from './set-up.js';

/** Tests the commands on failed jobs and on kinds of jobs. @param runCommand runs a command against the service */
export function testRetries(runCommand: (words: readonly string[]) => ReturnType<typeof runHere>): void {
  test('a bulk retry without failed jobs reports no rows, and unknown kinds of jobs are refused', async () => {
    const { status, out, err } = await runCommand([
      'jobs',
      'retry',
      '--failed',
      '--kind',
      'sweep',
      '--since',
      '2024-06-28',
    ]);
    expect([status, err, toLines(out)]).toEqual([0, '', [{ event: 'result', result: { rows: 0 } }]]);
    expect(await runCommand(['jobs', 'retry'])).toMatchObject({ status: 64, err: expect.stringContaining('--failed') });
    expect(await runCommand(['jobs', 'retry', '--failed', '--kind', 'cook'])).toMatchObject({ status: 64 });
    expect(toLines((await runCommand(['jobs', 'kinds'])).out)[0]).toMatchObject({
      kind: 'backtest',
      paused_at: null,
    });
    // The key lacks the scope admin.
    expect(await runCommand(['jobs', 'pause', 'sweep'])).toMatchObject({
      err: expect.stringContaining('FORBIDDEN_SCOPE'),
    });
    expect(await runCommand(['jobs', 'resume', 'cook'])).toMatchObject({
      status: 64,
      err: expect.stringContaining('cook'),
    });
    const listedOutcome = await runCommand(['jobs', '--kind', 'backtest']);
    expect(toLines(listedOutcome.out)[0]).toMatchObject({ event: 'row', job_id: 'backtest:EVEN' });
  });
}

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { startService } from './process.js';

test('a stop answers long polls and event streams, and releases the running job', async () => {
  const home = await mkdtemp(join(tmpdir(), 'stop-'));
  const run = await startService(home, ['--drain-ms', '0']);
  try {
    const startedAnswer = await fetch(`${run.url}/data/synthetic`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ assets: 1000, start: '1990-01-01', end: '2024-12-31' }),
    });
    const { job_id: jobId } = (await startedAnswer.json()) as { job_id: string };
    const events = await fetch(`${run.url}/jobs/${jobId}/events`);
    const poll = request(`${run.url}/jobs/${jobId}?wait=60`);
    const response = once(poll, 'response') as Promise<[IncomingMessage]>;
    await new Promise<void>((sent) => poll.end(sent));
    await fetch(`${run.url}/health/live`); // all earlier output has been read
    run.child.kill('SIGTERM');
    const [told, [answer]] = await Promise.all([events.text(), response]);
    expect(told).toContain('event: status');
    expect(((await json(answer)) as { status: string }).status).toMatch(/pending|running/);
    expect(await run.ended).toBe(0);

    const next = await startService(home, ['--drain-ms', '0']);
    try {
      const job = (await (await fetch(`${next.url}/jobs/${jobId}`)).json()) as { status: string; attempt: number };
      expect(job.status).toMatch(/pending|running/);
      expect((await fetch(`${next.url}/jobs/${jobId}`, { method: 'DELETE' })).status).toBe(200);
    } finally {
      next.child.kill('SIGKILL');
      await next.ended;
    }
  } finally {
    run.child.kill('SIGKILL');
    await run.ended;
    await rm(home, { recursive: true, force: true });
  }
});

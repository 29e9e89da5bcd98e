import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type Run } from './process.js';
import { waitFor } from '../waiting.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

let home: string;
let service: Run & { readonly url: string };
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'divisor-tracing-'));
  service = await startService(home, ['--workers', '1', '--drain-ms', '0']);
});
afterAll(async () => {
  service.child.kill('SIGTERM');
  await service.ended;
  await rm(home, { recursive: true, force: true });
});

interface Job {
  readonly job_id: string;
  readonly status: string;
  readonly request_id: string | null;
  readonly trace_id: string | null;
}

test('a job is found by the request that started it: in its status, in the log, and in the metrics', async () => {
  const answer = await fetch(`${service.url}/data/synthetic`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-request-id': 'from-the-client',
      traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
    },
    body: JSON.stringify({ store_id: 'market', assets: 3, start: '2024-01-02', end: '2024-03-28' }),
  });
  expect([answer.headers.get('x-request-id'), answer.headers.get('traceresponse')]).toEqual([
    'from-the-client',
    expect.stringMatching(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`)),
  ]);
  let job = (await answer.json()) as Job;
  while (job.status === 'pending' || job.status === 'running')
    job = (await (await fetch(`${service.url}/jobs/${job.job_id}?wait=30`)).json()) as Job;
  expect(job).toMatchObject({ status: 'succeeded', request_id: 'from-the-client', trace_id: TRACE });

  const listRequestLines = (): Record<string, unknown>[] => {
    const completeLines = service.err().slice(0, service.err().lastIndexOf('\n'));
    const lines = completeLines.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
    return lines.filter(({ request_id: id }) => id === 'from-the-client');
  };
  const reportedIds = [
    ['request', 202],
    ['job accepted', undefined],
    ['job changed', 'running'],
    ['job changed', 'succeeded'],
  ];
  // A client may receive the response of a job before the last log line has passed through the pipe.
  const requestLines = await waitFor(() => {
    const lines = listRequestLines();
    expect(lines.map(({ msg, status }) => [msg, status])).toEqual(expect.arrayContaining(reportedIds));
    return lines;
  });
  expect(requestLines.map(({ trace_id: id }) => id)).toEqual(requestLines.map(() => TRACE));

  const metricsText = await (await fetch(`${service.url}/metrics`)).text();
  expect(metricsText).toMatch(/^divisor_job_seconds_count\{kind="generate",outcome="succeeded"\} 1$/m);
  expect(metricsText).toMatch(/^divisor_jobs\{state="pending"\} 0$/m);
  expect(metricsText).toMatch(/^divisor_worker_restarts_total\{cause="crashed"\} 0$/m);
  expect(metricsText).toMatch(/^divisor_store_bytes\{part="documents"\} [1-9]\d*$/m);
  expect(metricsText).toMatch(/^divisor_store_bytes\{part="stores"\} [1-9]\d*$/m);
});

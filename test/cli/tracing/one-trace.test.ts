import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { startServiceHere } from '../process.js';
import { openCollector, type Collector, type ReceivedSpan } from './collector.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

let collector: Collector;
beforeEach(async () => void (collector = await openCollector()));
afterEach(() => collector.close());

interface Job {
  readonly job_id: string;
  readonly status: string;
  readonly trace_id: string | null;
}

/** Sends a request and waits for the job that it starts. */
async function runJob(url: string, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Job> {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  let job = (await answer.json()) as Job;
  while (job.status === 'pending' || job.status === 'running')
    job = (await (await fetch(`${url}/jobs/${job.job_id}?wait=30`)).json()) as Job;
  return job;
}

const MARKET = { store_id: 'market', assets: 5, start: '2023-01-02', end: '2024-03-28' };
const INDEX = {
  id: 'EVEN',
  name: 'Even',
  calendar: 'XNYS',
  base_date: '2023-06-01',
  pipeline: { weighting: { type: 'EqualWeight' } },
};

const findSpan = (name: string): ReceivedSpan => {
  const span = collector.spans.find((each) => each.name === name);
  if (span === undefined)
    throw new Error(`no span ${name} among ${collector.spans.map((each) => each.name).join(', ')}`);
  return span;
};
const isWithin = (inner: ReceivedSpan, outer: ReceivedSpan): boolean =>
  BigInt(inner.startTimeUnixNano) >= BigInt(outer.startTimeUnixNano) - MARGIN &&
  BigInt(inner.endTimeUnixNano) <= BigInt(outer.endTimeUnixNano) + MARGIN;
/** Maximum clock difference between threads and processes of one machine: 5 ms, in nanoseconds. */
const MARGIN = 5_000_000n;

test('one trace covers the request of a client, the reader process, the job and its thread', async () => {
  const { url, stop } = await startServiceHere(await createTemporaryFolder(), [], {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-team=index%20desk',
    OTEL_SERVICE_NAME: 'front',
  });
  const generationJob = await runJob(url, '/data/synthetic', MARKET, { traceparent: `00-${TRACE}-${PARENT}-01` });
  expect(generationJob).toMatchObject({ status: 'succeeded', trace_id: TRACE });
  await fetch(`${url}/indices/EVEN`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(INDEX),
  });
  const run = await runJob(url, '/analytics/EVEN/backtest', {});
  expect(run.status).toBe('succeeded');
  await stop(); // the service sends the remaining spans when it stops

  expect(collector.requests[0]).toMatchObject({ path: '/v1/traces', headers: { 'x-team': 'index desk' } });
  const request = findSpan('POST /data/synthetic');
  const job = findSpan('job generate');
  const read = findSpan('read generate');
  const reader = findSpan('reader process generate');
  expect([request, job, read, reader].map(({ traceId }) => traceId)).toEqual([TRACE, TRACE, TRACE, TRACE]);
  expect([request.parentSpanId, job.parentSpanId, read.parentSpanId, reader.parentSpanId]).toEqual([
    PARENT,
    request.spanId,
    job.spanId,
    read.spanId,
  ]);
  expect([request.kind, request.attributes['http.response.status_code'], request.service]).toEqual([2, '202', 'front']);
  expect(Number(reader.attributes['process.pid'])).not.toBe(process.pid);
  expect([isWithin(read, job), isWithin(reader, read)]).toEqual([true, true]);

  // A request without a trace id starts a trace, and the job has the same trace id.
  const startSpan = findSpan('POST /analytics/{index_id}/backtest');
  const [backtest, task, thread] = [findSpan('job backtest'), findSpan('task backtest'), findSpan('thread backtest')];
  expect([startSpan.traceId, backtest.traceId, task.traceId]).toEqual([run.trace_id, run.trace_id, run.trace_id]);
  expect([startSpan.parentSpanId, backtest.parentSpanId, task.parentSpanId, thread.parentSpanId]).toEqual([
    undefined,
    startSpan.spanId,
    backtest.spanId,
    task.spanId,
  ]);
  expect([isWithin(task, backtest), isWithin(thread, task)]).toEqual([true, true]);
  expect(Number(thread.attributes['thread.id'])).toBeGreaterThan(0);
  expect(collector.spans.some(({ name, traceId }) => name === 'store transaction' && traceId !== TRACE)).toBe(true);
});

test('unsampled traces send no spans', async () => {
  const { url, stop } = await startServiceHere(await createTemporaryFolder(), [], {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/own`,
    OTEL_TRACES_SAMPLER: 'parentbased_always_off',
  });
  const answer = await fetch(`${url}/indices`, { headers: { traceparent: `00-${TRACE}-${PARENT}-00` } });
  expect(answer.headers.get('traceresponse')).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  await fetch(`${url}/indices`);
  await fetch(`${url}/indices/NONE`, { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } });
  await stop();
  expect(collector.spans.map(({ name, attributes }) => [name, attributes['http.response.status_code']])).toEqual([
    ['GET /indices/{index_id}', '404'],
  ]);
  expect(collector.requests.map(({ path }) => path)).toEqual(['/own']);
});

test('a collector that refuses or is unavailable delays no response and no stop', async () => {
  const refusing = await openCollector(503);
  for (const address of [refusing.url, 'http://127.0.0.1:1']) {
    const { url, stop } = await startServiceHere(await createTemporaryFolder(), [], {
      OTEL_EXPORTER_OTLP_ENDPOINT: address,
    });
    expect((await fetch(`${url}/indices`)).status).toBe(200);
    await stop();
  }
  expect(refusing.requests.length).toBeGreaterThan(0);
  await refusing.close();
});

test.each(['true', 'TRUE'])('OTEL_SDK_DISABLED=%s sends nothing to the collector', async (disabled) => {
  const { url, stop } = await startServiceHere(await createTemporaryFolder(), [], {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_SDK_DISABLED: disabled,
  });
  expect((await fetch(`${url}/indices`)).status).toBe(200);
  await stop();
  expect(collector.requests).toEqual([]);
});

test('without a collector nothing is traced, and an invalid address refuses the start', async () => {
  const { url, stop } = await startServiceHere(await createTemporaryFolder());
  const answer = await fetch(`${url}/indices`);
  expect(answer.headers.get('traceresponse')).toBeNull();
  await stop();
  await expect(
    startServiceHere(await createTemporaryFolder(), [], { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }),
  ).rejects.toThrow(/OTEL_EXPORTER_OTLP_ENDPOINT.*http/);
});

import { expect, test } from 'vitest';
import { createMetrics } from '#services/shared/metrics.js';

/** Creates the metrics of a service. The service has pending and running jobs and a home of two parts. */
function renderMetrics(overrides: Partial<Parameters<typeof createMetrics>[0]> = {}) {
  return createMetrics({
    measuresProcess: true,
    version: '1.2.3',
    commit: '0123456789abcdef',
    jobs: async () => ({ pending: 4, running: 1 }),
    lanes: async () => ({
      heavy: { waiting: 4, running: 1, places: 4, oldestSeconds: 2.5 },
      huge: { waiting: 1, running: 1, places: 2, oldestSeconds: 9 },
      light: { waiting: 0, running: 0, places: 0, oldestSeconds: null },
    }),
    tasks: (lane) => (lane === 'heavy' ? 3 : 0),
    homeBytes: async () => ({ documents: 1000, artifacts: 2000 }),
    freeBytes: async () => 5e9,
    ...overrides,
  });
}

test('metrics count responses by operation and status, and jobs by state', async () => {
  let runningJobs = 1;
  const metrics = renderMetrics({ jobs: async () => ({ pending: 4, running: runningJobs }) });
  metrics.observe({ operation: 'getHealth', method: 'GET', status: 200, seconds: 0.002, keyId: null });
  metrics.observe({ operation: 'getHealth', method: 'GET', status: 200, seconds: 0.2, keyId: null });
  metrics.observe({ operation: undefined, method: 'GET', status: 404, seconds: 0.001, keyId: null });
  runningJobs = 2;
  const { text, type } = await metrics.expose();
  expect(type).toContain('text/plain; version=0.0.4');
  expect(text.split('\n')).toEqual(
    expect.arrayContaining([
      '# TYPE divisor_http_request_seconds histogram',
      'divisor_http_request_seconds_bucket{le="0.001",operation="getHealth",status="200"} 0',
      'divisor_http_request_seconds_bucket{le="0.0025",operation="getHealth",status="200"} 1',
      'divisor_http_request_seconds_bucket{le="0.1",operation="getHealth",status="200"} 1',
      'divisor_http_request_seconds_bucket{le="0.25",operation="getHealth",status="200"} 2',
      'divisor_http_request_seconds_bucket{le="+Inf",operation="getHealth",status="200"} 2',
      'divisor_http_request_seconds_sum{operation="getHealth",status="200"} 0.202',
      'divisor_http_request_seconds_count{operation="getHealth",status="200"} 2',
      'divisor_http_request_seconds_count{operation="none",status="404"} 1',
      'divisor_jobs{state="pending"} 4',
      'divisor_jobs{state="running"} 2',
      'divisor_pool_tasks{lane="heavy"} 3',
      'divisor_pool_tasks{lane="light"} 0',
      'divisor_build_info{version="1.2.3",commit="0123456789abcdef"} 1',
    ]),
  );
});

test('ended jobs are timed by kind and outcome; jobs that never started are not', async () => {
  const metrics = renderMetrics();
  metrics.jobEnded({
    jobId: 'backtest:A',
    owner: 'desk',
    kind: 'backtest',
    outcome: 'succeeded',
    seconds: 0.7,
    waitSeconds: 0.02,
  });
  metrics.jobEnded({
    jobId: 'backtest:A',
    owner: 'desk',
    kind: 'backtest',
    outcome: 'failed',
    seconds: 3,
    waitSeconds: 0.3,
  });
  metrics.jobEnded({
    jobId: 'render:A',
    owner: 'desk',
    kind: 'render',
    outcome: 'cancelled',
    seconds: null,
    waitSeconds: null,
  });
  const lines = (await metrics.expose()).text.split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'divisor_job_seconds_bucket{le="1",kind="backtest",outcome="succeeded"} 1',
      'divisor_job_seconds_sum{kind="backtest",outcome="failed"} 3',
      'divisor_job_wait_seconds_count{kind="backtest"} 2',
    ]),
  );
  expect(lines.filter((line) => line.startsWith('divisor_job_') && line.includes('kind="render"'))).toEqual([]);
});

test('requests and ended jobs are counted by key, and beyond a number of keys together', async () => {
  const metrics = renderMetrics();
  const response = { operation: 'getHealth', method: 'GET', status: 200, seconds: 0.002 };
  metrics.observe({ ...response, keyId: null });
  for (let key = 0; key < 300; key++) metrics.observe({ ...response, keyId: `key-${key}` });
  metrics.observe({ ...response, keyId: 'key-3' });
  const endedJob = { jobId: 'a', kind: 'backtest', outcome: 'succeeded', seconds: 1, waitSeconds: 0 } as const;
  metrics.jobEnded({ ...endedJob, owner: 'key-3' });
  metrics.jobEnded({ ...endedJob, owner: 'key-299' });
  metrics.jobEnded({ ...endedJob, owner: '' });
  const lines = (await metrics.expose()).text.split('\n').filter((line) => line.startsWith('divisor_key_'));
  expect(lines).toEqual(
    expect.arrayContaining([
      'divisor_key_requests_total{key="none"} 1',
      'divisor_key_requests_total{key="key-3"} 2',
      'divisor_key_requests_total{key="other"} 44',
      'divisor_key_jobs_total{key="key-3",kind="backtest",outcome="succeeded"} 1',
      'divisor_key_jobs_total{key="other",kind="backtest",outcome="succeeded"} 1',
      'divisor_key_jobs_total{key="none",kind="backtest",outcome="succeeded"} 1',
    ]),
  );
  expect(lines.filter((line) => line.startsWith('divisor_key_requests_total'))).toHaveLength(258);
});

test('the age of the newest backup is exposed, and no age where there is none', async () => {
  let age: number | undefined = 86_400;
  const metrics = renderMetrics({ backupAge: async () => age });
  expect((await metrics.expose()).text).toContain('divisor_backup_age_seconds{place="folder"} 86400');
  age = undefined;
  expect((await metrics.expose()).text).not.toContain('divisor_backup_age_seconds{');
});

test('lost threads are counted by their cause, from zero', async () => {
  const metrics = renderMetrics();
  metrics.threadLost('crashed');
  metrics.threadLost('crashed');
  expect((await metrics.expose()).text.split('\n')).toEqual(
    expect.arrayContaining([
      'divisor_worker_restarts_total{cause="crashed"} 2',
      'divisor_worker_restarts_total{cause="cancelled"} 0',
      'divisor_worker_restarts_total{cause="out_of_memory"} 0',
    ]),
  );
});

test('the size of the home is reported by part; unmeasurable parts are omitted', async () => {
  const wholeLines = (await renderMetrics().expose()).text.split('\n');
  expect(wholeLines).toEqual(
    expect.arrayContaining([
      'divisor_store_bytes{part="documents"} 1000',
      'divisor_store_bytes{part="artifacts"} 2000',
      'divisor_volume_free_bytes{volume="home"} 5000000000',
    ]),
  );
  const blind = await renderMetrics({ homeBytes: () => Promise.reject(new Error('gone')) }).expose();
  expect(blind.text).not.toContain('divisor_store_bytes{');
});

test('the sizes of a cluster are reported once they are known, by one process only', async () => {
  let sizes: { databaseBytes: number; results: number; resultBytes: number } | undefined;
  const cluster = renderMetrics({ shared: () => sizes });
  expect((await cluster.expose()).text).not.toMatch(/divisor_shared_\w+\{/);
  sizes = { databaseBytes: 3e10, results: 7, resultBytes: 4e9 };
  expect((await cluster.expose()).text.split('\n')).toEqual(
    expect.arrayContaining([
      'divisor_shared_bytes{part="database"} 30000000000',
      'divisor_shared_bytes{part="results"} 4000000000',
      'divisor_shared_objects{part="results"} 7',
    ]),
  );
  expect((await renderMetrics().expose()).text).not.toContain('divisor_shared');
});

test('the process reports its memory, its processor time and the delay of its event loop', async () => {
  const { text } = await renderMetrics().expose();
  for (const name of [
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
    'nodejs_eventloop_lag_p99_seconds',
    'nodejs_heap_size_used_bytes',
    'divisor_stale_finishes_total',
    'divisor_taken_over_attempts_total',
  ]) {
    expect(text, name).toMatch(new RegExp(`^${name}(\\{.*\\})? [\\d.e+-]+$`, 'm'));
  }
});

test('metrics for an autoscaler report the wait of the oldest job, and running jobs over slots', async () => {
  const { text } = await renderMetrics().expose();
  expect(text).toContain('divisor_lane_oldest_wait_seconds{lane="heavy"} 2.5');
  expect(text).toContain('divisor_lane_oldest_wait_seconds{lane="light"} 0');
  expect(text).toContain('divisor_lane_oldest_wait_seconds{lane="huge"} 9');
  expect(text).toContain('divisor_lane_busy_ratio{lane="huge"} 0.5');
  expect(text).toContain('divisor_lane_busy_ratio{lane="heavy"} 0.5');
  expect(text).toContain('divisor_lane_busy_ratio{lane="light"} 0');
});

test('metrics of a temporary service contain no figures of the process, whose measurement would never end', async () => {
  const lines = async (measuresProcess: boolean) => (await renderMetrics({ measuresProcess }).expose()).text;
  expect(await lines(true)).toContain('nodejs_eventloop_lag_seconds');
  expect(await lines(false)).not.toMatch(/^(?:nodejs|process)_/m);
  expect(await lines(false)).toContain('divisor_jobs{state="pending"} 4');
});

import { expect, test } from 'vitest';
import { createMetrics } from '#http/metrics.js';

test('metrics count answers by operation and status, jobs by state, and name the version', async () => {
  let running = 1;
  const metrics = createMetrics('1.2.3', () => ({ pending: 4, running }));
  metrics.observe({ operation: 'getHealth', method: 'GET', status: 200, seconds: 0.002 });
  metrics.observe({ operation: 'getHealth', method: 'GET', status: 200, seconds: 0.2 });
  metrics.observe({ operation: undefined, method: 'GET', status: 404, seconds: 0.001 });
  running = 2;
  const { text, type } = await metrics.expose();
  expect(type).toContain('text/plain; version=0.0.4');
  expect(text.split('\n')).toEqual(expect.arrayContaining([
    'divisor_http_request_seconds_bucket{le="0.0025",operation="getHealth",status="200"} 1',
    'divisor_http_request_seconds_count{operation="getHealth",status="200"} 2',
    'divisor_http_request_seconds_count{operation="none",status="404"} 1',
    'divisor_jobs{state="pending"} 4',
    'divisor_jobs{state="running"} 2',
    'divisor_build_info{version="1.2.3"} 1',
  ]));
  expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
});

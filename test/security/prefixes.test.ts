import { expect, test } from 'vitest';
import { runService } from '../services/running-service.js';
import { DIVISOR_API_KEYS, createIndex, keys, type Tenant } from './two-tenants.js';

const createKeyHeader = (tenant: Tenant) => ({ 'x-api-key': keys[tenant].key });

test('without tenancy an id outside the prefixes is refused with 403', async () => {
  const plainService = await runService([], { DIVISOR_API_KEYS });
  try {
    await plainService.ask('PUT', '/indices/bravo-eq', createIndex('bravo-eq'), createKeyHeader('bravo-'));
    for (const [method, path] of [
      ['GET', '/indices/bravo-eq'],
      ['PUT', '/indices/bravo-eq'],
      ['GET', '/indices/none'],
    ] as const) {
      const body = method === 'PUT' ? createIndex('bravo-eq') : undefined;
      const answer = await plainService.ask(method, path, body, createKeyHeader('alpha-'));
      expect([path, answer.status, answer.body]).toMatchObject([
        path,
        403,
        { error: { code: 'FORBIDDEN_ID', detail: { prefixes: ['alpha-'] } } },
      ]);
    }
  } finally {
    await plainService.close();
  }
});

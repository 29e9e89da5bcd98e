import { fc } from '../fast-check.js';
import { describe, expect, test } from 'vitest';
import { formatTraceResponse, parseTraceContext } from '#base/tracing/tracing.js';
import { createSample } from './sample-app.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const SENT_HEADER = `00-${TRACE}-${PARENT}-01`;

describe('the header traceparent', () => {
  test('gives the trace, the client’s span and a new span', () => {
    expect(parseTraceContext(SENT_HEADER, () => '1'.repeat(16))).toEqual({
      traceId: TRACE,
      parentId: PARENT,
      spanId: '1'.repeat(16),
      flags: '01',
    });
    expect(parseTraceContext(SENT_HEADER)!.spanId).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
  });

  test('of a later version may contain more fields', () => {
    expect(parseTraceContext(`cc-${TRACE}-${PARENT}-09-what-the-future-will-be-like`)).toMatchObject({
      traceId: TRACE,
      flags: '09',
    });
    expect(parseTraceContext(`cc-${TRACE}-${PARENT}-09`)).toMatchObject({ traceId: TRACE });
  });

  test.each([
    ['absent', null],
    ['empty', ''],
    ['of a forbidden version', `ff-${TRACE}-${PARENT}-01`],
    ['longer than its version has it', `${SENT_HEADER}-more`],
    ['of a version to come but glued to more', `cc-${TRACE}-${PARENT}-01.more`],
    ['in capitals', SENT_HEADER.toUpperCase()],
    ['with a trace of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['with a parent of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['with a short trace', `00-${TRACE.slice(1)}-${PARENT}-01`],
    ['without flags', `00-${TRACE}-${PARENT}`],
    ['sent twice', `${SENT_HEADER}, ${SENT_HEADER}`],
  ])('is ignored when it is %s', (_, header) => expect(parseTraceContext(header)).toBeNull());

  test('is either ignored or completely valid', () => {
    const part = fc.string({ unit: fc.constantFrom('0', '1', 'f', 'F', '-', ' ', 'g'), maxLength: 40 });
    fc.assert(
      fc.property(
        fc.oneof(
          part,
          fc.tuple(part, part, part, part).map((parts) => parts.join('-')),
        ),
        (header) => {
          const context = parseTraceContext(header);
          return context === null || /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(formatTraceResponse(context));
        },
      ),
    );
  });
});

describe('an answer', () => {
  const { send, log } = createSample();
  const findLine = (requestId: string) =>
    log.find(({ request_id, msg }) => request_id === requestId && msg === 'request');

  test('states its span in the client’s trace, and so does its line in the log', async () => {
    const response = await send('GET', '/things', { headers: { traceparent: SENT_HEADER, 'x-request-id': 't-1' } });
    const [, span] =
      new RegExp(`^00-${TRACE}-([0-9a-f]{16})-01$`).exec(response.headers.get('traceresponse') ?? '') ?? [];
    expect(span).not.toBe(PARENT);
    expect(findLine('t-1')).toMatchObject({ trace_id: TRACE, span_id: span, parent_id: PARENT });
  });

  test('states them also as a refusal or a defect', async () => {
    for (const [path, status] of [
      ['/things/unknown', 404],
      ['/crash', 500],
    ] as const) {
      const response = await send('GET', path, {
        scopes: 'admin',
        headers: { traceparent: SENT_HEADER, 'x-request-id': `t-${status}` },
      });
      expect([response.status, response.headers.get('traceresponse')]).toEqual([
        status,
        expect.stringContaining(TRACE),
      ]);
      expect(findLine(`t-${status}`)).toMatchObject({ trace_id: TRACE });
    }
    expect(log.find(({ request_id, msg }) => request_id === 't-500' && msg === 'defect')).toMatchObject({
      trace_id: TRACE,
    });
  });

  test('states none for a request without a valid trace', async () => {
    for (const headers of [{ 'x-request-id': 't-2' }, { traceparent: 'nonsense', 'x-request-id': 't-3' }]) {
      const response = await send('GET', '/things', { headers });
      expect([response.status, response.headers.has('traceresponse')]).toEqual([200, false]);
      expect(findLine(headers['x-request-id'])).not.toHaveProperty('trace_id');
    }
  });
});

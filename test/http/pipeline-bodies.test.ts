import { describe, expect, test } from 'vitest';
import { createSample } from './sample-app.js';
import { createRefusal, listFindings } from './refusals.js';

const { send, long } = createSample();
long.release();

describe('bodies', () => {
  const put = (text: string, headers: Record<string, string> = {}) =>
    createRefusal(send('PUT', '/things/one', { text, headers }));

  test.each([
    ['text that is not JSON', '{"name": NaN}', 'line 1, column 10'],
    ['a second value', '{"name":"x"} {}', 'line 1, column 14'],
    ['a broken line', '{"name":\n\n oops}', 'line 3, column 2'],
    ['a repeated key', '{"name":"x","name":"y"}', '"name" occurs twice'],
    ['a repeated key by its escape', '{"name":"x","n\\u0061me":"y"}', '"name" occurs twice'],
    ['the prototype', '{"__proto__":{}}', '"__proto__" is not accepted'],
    ['the prototype by its escape', '{"extra":{"\\u005f_proto__":{}}}', '"__proto__" is not accepted'],
    ['65 levels', `{"extra":${'['.repeat(64)}${']'.repeat(64)}}`, 'more than 64 levels'],
    ['200,000 levels', '['.repeat(200_000), 'more than 64 levels'],
    ['nothing', '', 'The body is empty'],
  ])('%s is malformed and says where', async (_name, text, message) => {
    const answer = await put(text);
    expect([answer.status, answer.code]).toEqual([400, 'MALFORMED_REQUEST']);
    expect(answer.message).toContain(message);
  });

  test('50,000 values are accepted by the limit, and one more is too many', async () => {
    const createText = (count: number) =>
      `{"name":"x","extra":[${Array(count - 3)
        .fill(1)
        .join(',')}]}`;
    expect((await send('PUT', '/things/one', { text: createText(50_000) })).status).toBe(200);
    const answer = await put(createText(50_001));
    expect([answer.status, answer.code]).toEqual([400, 'BODY_TOO_LARGE']);
    expect(answer.message).toContain('50000 values');
  });

  test('64 levels are accepted', async () => {
    expect(
      (await send('PUT', '/things/one', { text: `{"name":"x","extra":${'['.repeat(63)}${']'.repeat(63)}}` })).status,
    ).toBe(200);
  });

  test.each([
    'text/plain',
    'application/json; charset=latin1',
    'application/x-www-form-urlencoded',
    'application/jsonp',
  ])('the content type %s is refused', async (type) => {
    expect((await put('{"name":"x"}', { 'content-type': type })).code).toBe('MALFORMED_REQUEST');
  });

  test.each(['application/json;charset=UTF-8', 'Application/JSON', 'application/json; charset="utf-8"'])(
    'the content type %s is accepted',
    async (type) => {
      expect(
        (await send('PUT', '/things/one', { json: { name: 'x' }, headers: { 'content-type': type } })).status,
      ).toBe(200);
    },
  );

  test('a compressed body is refused', async () => {
    expect((await put('{"name":"x"}', { 'content-encoding': 'gzip' })).message).toContain('content encoding "gzip"');
  });

  test('a number outside the range of a double is found with its position, also inside free parameters', async () => {
    const { status, detail } = await put('{"name":"x","weight":1e999,"extra":{"a":[1,-1e400]}}');
    expect(status).toBe(422);
    expect(listFindings(detail)).toEqual(['extra.a[1]: OUT_OF_RANGE', 'weight: OUT_OF_RANGE']);
  });

  test('a report receives a number outside the range of a double, and reports it itself', async () => {
    expect(await (await send('POST', '/things/check', { text: '{"big":1e999}' })).json()).toEqual({
      seen: ['big'],
      big: true,
    });
  });

  test('unknown fields and wrong types are reported together', async () => {
    const { detail } = await put('{"name":"","weight":"heavy","color":"red"}');
    expect(listFindings(detail)).toEqual(['color: UNKNOWN_FIELD', 'name: OUT_OF_RANGE', 'weight: WRONG_TYPE']);
  });

  test.each(['[]', '"text"', '7', 'null'])('a document that is %s is refused, as it is no object', async (text) => {
    const { status, detail } = await createRefusal(send('POST', '/things/check', { text }));
    expect([status, listFindings(detail)]).toEqual([422, [': WRONG_TYPE']]);
  });

  test.each([undefined, '', 'null', '{}', ' \n{}'])('an optional body may be %j', async (text) => {
    const answer = await send('POST', '/things/one/run', text === undefined ? {} : { text });
    expect([answer.status, await answer.json()]).toEqual([202, { job_id: 'backtest:one', capital: 1 }]);
  });

  test('a body longer than the limit is refused with both numbers', async () => {
    const { status, code, message } = await put(`{"name":"${'x'.repeat(1_048_576)}"}`);
    expect([status, code]).toEqual([400, 'BODY_TOO_LARGE']);
    expect(message).toContain('1048576');
  });

  test('bytes that are not UTF-8 are refused', async () => {
    const { app } = createSample();
    const body = new Uint8Array([0x22, 0xff, 0x22]);
    const answer = await app.fetch(
      new Request('http://localhost/things/one', {
        method: 'PUT',
        body,
        headers: { 'x-api-key': 'write', 'content-type': 'application/json' },
      }),
    );
    expect((await createRefusal(Promise.resolve(answer))).message).toBe('The body is not UTF-8.');
  });
});

describe('etags', () => {
  const get = (ifNoneMatch: string) => send('GET', '/things/one', { headers: { 'if-none-match': ifNoneMatch } });

  test('a document carries its etag and requires revalidation', async () => {
    const answer = await send('GET', '/things/one');
    expect([answer.headers.get('etag'), answer.headers.get('cache-control')]).toEqual(['"e1"', 'no-cache']);
  });

  test.each(['"e1"', 'W/"e1"', '"e0", "e1"', '*'])('If-None-Match %s is current', async (header) => {
    const answer = await get(header);
    expect([answer.status, answer.headers.get('etag'), await answer.text()]).toEqual([304, '"e1"', '']);
  });

  test.each(['"e0"', 'e1', '""'])('If-None-Match %s is not', async (header) => {
    expect((await get(header)).status).toBe(200);
  });

  const put = (ifMatch: string) =>
    send('PUT', '/things/one', { json: { name: 'x' }, headers: { 'if-match': ifMatch } });

  test.each(['"e1"', '"e0" , "e1"', '*'])('If-Match %s permits the write', async (header) => {
    expect((await put(header)).status).toBe(200);
  });

  test.each(['"e0"', 'W/"e1"', 'e1'])('If-Match %s refuses the write and states the stored etag', async (header) => {
    const { status, code, detail } = await createRefusal(put(header));
    expect([status, code, detail]).toEqual([412, 'PRECONDITION_FAILED', { etag: 'e1' }]);
  });
});

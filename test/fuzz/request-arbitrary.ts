import { fc } from '../fast-check.js';
import type { OpenApiDocument } from '#contract/openapi.js';
import { listOperations, type Operation, type Parameter } from '#views/documentation/reference.js';
import { HOSTILE_TEXTS, hostileValue, createNearlyValid, formatJsonValue } from './hostile.js';
import { createSchemaArbitraries, type JsonSchema, type Vocabulary } from './schema-arbitrary.js';
import type { WireRequest } from './wire.js';

interface Part {
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Pick<WireRequest, 'body' | 'encoding' | 'isChunked'>;
  readonly method: string;
}

/**
 * Returns random requests for every operation of the document. Expensive operations are less frequent. The requests are
 * valid by the schemas, nearly valid, or hostile.
 * @param vocabulary existing values of the service by field or parameter
 */
export function createRequests(document: OpenApiDocument, vocabulary: Vocabulary): fc.Arbitrary<WireRequest> {
  const { valueOf } = createSchemaArbitraries(document.components.schemas, vocabulary);
  return fc.oneof(
    ...listOperations(document).map((operation) => ({
      weight: isHeavy(operation) ? 1 : 6,
      arbitrary: createRequestArbitrary(operation),
    })),
  );

  function createRequestArbitrary(operation: Operation): fc.Arbitrary<WireRequest> {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    const inQuery = operation.parameters.filter((parameter) => parameter.in === 'query');
    const validPart = fc.record<Part>({
      path: createPathArbitrary(operation.path, inPath, (parameter) =>
        createParameterArbitrary(operation, parameter).map((value) => encodeURIComponent(String(value))),
      ),
      query: createQueryArbitrary(inQuery),
      headers: createHeaderArbitrary(operation),
      body: createBodyArbitrary(operation),
      method: fc.constant(operation.method),
    });
    return fc
      .oneof(
        { weight: 6, arbitrary: operation.method === 'PUT' ? validPart.map(usePathId) : validPart },
        {
          weight: 4,
          arbitrary: fc
            .tuple(validPart, createHostilityArbitrary(operation, inPath))
            .map(([part, hostile]) => ({ ...part, ...hostile })),
        },
      )
      .map(({ path, query, headers, body, method }) => ({
        operation: operation.operationId,
        method,
        path: query.length === 0 ? path : `${path}?${query.map(([name, value]) => `${name}=${value}`).join('&')}`,
        headers:
          method === 'GET' || method === 'HEAD'
            ? headers
            : { ...(body.body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...body,
      }));
  }

  function usePathId(part: Part): Part {
    const id = decodeURIComponent(part.path.split('/').at(-1)!);
    const body = part.body.body?.replace(
      /^\{"((?:template_)?id)":"[^"\\]*"/,
      (_, name: string) => `{"${name}":${JSON.stringify(id)}`,
    );
    return body === undefined ? part : { ...part, body: { ...part.body, body } };
  }

  /** Returns values of a parameter. Most deletions address objects that no other request uses. */
  function createParameterArbitrary({ method }: Operation, { name, schema }: Parameter): fc.Arbitrary<unknown> {
    const memberValue = valueOf(schema, name);
    return method === 'DELETE' && name !== 'job_id'
      ? fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...SPARE_IDS) }, { weight: 1, arbitrary: memberValue })
      : memberValue;
  }

  function createPathArbitrary(
    template: string,
    parameters: readonly Parameter[],
    text: (parameter: Parameter) => fc.Arbitrary<string>,
  ): fc.Arbitrary<string> {
    return fc
      .tuple(...parameters.map(text))
      .map((texts) =>
        parameters.reduce((path, { name }, i) => path.replace(`{${name}}`, () => texts[i] ?? ''), template),
      );
  }

  function createQueryArbitrary(
    parameters: readonly Parameter[],
  ): fc.Arbitrary<readonly (readonly [string, string])[]> {
    if (parameters.length === 0) return fc.constant([]);
    const createOneParameter = (parameter: Parameter) =>
      valueOf(parameter.schema as JsonSchema, parameter.name).map(
        (value) =>
          [
            parameter.name,
            [value]
              .flat()
              .map((item) => encodeURIComponent(String(item)))
              .join(','),
          ] as const,
      );
    const requiredArbitraries = parameters.filter((parameter) => parameter.required).map(createOneParameter);
    const optional = parameters
      .filter((parameter) => !parameter.required)
      .map((parameter) => fc.option(createOneParameter(parameter), { nil: undefined, freq: 2 }));
    return fc.tuple(...requiredArbitraries, ...optional).map((pairs) => pairs.filter((pair) => pair !== undefined));
  }

  function createHeaderArbitrary({ method, responses }: Operation): fc.Arbitrary<Readonly<Record<string, string>>> {
    const mediaTypes = Object.values(responses).flatMap(({ content }) => Object.keys(content ?? {}));
    const accept = fc.constantFrom<Readonly<Record<string, string>>>(
      {},
      {},
      ...mediaTypes.map((type) => ({ accept: type })),
    );
    const condition = fc.constantFrom<Readonly<Record<string, string>>>(
      {},
      {},
      {},
      {},
      ...CONDITIONS[method === 'GET' ? 'read' : 'write'],
    );
    return fc.tuple(accept, condition).map(([a, b]) => ({ ...a, ...b }));
  }

  function createBodyArbitrary({ requestBody }: Operation): fc.Arbitrary<Part['body']> {
    const declaredBody = requestBody?.content['application/json'];
    if (declaredBody === undefined) return fc.constant({});
    const bySchema = valueOf(declaredBody.schema as JsonSchema);
    const validBody =
      declaredBody.example === undefined
        ? bySchema
        : fc.oneof({ weight: 2, arbitrary: bySchema }, { weight: 1, arbitrary: fc.constant(declaredBody.example) });
    const value = fc.oneof(
      { weight: 5, arbitrary: validBody },
      { weight: 4, arbitrary: createNearlyValid(validBody) },
      { weight: 1, arbitrary: hostileValue },
    );
    const wholeBody = fc
      .tuple(value, fc.constantFrom(false, false, false, true))
      .map(([body, isChunked]) => ({ body: formatJsonValue(body), ...(isChunked ? { isChunked } : {}) }));
    return requestBody?.required === true
      ? wholeBody
      : fc.oneof(
          { weight: 6, arbitrary: wholeBody },
          { weight: 1, arbitrary: fc.constantFrom<Part['body']>({}, { body: '' }, { body: 'null' }, { body: '{}' }) },
        );
  }

  /** Replaces one part of a request by content that a correct client would never send. */
  function createHostilityArbitrary(operation: Operation, inPath: readonly Parameter[]): fc.Arbitrary<Partial<Part>> {
    const path = createPathArbitrary(operation.path, inPath, () => hostileSegment);
    const names = operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
    const query = fc.array(
      fc.tuple(fc.constantFrom(...names, ...names, 'x', '__proto__', 'constructor', '%zz', ''), hostileQueryText),
      { minLength: 1, maxLength: 4 },
    );
    const headers = fc
      .tuple(createHeaderArbitrary(operation), fc.constantFrom(...HEADERS))
      .map(([sound, hostile]) => ({ ...sound, ...hostile }));
    const method = fc.constantFrom(
      'GET',
      'HEAD',
      'POST',
      'PUT',
      'PATCH',
      'DELETE',
      'OPTIONS',
      'TRACE',
      'PROPFIND',
      'SEARCH',
    );
    const kinds: fc.Arbitrary<Partial<Part>>[] = [
      query.map((value) => ({ query: value })),
      headers.map((value) => ({ headers: value })),
      method.map((value) => ({ method: value })),
      hostileBody.map((body) => ({ body })),
      ...(inPath.length === 0
        ? [
            fc
              .constantFrom('/', '//', '/./', '/../', '%2f', '.', ';x=1', '%00')
              .map((end) => ({ path: operation.path + end })),
          ]
        : [path.map((value) => ({ path: value }))]),
    ];
    return fc.oneof(...kinds);
  }
}

/** Returns true if an operation uses more processes or threads than the one that receives the request. */
const isHeavy = ({ method, path }: Operation) =>
  method === 'POST' && /^\/data|estimate$|render$|backtest$|simulate$|optimise$|sweep$/.test(path);

/** Ids of documents that may be deleted. */
export const SPARE_IDS = ['SPARE-1', 'SPARE-2', 'SPARE-3'] as const;

const CONDITIONS = {
  read: [
    { 'if-none-match': '*' },
    { 'if-none-match': '"x"' },
    { range: 'bytes=0-1' },
    { 'if-modified-since': 'never' },
  ],
  write: [
    { 'if-match': '*' },
    { 'if-match': '"x"' },
    { 'if-match': `W/"${'0'.repeat(64)}"` },
    { 'if-match': `"${'0'.repeat(64)}"` },
  ],
} as const;

const encodeSafely = (text: string): string => {
  try {
    return encodeURIComponent(text);
  } catch {
    return '%ED%A0%80'; // half of a surrogate pair has no UTF-8 encoding
  }
};

const hostileSegment: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXTS).map(encodeSafely),
  fc.constantFrom(
    '..%2f..%2f..%2fetc%2fpasswd',
    '%2e%2e',
    '..',
    '.',
    '%zz',
    '%',
    '%c0%ae%c0%ae',
    '%u0041',
    '%00',
    'a%0d%0aX-Evil:1',
    '%252e%252e',
    'a;b',
    'a:b',
    'backtest:',
    'backtest%3Ax',
    'a%2fb',
    'x'.repeat(4000),
    '\u00e9',
    '%ff',
    '*',
    '{index_id}',
    ':index_id',
  ),
);

const hostileQueryText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXTS).map(encodeSafely),
  fc.constantFrom(
    '%zz',
    '%',
    '%c0%af',
    '1,2,,3',
    ',,,',
    '1e999',
    '-0',
    '0x10',
    '+5',
    '1'.repeat(2000),
    `${'a,'.repeat(300)}a`,
  ),
);

/** Request headers, some of which identify a client. */
const HEADERS: readonly Readonly<Record<string, string>>[] = [
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-type': 'multipart/form-data; boundary=x' },
  { 'content-type': '' },
  { 'content-encoding': 'gzip' },
  { 'content-encoding': 'br' },
  { accept: 'text/html' },
  { accept: '*/*;q=0' },
  { accept: `${'a/b,'.repeat(500)}c/d` },
  { 'accept-encoding': 'gzip, deflate, br' },
  { 'x-request-id': 'a b' },
  { 'x-request-id': 'x'.repeat(5000) },
  { 'x-request-id': '../../x' },
  { 'x-request-id': '{"a":1}' },
  { authorization: 'Bearer x' },
  { authorization: 'Basic eDp5' },
  { 'x-api-key': 'dvs_abcdefghijkl_x' },
  { authorization: 'Bearer a', 'x-api-key': 'b' },
  { origin: 'https://example.com' },
  { origin: 'null' },
  { host: 'example.com' },
  { host: '127.0.0.1:99999' },
  { host: 'localhost@example.com' },
  { host: '[::1' },
  { host: '' },
  { 'x-http-method-override': 'DELETE' },
  { 'x-forwarded-for': '127.0.0.1' },
  { forwarded: 'for=127.0.0.1;host=x' },
  { 'if-match': '"' },
  { 'if-match': `"${'x'.repeat(3000)}"` },
  { 'if-none-match': ',,,"' },
  { 'last-event-id': '-1' },
  { 'last-event-id': 'x' },
  { 'last-event-id': '99999999999999999999' },
  { range: 'bytes=9999999999-' },
  { expect: '100-continue' },
  { te: 'trailers' },
  { cookie: 'a=b' },
  { 'idempotency-key': 'x' },
  { traceparent: '00-x' },
];

const hostileBody: fc.Arbitrary<Part['body']> = fc.oneof(
  hostileValue.map((value) => ({ body: formatJsonValue(value) })),
  fc.createBinaryText({ maxLength: 200 }).map((body) => ({ body, encoding: 'latin1' as const })),
  fc.constantFrom<Part['body']>(
    { body: '{"a":1}', encoding: 'utf16le' },
    { body: '\u0000' },
    { body: ' '.repeat(1000) },
    { body: '{}{}' },
    { body: 'a=b&c=d' },
    { body: '<xml/>' },
    { body: '[]', isChunked: true },
    { body: `"${'x'.repeat(1_048_577)}"` },
    { body: `"${'x'.repeat(1_048_577)}"`, isChunked: true },
  ),
);

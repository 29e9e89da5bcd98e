import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { API } from '#contract/api.js';
import { createOpenApiDocument, listErrorCodes, type OpenApiDocument } from '#contract/openapi.js';
import { defineRoutes, type Route } from '#contract/route.js';
import { ERRORS } from '#domain/base/refusals.js';
import { COMPILED_ONCE } from '../http/conformity.js';
import { getApiDocument } from './api-document.js';

const api: Readonly<Record<string, Route>> = API;
let document: OpenApiDocument;

beforeAll(() => {
  document = JSON.parse(JSON.stringify(getApiDocument())) as OpenApiDocument;
});

function collect(value: unknown, key: string): unknown[] {
  if (Array.isArray(value)) return value.flatMap((item) => collect(item, key));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    ...(name === key ? [member] : []),
    ...collect(member, key),
  ]);
}

const listOperations = () => Object.values(document.paths).flatMap((path) => Object.values(path));

test('every route is in the document once, under its own operation id', () => {
  const ids = listOperations().map((operation) => operation['operationId']);
  expect(ids.toSorted()).toEqual(Object.keys(api).toSorted());
  for (const [id, route] of Object.entries(api)) {
    expect(document.paths[route.path]?.[route.method.toLowerCase()]?.['operationId']).toBe(id);
  }
});

test('every reference leads to a component', () => {
  const refs = collect(document, '$ref') as string[];
  expect(refs.length).toBeGreaterThan(0);
  const brokenRefs = refs.filter(
    (ref) =>
      ref
        .split('/')
        .slice(1)
        .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], document) === undefined,
  );
  expect(brokenRefs).toEqual([]);
});

test('every component and every inline schema compiles as JSON Schema 2020-12', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, ...COMPILED_ONCE });
  ajv.addSchema({ ...document, $id: 'divisor' });
  for (const name of Object.keys(document.components.schemas)) {
    expect(ajv.getSchema(`divisor#/components/schemas/${name}`), name).toBeTypeOf('function');
  }
  const inlineSchemas = new Set(collect(document.paths, 'schema').map((schema) => JSON.stringify(schema)));
  for (const text of inlineSchemas) {
    const schema = JSON.parse(text.replaceAll('"#/components', '"divisor#/components')) as object;
    expect(ajv.compile(schema)).toBeTypeOf('function');
  }
});

test('every path parameter is declared, and every code of a route is listed under its status', () => {
  for (const route of Object.values(api)) {
    const operation = document.paths[route.path]![route.method.toLowerCase()] as {
      parameters: { name: string; in: string }[];
      responses: Record<string, unknown>;
    };
    const declaredParameters = operation.parameters
      .filter((parameter) => parameter.in === 'path')
      .map(({ name }) => name);
    expect(declaredParameters).toEqual([...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
    for (const code of listErrorCodes(route)) {
      const answer = operation.responses[String(ERRORS[code].status)];
      const resolvedAnswer = JSON.stringify(answer).includes('$ref":"#/components/responses')
        ? document.components.responses[`Error${ERRORS[code].status}`]
        : answer;
      expect((collect(resolvedAnswer, 'enum') as string[][]).flat()).toContain(code);
    }
  }
});

test('every query parameter is described', () => {
  const bareOperations = listOperations().flatMap((operation) =>
    ((operation['parameters'] ?? []) as { name: string; in: string; description?: string }[])
      .filter((parameter) => parameter.in === 'query' && parameter.description === undefined)
      .map(({ name }) => `${String(operation['operationId'])}.${name}`),
  );
  expect(bareOperations).toEqual([]);
});

describe('requests and answers', () => {
  const Inner = z.strictObject({ size: z.number().default(1) }).meta({ id: 'Inner' });
  const Same = z.strictObject({ name: z.string() }).meta({ id: 'Same' });
  const Outer = z.strictObject({ inner: Inner, same: Same }).meta({ id: 'Outer' });
  const table = defineRoutes('t', {
    put: {
      method: 'PUT',
      path: '/x',
      scope: 'write',
      summary: 's',
      body: { schema: Outer },
      success: { status: 200, description: 'd', schema: Outer },
    },
  });

  test('a schema with optional defaults is listed twice, and so is its parent', () => {
    const { schemas } = createOpenApiDocument(table, '1').components;
    expect(Object.keys(schemas)).toEqual([
      'ErrorDetail',
      'ErrorEnvelope',
      'Inner',
      'InnerInput',
      'Outer',
      'OuterInput',
      'Same',
    ]);
    expect([schemas['Inner']?.['required'], schemas['InnerInput']?.['required']]).toEqual([['size'], undefined]);
    expect(collect(schemas['OuterInput'], '$ref')).toEqual([
      '#/components/schemas/InnerInput',
      '#/components/schemas/Same',
    ]);
  });
});

import type { OpenApiDocument } from '#contract/openapi.js';

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly schema: JsonSchema;
}

export interface Media {
  readonly schema: JsonSchema;
  readonly example?: unknown;
}

export interface DocumentedResponse {
  readonly description: string;
  readonly content?: Readonly<Record<string, Media>>;
}

/** Operation of an OpenAPI document with its method and path. The documentation is rendered from it. */
export interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly description?: string;
    readonly content: Readonly<Record<string, Media>>;
  };
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}

/** Returns the operations of a document in order. The references of their responses are resolved. */
export function listOperations({ paths, components }: OpenApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, declared]) => {
      const answers = declared['responses'] as Record<string, { readonly $ref?: string }>;
      const responses = Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [
          status,
          answer.$ref === undefined ? answer : components.responses[answer.$ref.split('/').at(-1)!],
        ]),
      );
      // `createOpenApiDocument` creates these members.
      return { ...declared, responses, path, method: method.toUpperCase() } as unknown as Operation;
    }),
  );
}

/**
 * Returns the success statuses with their responses, in order. The last status is the usual one; an earlier one means
 * that there was nothing to do. If there are several success statuses, those without a body are left out.
 */
export function listSuccesses({
  responses,
}: Pick<Operation, 'responses'>): (readonly [status: string, answer: DocumentedResponse])[] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .filter(([, { content }], _, all) => content !== undefined || all.length === 1);
}

export interface ExampleRequest {
  readonly method: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  readonly body?: unknown;
}

/**
 * Returns the example request of an operation. Its parameters are filled in; it has the required query parameters and
 * the example body.
 * @param knownExamples values that replace examples, by parameter name
 */
export function createExampleRequest(
  operation: Operation,
  knownExamples: Readonly<Record<string, string>> = {},
): ExampleRequest {
  const examples = new Map(operation.parameters.map(({ name, example }) => [name, knownExamples[name] ?? example]));
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(examples.get(name))).replaceAll('%3A', ':'),
  );
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(
      ({ name }) =>
        `${name}=${[examples.get(name)]
          .flat()
          .map((value) => encodeURIComponent(String(value)))
          .join(',')}`,
    );
  const body = operation.requestBody?.content['application/json']?.example;
  return {
    method: operation.method,
    path: query.length === 0 ? path : `${path}?${query.join('&')}`,
    ...(body === undefined ? {} : { body }),
  };
}

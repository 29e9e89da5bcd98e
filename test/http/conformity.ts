import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { OpenApiDocument } from '#contract/openapi.js';

/**
 * Compares a response with the OpenAPI document of the service and returns the differences. The list is empty if the
 * response conforms.
 */
export type Conformity = (
  operationId: string,
  answer: { readonly status: number; readonly type: string | null; readonly body: unknown },
) => string[];

/** Options for schemas that are used only a few times. Optimising their code would cost more than it saves. */
export const COMPILED_ONCE = { inlineRefs: false, code: { optimize: false } } as const;

type Json = Record<string, unknown>;

let lastConformity: { readonly text: string; readonly conformity: Conformity } | undefined;

/**
 * Returns a function that checks responses against an OpenAPI document. The schemas of a document are compiled once per
 * test worker.
 */
export function createConformity(document: OpenApiDocument): Conformity {
  const text = JSON.stringify(document);
  if (lastConformity?.text !== text) lastConformity = { text, conformity: getConformity(document) };
  return lastConformity.conformity;
}

/**
 * Returns a function that checks responses against an OpenAPI document. The document must declare the status and the
 * media type. A JSON body must satisfy its schema.
 */
function getConformity(document: OpenApiDocument): Conformity {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true, ...COMPILED_ONCE });
  ajv.addSchema({ ...document, $id: 'divisor' });
  const validators = new Map<string, ValidateFunction>();
  const operations = new Map(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, operation]) => [String(operation['operationId']), { path, method, operation }] as const,
      ),
    ),
  );
  return (operationId, { status, type, body }) => {
    const entry = operations.get(operationId);
    if (entry === undefined) return [`the document has no operation ${operationId}`];
    let pointer = ['paths', entry.path, entry.method, 'responses', String(status)];
    let response = (entry.operation['responses'] as Record<string, Json>)[status];
    if (response === undefined) return [`${operationId} does not declare ${status}`];
    if (typeof response['$ref'] === 'string') {
      pointer = response['$ref'].slice(2).split('/');
      response = document.components.responses[pointer.at(-1)!]!;
    }
    const content = response['content'] as Record<string, Json> | undefined;
    if (content === undefined) return type === null ? [] : [`${operationId} declares no body for ${status}`];
    const media = type?.split(';')[0] ?? 'none';
    if (content[media] === undefined) return [`${operationId} does not declare ${media} for ${status}`];
    if (media !== 'application/json') return [];
    const ref = `divisor#/${[...pointer, 'content', media, 'schema'].map((word) => encodeURIComponent(word.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
    const validate = validators.get(ref) ?? ajv.compile({ $ref: ref });
    validators.set(ref, validate);
    return validate(body)
      ? []
      : (validate.errors ?? []).map(
          ({ instancePath, message }) => `${operationId} ${status} ${instancePath}: ${message}`,
        );
  };
}

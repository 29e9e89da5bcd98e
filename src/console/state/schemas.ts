import { useResource, type Resource, type ResourceOptions } from './resource.js';
import { service } from './service.js';

/** A schema of the contract in the form of OpenAPI. */
export interface Schema {
  readonly $ref?: string;
  /** Type, or a list of types for a value that may be null. */
  readonly type?: string | readonly string[] | undefined;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly string[];
  readonly maxLength?: number;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
}

/** Schemas of the contract by name. */
export type Schemas = Readonly<Record<string, Schema>>;

interface OpenApi {
  readonly components: { readonly schemas: Schemas };
}

/** Reads the schemas of the contract. Forms are generated from them. */
export const useSchemas = (options: Pick<ResourceOptions, 'isLater'> = {}): Resource<Schemas> =>
  useResource(
    'schemas',
    async (signal) => {
      const document = await service.value.call('getOpenApi', { signal });
      return (document as unknown as OpenApi).components.schemas; // every OpenAPI document of the service has schemas
    },
    { follows: false, ...options },
  );

/** Follows the references of a schema. */
export function resolve(schemas: Schemas, schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  const target = name === undefined ? undefined : schemas[name];
  if (target === undefined) return schema;
  const { $ref: _, ...own } = schema;
  return resolve(schemas, { ...target, ...own });
}

import { z } from 'zod';
import { AssetIdentifier } from '../schema/shape.js';

/** Asset identifier within a value, with its path. */
export interface NamedAsset {
  readonly path: string;
  readonly identifier: string;
}

/**
 * Returns every asset identifier within a value, in lists and as keys. The schema marks identifiers by
 * `AssetIdentifier`. Values that do not match the schema are ignored.
 * @param path Path of the value.
 */
export function listNamedAssets(schema: z.core.$ZodType, value: unknown, path: string): NamedAsset[] {
  if (schema === AssetIdentifier) return typeof value === 'string' ? [{ path, identifier: value }] : [];
  if (
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable
  )
    return listNamedAssets(schema.def.innerType, value, path);
  if (schema instanceof z.ZodLazy) return listNamedAssets(schema.def.getter(), value, path);
  if (schema instanceof z.ZodArray)
    return Array.isArray(value)
      ? value.flatMap((item, i) => listNamedAssets(schema.element, item, `${path}[${i}]`))
      : [];
  if (typeof value !== 'object' || value === null) return [];
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([name, member]) =>
      listNamedAssets(member as z.core.$ZodType, (value as Record<string, unknown>)[name], `${path}.${name}`),
    );
  if (schema instanceof z.ZodRecord && schema.keyType === AssetIdentifier)
    return Object.keys(value).map((identifier) => ({ path: `${path}.${identifier}`, identifier }));
  return [];
}

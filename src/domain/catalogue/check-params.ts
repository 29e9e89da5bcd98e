import type { z } from 'zod';
import type { Finding } from '../refusals/findings.js';
import { suggestName } from '#base/text/nearest-name.js';
import { checkShape, type ShapeResult } from '../schema/shape.js';
import { reportUnreadParameters } from './unread-parameters.js';

/**
 * Checks the parameters of a catalogue row against the schema of its class: fills in defaults and reports every
 * problem, including parameters that have no effect in combination with other parameters. Unknown parameters are
 * errors, whereas unknown fields of a document are not.
 * @param path Path of the parameters: `pipeline.selection[0].params`.
 */
export function checkParams<S extends z.ZodObject>(
  schema: S,
  params: unknown,
  location: { readonly path: string; readonly rowId: string | null },
): ShapeResult<z.output<S>> {
  const shaped = checkShape(schema, params, {
    path: location.path,
    rowId: location.rowId,
    unknownFields: 'error',
    unknownCode: 'UNKNOWN_PARAMETER',
  });
  const unread = shaped.value === undefined ? [] : reportUnreadParameters(schema, shaped.value, location.path);
  return {
    value: shaped.value,
    findings: [
      ...shaped.findings.map((finding) => toParameterFinding(finding, { schema, path: location.path })),
      ...unread.map((finding) => ({ ...finding, row_id: location.rowId })),
    ],
  };
}

function toParameterFinding(
  finding: Finding,
  { schema, path }: { readonly schema: z.ZodObject; readonly path: string },
): Finding {
  const name = finding.path.slice(path.length + 1);
  const isParameter = !/[.[]/.test(name);
  if (finding.code === 'UNKNOWN_PARAMETER' && !isParameter) return { ...finding, code: 'UNKNOWN_FIELD' };
  if (finding.code === 'UNKNOWN_PARAMETER') {
    const accepted = Object.keys(schema.shape);
    const set = accepted.length === 0 ? 'it has no parameters' : `the accepted names are ${accepted.join(', ')}`;
    const message = `Unknown parameter ${name}; ${set}.${suggestName(name, accepted)}`;
    return { ...finding, message, accepted };
  }
  if (finding.code === 'REQUIRED' && isParameter) {
    return { ...finding, code: 'MISSING_PARAMETER', message: `The parameter ${name} is required.` };
  }
  return finding;
}

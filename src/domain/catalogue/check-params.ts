import type { z } from 'zod';
import type { Finding } from '../refusals/findings.js';
import { suggestName } from '#base/text/nearest-name.js';
import { checkShape, type ShapeResult } from '../schema/shape.js';
import { reportUnreadParameters } from './unread-parameters.js';

/**
 * Checks the parameters of a catalogue row against the schema of its class. Fills in defaults, and reports every
 * problem. A parameter without effect in combination with the others is a problem too. Unknown parameters are errors,
 * whereas unknown fields of a document are not.
 * @param path Path of the parameters: `pipeline.selection[0].params`.
 */
export function checkParams<S extends z.ZodObject>(
  schema: S,
  params: unknown,
  location: { readonly path: string; readonly rowId: string | null },
): ShapeResult<z.output<S>> {
  const shapeResult = checkShape(schema, params, {
    path: location.path,
    rowId: location.rowId,
    unknownFields: 'error',
    unknownCode: 'UNKNOWN_PARAMETER',
  });
  const unreadFindings =
    shapeResult.value === undefined ? [] : reportUnreadParameters(schema, shapeResult.value, location.path);
  return {
    value: shapeResult.value,
    findings: [
      ...shapeResult.findings.map((finding) => toParameterFinding(finding, { schema, path: location.path })),
      ...unreadFindings.map((finding) => ({ ...finding, row_id: location.rowId })),
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
    const acceptedNames = Object.keys(schema.shape);
    const acceptedSentence =
      acceptedNames.length === 0 ? 'it has no parameters' : `the accepted names are ${acceptedNames.join(', ')}`;
    const message = `Unknown parameter ${name}; ${acceptedSentence}.${suggestName(name, acceptedNames)}`;
    return { ...finding, message, accepted: acceptedNames };
  }
  if (finding.code === 'REQUIRED' && isParameter) {
    return { ...finding, code: 'MISSING_PARAMETER', message: `The parameter ${name} is required.` };
  }
  return finding;
}

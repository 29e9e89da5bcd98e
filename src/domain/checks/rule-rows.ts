import type { z } from 'zod';
import { suggestName } from '#base/text/nearest-name.js';
import { checkParams } from '../catalogue/check-params.js';
import { RuleFallback } from '../documents/pipeline-rows.js';
import { keepSmallValue, type Finding } from '../refusals/findings.js';
import { SELECTION_CLASSES, findSelectionClass, WEIGHTING_CLASSES, findWeightingClass } from '../rules/catalogue.js';
import { createError, isObject, type UncheckedBody } from './index-context.js';
import { findUnknownMembers } from './unknown-members.js';
import { checkWeighting } from './weighting-findings.js';

/**
 * Returns findings about the selection and weighting of a pipeline or a review. Checks the parameters of each row by
 * its class, duplicate ids, and caps.
 */
export function checkRuleRows(holder: UncheckedBody, path: string): Finding[] {
  const { selection, weighting } = holder;
  const rows: readonly unknown[] = Array.isArray(selection) ? selection : [];
  const findings = rows.flatMap((row, i) =>
    isObject(row) ? reportRow(row, `${path}.selection[${i}]`, findSelectionClass, SELECTION_CLASSES) : [],
  );
  findings.push(...listRepeatedIds(rows, `${path}.selection`));
  if (!isObject(weighting)) return findings;
  const weightingPath = `${path}.weighting`;
  findings.push(...reportRow(weighting, weightingPath, findWeightingClass, WEIGHTING_CLASSES));
  findings.push(...checkWeighting(weighting, weightingPath));
  return findings;
}

interface RowClass {
  readonly type: string;
  readonly params: z.ZodObject;
}

function reportRow(
  row: UncheckedBody,
  path: string,
  classOf: (type: string) => RowClass | undefined,
  classes: readonly RowClass[],
): Finding[] {
  const { type, params = {} } = row;
  const rowId = typeof row['id'] === 'string' ? row['id'] : null;
  if (typeof type !== 'string' || type === '') return [];
  const entry = classOf(type);
  if (entry === undefined) {
    const acceptedTypes = classes.map((rowClass) => rowClass.type);
    return [
      createError(
        'UNKNOWN_TYPE',
        `${path}.type`,
        `Unknown class ${type}; the accepted set is ${acceptedTypes.join(', ')}.${suggestName(type, acceptedTypes)}`,
        { row_id: rowId, accepted: acceptedTypes, ...keepSmallValue(type) },
      ),
    ];
  }
  if (!isObject(params)) return [];
  return [
    ...checkParams(entry.params, params, { path: `${path}.params`, rowId }).findings,
    ...reportFallbacks(row, { path, rowId, schema: entry.params }),
  ];
}

interface FallbackLocation {
  readonly path: string;
  readonly rowId: string | null;
  readonly schema: z.ZodObject;
}

/**
 * Returns findings about parameters that override those of a rule. They are checked together with the other parameters
 * of the rule.
 */
function reportFallbacks(row: UncheckedBody, { path, rowId, schema }: FallbackLocation): Finding[] {
  const { params = {}, fallback } = row;
  if (!Array.isArray(fallback)) return [];
  return fallback.flatMap((step: unknown, i): Finding[] => {
    const stepPath = `${path}.fallback[${i}]`;
    if (!isObject(step) || !isObject(step['params']) || !isObject(params)) return [];
    const mergedResult = checkParams(
      schema,
      { ...params, ...step['params'] },
      { path: `${stepPath}.params`, rowId },
    ).findings;
    return [...findUnknownMembers(step, Object.keys(RuleFallback.shape), stepPath), ...mergedResult];
  });
}

function listRepeatedIds(rows: readonly unknown[], path: string): Finding[] {
  const first = new Map<string, number>();
  return rows.flatMap((row, i) => {
    const id = isObject(row) ? row['id'] : undefined;
    if (typeof id !== 'string') return [];
    const earlier = first.get(id);
    if (earlier === undefined) {
      first.set(id, i);
      return [];
    }
    return [
      createError(
        'DUPLICATE_ROW_ID',
        `${path}[${i}].id`,
        `The id ${id} is already used by the rule at position ${earlier}.`,
        {
          row_id: id,
          value: id,
        },
      ),
    ];
  });
}

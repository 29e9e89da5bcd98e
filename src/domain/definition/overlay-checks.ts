import { callOnce } from '#base/once.js';
import type { Finding } from '../base/findings.js';
import { refuseWithFindings } from '../base/refusals.js';
import {
  createErrorFinding,
  type IndexContext,
  type IndexDocument,
  isObject,
  isOverlayDocument,
  listSources,
  type OverlayDocument,
  type UncheckedBody,
} from './index-document.js';
import { findOverlayType, listBlendParts, OverlaySpec } from './overlays.js';
import { checkReference } from './references.js';
import { RebalanceSpec, validateRebalance } from './schedule.js';
import { resolveTreatment } from './treatment.js';

const WEIGHTS_TOLERANCE = 1e-9;

/** Checks that the underlying indices of an overlay are stored and do not refer back to it. */
export function checkOverlay(body: UncheckedBody, { indexOf }: IndexContext): Finding[] {
  const { overlay, source_index_id: source } = body;
  // The check of the type refuses a value that is not an object.
  const isAbsent = overlay === undefined || overlay === null;
  if (!isObject(overlay)) return source === undefined || !isAbsent ? [] : [reportStrayField('source_index_id')];
  if (overlay['type'] !== 'blend') {
    if (source === undefined || source === null)
      return [createErrorFinding('REQUIRED', 'source_index_id', 'source_index_id is required by an overlay.')];
    return typeof source === 'string' ? checkReference(source, body['id'], 'source_index_id', indexOf) : [];
  }
  const parts = Array.isArray(overlay['parts']) ? overlay['parts'] : [];
  return [
    ...(source === undefined ? [] : [reportStrayField('source_index_id')]),
    ...parts.flatMap((part: unknown, k) =>
      isObject(part) && typeof part['index_id'] === 'string'
        ? checkReference(part['index_id'], body['id'], `overlay.parts[${k}].index_id`, indexOf)
        : [],
    ),
  ];
}

function reportStrayField(path: string): Finding {
  return createErrorFinding('PIPELINE_XOR_DERIVATION', path, `${path} applies only to overlays on one index.`);
}

/**
 * Adds the default currency of an overlay. This is the currency into which it converts, or otherwise the currency of
 * the underlying index.
 */
export function addOverlayCurrency(body: UncheckedBody, { indexOf }: IndexContext): UncheckedBody {
  const { overlay, currency } = body;
  const result = OverlaySpec.safeParse(overlay);
  if (currency !== undefined || !result.success) return body;
  const source = listBlendParts(result.data)?.[0]?.index_id ?? body['source_index_id'];
  const typeCurrency = findOverlayType(result.data).currency(result.data);
  const inheritedCurrency = typeCurrency ?? (typeof source === 'string' ? indexOf(source)?.currency : undefined);
  return inheritedCurrency === undefined ? body : { ...body, currency: inheritedCurrency };
}

/** Reports the default schedule of a blend, on which the weights of several parts are reset. */
export function reportBlendDefaults({ overlay }: UncheckedBody): Finding[] {
  if (!isObject(overlay) || overlay['type'] !== 'blend' || overlay['rebalance'] !== undefined) return [];
  if (!Array.isArray(overlay['parts']) || overlay['parts'].length < 2) return [];
  const { frequency, anchor } = RebalanceSpec.parse({});
  const path = 'overlay.rebalance';
  const message = `The weights are restored with the frequency ${frequency} and the anchor ${anchor}. Use ${path} to change this.`;
  return [{ severity: 'info', code: 'DEFAULT_TAKEN', path, message, value: { frequency, anchor } }];
}

/** Checks the fields of an overlay against its underlying indices. */
export function checkOverlayTerms(document: IndexDocument, { indexOf }: Pick<IndexContext, 'indexOf'>): Finding[] {
  if (!isOverlayDocument(document)) return reportOnOverlay(document, indexOf);
  const { overlay } = document;
  const sources = listSources(document).flatMap((id) => indexOf(id) ?? []);
  return [
    ...reportCurrency(document, sources),
    ...reportBegin(document, sources),
    ...listRemarks(document, sources[0]),
    ...reportSeparateRebalance(document),
    ...('rebalance' in overlay ? validateRebalance(overlay.rebalance, 'overlay.rebalance') : []),
    ...(overlay.type === 'blend' ? [...checkBlend(overlay), ...reportReturnVariants(overlay, sources, indexOf)] : []),
  ];
}

/** Returns the findings of an overlay type about its members. */
function listRemarks(
  { overlay, base_value: baseValue }: OverlayDocument,
  source: IndexDocument | undefined,
): Finding[] {
  const remarks = findOverlayType(overlay).remarks(overlay, {
    currency: source?.currency,
    baseValue,
    isOverlay: source !== undefined && isOverlayDocument(source),
  });
  return remarks.map((remark) => ({ ...remark, path: `overlay.${remark.path}` }));
}

const getDefaultRebalance = callOnce(() => JSON.stringify(RebalanceSpec.parse({})));

/** Reports a schedule of an overlay. It has no effect, because the underlying indices determine the schedule. */
function reportSeparateRebalance({ rebalance, overlay }: OverlayDocument): Finding[] {
  if (JSON.stringify(rebalance) === getDefaultRebalance()) return [];
  const instead =
    overlay.type === 'blend'
      ? 'overlay.rebalance sets the dates on which the weights of a blend are restored'
      : 'an overlay is rebalanced with its underlying index';
  return [
    { severity: 'warning', code: 'NO_EFFECT', path: 'rebalance', message: `rebalance has no effect: ${instead}.` },
  ];
}

type Blend = Extract<OverlayDocument['overlay'], { type: 'blend' }>;

/**
 * Warns about parts with different return variants if the blend states no variant; all parts then use that of the
 * first.
 */
function reportReturnVariants(
  { variant }: Blend,
  sources: readonly IndexDocument[],
  indexOf: IndexContext['indexOf'],
): Finding[] {
  const sourceVariants = sources.map((source) => ({
    id: source.id,
    variant: resolveTreatment(source, indexOf)?.dividends,
  }));
  const [first] = sourceVariants;
  if (variant !== undefined || sourceVariants.every((part) => part.variant === first?.variant)) return [];
  const variantList = sourceVariants.map((part) => `${part.id} ${part.variant}`).join(', ');
  const message = `The parts have different return variants (${variantList}). All parts use ${first?.variant}, the variant of the first part. Use overlay.variant to select another variant.`;
  return [{ severity: 'warning', code: 'RETURNS_DIFFER', path: 'overlay.variant', message }];
}

function checkBlend({ parts }: Blend): Finding[] {
  const sum = parts.reduce((total, { weight }) => total + weight, 0);
  return [
    ...(Math.abs(sum - 1) <= WEIGHTS_TOLERANCE
      ? []
      : [
          createErrorFinding(
            'WEIGHTS_NOT_ONE',
            'overlay.parts',
            `The weights sum to ${Number(sum.toPrecision(12))}, but must sum to 1.`,
            {
              value: Number(sum.toPrecision(12)),
            },
          ),
        ]),
    ...parts.flatMap(({ index_id: id }, k) =>
      parts.findIndex((other) => other.index_id === id) < k
        ? [
            createErrorFinding(
              'DUPLICATE_ID',
              `overlay.parts[${k}].index_id`,
              `The index ${id} occurs twice among the parts.`,
              {
                value: id,
              },
            ),
          ]
        : [],
    ),
  ];
}

/** Warns that an overlay begins when the last of its underlying indices begins. */
function reportBegin({ base_date: begin }: OverlayDocument, sources: readonly IndexDocument[]): Finding[] {
  const [last] = sources.toSorted((a, b) => (a.base_date < b.base_date ? 1 : -1));
  if (last === undefined || last.base_date <= begin) return [];
  const message = `The base date is ${begin}, but the underlying index ${last.id} begins on ${last.base_date}. The overlay begins on that date.`;
  return [{ severity: 'warning', code: 'OUT_OF_RANGE', path: 'base_date', message, value: begin }];
}

/**
 * Requires that the currency of an overlay is the currency into which it converts. Without a conversion, it must be the
 * currency of the underlying index.
 */
function reportCurrency({ currency, overlay }: OverlayDocument, sources: readonly IndexDocument[]): Finding[] {
  const to = findOverlayType(overlay).currency(overlay);
  if (to !== null)
    return currency === to
      ? []
      : [
          createErrorFinding(
            'NOT_IN_CHOICES',
            'currency',
            `The currency is ${currency}, but the overlay converts into ${to}.`,
            {
              accepted: [to],
              value: currency,
            },
          ),
        ];
  const [first] = sources;
  if (overlay.type === 'blend' && sources.some((source) => source.currency !== first?.currency))
    return reportPartCurrencies(overlay, sources);
  return sources.flatMap((source) =>
    source.currency === currency
      ? []
      : [
          createErrorFinding(
            'NOT_IN_CHOICES',
            'currency',
            `The currency is ${currency}, but the underlying index ${source.id} is in ${source.currency}.`,
            { accepted: [source.currency], value: currency },
          ),
        ],
  );
}

function reportPartCurrencies({ parts }: Blend, sources: readonly IndexDocument[]): Finding[] {
  const currencyById = new Map(sources.map(({ id, currency }) => [id, currency]));
  const first = parts[0]!.index_id;
  const firstCurrency = currencyById.get(first)!;
  return parts.flatMap(({ index_id: id }, k) => {
    const partCurrency = currencyById.get(id)!;
    if (partCurrency === firstCurrency) return [];
    const message = `The parts of a blend must have the same currency: ${id} is in ${partCurrency}, and ${first} is in ${firstCurrency}. Use an overlay of type currency to convert an index.`;
    return [createErrorFinding('CURRENCIES_DIFFER', `overlay.parts[${k}].index_id`, message, { value: id })];
  });
}

/**
 * Reports a document that selects or optimises the securities of an overlay. An overlay holds securities only through
 * its underlying indices.
 */
function reportOnOverlay(document: IndexDocument, indexOf: IndexContext['indexOf']): Finding[] {
  const { derivation, universe } = document;
  const path = derivation === null ? 'universe.id' : 'derivation.source_index_id';
  const id = derivation?.source_index_id ?? (universe?.kind === 'index' ? universe.id : undefined);
  const source = id == null ? undefined : indexOf(id);
  if (source === undefined || !isOverlayDocument(source)) return [];
  const underlyingIds = listSources(source);
  return [
    createErrorFinding(
      'NOT_IN_CHOICES',
      path,
      `The index ${source.id} is an overlay. Use its underlying index instead: ${underlyingIds.join(', ')}.`,
      {
        accepted: underlyingIds,
        value: source.id,
      },
    ),
  ];
}

/**
 * Refuses requests about the decisions of an overlay, because its underlying indices make the decisions.
 * @throws Refusal VALIDATION_FAILED
 */
export function assertDecides(document: IndexDocument): void {
  if (!isOverlayDocument(document)) return;
  const sourceIds = listSources(document);
  const message = `${document.id} is an overlay and decides no composition. Use its underlying index instead: ${sourceIds.join(', ')}.`;
  throw refuseWithFindings('request', [
    createErrorFinding('NOT_IN_CHOICES', 'index_id', message, { accepted: sourceIds, value: document.id }),
  ]);
}

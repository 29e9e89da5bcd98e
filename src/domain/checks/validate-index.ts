import { checkAmendments } from './amendment-findings.js';
import { checkRounding } from './rounding-findings.js';
import { hasErrors, sortFindings, keepSmallValue, type Finding } from '../refusals/findings.js';
import { checkFinite } from '../schema/finite.js';
import { checkShape } from '../schema/shape.js';
import { checkBreachRule, checkUnkeptRule } from './breach-findings.js';
import { checkEvents, checkIdleEvents } from './events-findings.js';
import {
  IndexDocument,
  isDerivedDocument,
  isOverlayDocument,
  RESERVED_INDEX_IDS,
} from '../documents/index-document.js';
import { reportAssumptions } from './assumptions.js';
import { createError, isObject, type IndexContext, type UncheckedBody } from './index-context.js';
import type { MarketData } from '../market/market-data.js';
import { checkBaseDate, checkOnMarket } from './index-on-market.js';
import { applyOlderSettings } from '../documents/older-settings.js';
import { stateIndexDefaults } from '../documents/row-settings.js';
import { resolveTreatment } from '../documents/treatment.js';
import { reportBlendDefaults, checkOverlay, checkOverlayTerms, addOverlayCurrency } from './validate-overlay.js';
import { checkDerivation, checkInheritance, reportDroppedSource } from './validate-derivation.js';
import { parseDocumentExpressions, locateInTexts } from './document-expressions.js';
import { checkRuleRows } from './rule-rows.js';
import { checkReviews } from './review-findings.js';
import { checkCalledReferences } from './validate-reference.js';
import { checkUniverse } from './validate-universe.js';

export interface CheckedIndex {
  /** Document with defaults and without unknown fields. Undefined if a finding is an error. */
  readonly document: IndexDocument | undefined;
  /** All findings in the order in which they are served. */
  readonly findings: readonly Finding[];
}

/**
 * Checks an index document: its shape, the parameters of every row, the combination of rows, and references to other
 * documents. Also warns of data that the current market lacks.
 */
export function validateIndex(sentBody: UncheckedBody, context: IndexContext): CheckedIndex {
  const {
    body,
    texts,
    findings: ofTexts,
  } = parseDocumentExpressions(addOverlayCurrency(sentBody, context), context.market);
  const shapeResult = checkShape(IndexDocument, body, { unknownFields: 'warning', strictMembers: STRICT_MEMBERS });
  const tooLarge = checkFinite(body);
  const findings = [
    ...tooLarge,
    ...shapeResult.findings.filter(({ path }) => !tooLarge.some((finding) => finding.path === path)),
    ...checkDocumentFindings(body, context),
    ...(isObject(body['pipeline']) ? checkPipeline(body['pipeline']) : []),
    ...(isObject(body['derivation'])
      ? checkDerivation(body['derivation'], body, context)
      : reportDroppedSource(body, context)),
    ...checkOverlay(body, context),
    ...checkUniverse(body, context),
    ...checkReviews(body, context),
    ...checkRounding(body, context),
    ...checkAmendments(body, (text) => validateIndex(text, context).findings),
    ...checkEvents(body['events']),
    ...ofTexts,
    ...checkCalledReferences(body, context.indexOf),
    ...reportIdleDatapoints(body),
  ];
  if (!hasErrors(findings) && shapeResult.value !== undefined)
    findings.push(...checkOverlayTerms(shapeResult.value, context));
  const document = hasErrors(findings) || shapeResult.value === undefined ? undefined : addDefaults(shapeResult.value);
  if (document !== undefined) {
    findings.push(
      ...checkInheritance(document, context),
      ...reportBlendDefaults(sentBody),
      ...checkUnkeptRule(document),
      ...checkIdleEvents(document, context.market),
    );
    if (context.market !== undefined)
      findings.push(
        ...checkBaseDate(document, context.market),
        ...checkOnMarket(document, context.market, { severity: 'warning', indexOf: context.indexOf }),
        ...listAssumptions(document, context.market, context.indexOf),
      );
  }
  return { document, findings: sortFindings(locateInTexts(findings.filter(isNotRepeated), texts)) };
}

/**
 * Returns false for a warning that repeats an error. This happens for an unknown member: the document ignores it with a
 * warning, its object refuses it with an error.
 */
function isNotRepeated({ severity, code, path }: Finding, _: number, findings: readonly Finding[]): boolean {
  const isError = (otherFinding: Finding): boolean =>
    otherFinding.severity === 'error' && otherFinding.code === code && otherFinding.path === path;
  return severity === 'error' || !findings.some(isError);
}

/** Reports expressions without effect: an overlay reads only levels. */
function reportIdleDatapoints(body: UncheckedBody): Finding[] {
  if (!isObject(body['overlay'])) return [];
  return ['datapoints', 'plugins']
    .filter((member) => body[member] !== undefined)
    .map((path) => {
      const message = `${path} has no effect, because an overlay reads only the level of the underlying index.`;
      return { severity: 'warning', code: 'NO_EFFECT', path, message };
    });
}

/** Members of a document that older clients do not send; unknown members within them are errors. */
const STRICT_MEMBERS = ['overlay', 'rounding', 'amendments'];

/** Parsed documents by their frozen bodies. */
const validatedDocuments = new WeakMap<object, IndexDocument>();

/**
 * Reads a stored body as a document, with the defaults of the version that stored it. Returns undefined if it does not
 * match the schema.
 * @cost one validation; none for a frozen body that was read before
 */
export function readIndex(body: unknown): IndexDocument | undefined {
  const isConstant = typeof body === 'object' && body !== null && Object.isFrozen(body);
  const cachedResult = isConstant ? validatedDocuments.get(body) : undefined;
  if (cachedResult !== undefined) return cachedResult;
  const result = IndexDocument.safeParse(applyOlderSettings(body));
  if (!result.success) return undefined;
  const document = stateIndexDefaults(addDefaultUniverse(result.data), 'earlier');
  if (isConstant) validatedDocuments.set(body, document);
  return document;
}

/** Returns a body as it would be stored, with current defaults. Returns undefined if it does not match the schema. */
export function parseAcceptedIndex(body: unknown): IndexDocument | undefined {
  const { data } = IndexDocument.safeParse(body);
  return data && addDefaults(data);
}

const addDefaults = (document: IndexDocument): IndexDocument =>
  stateIndexDefaults(addDefaultUniverse(document), 'today');

/**
 * Adds the default universe, all securities, to an index that selects by rules. The universe of a derived index is that
 * of its source.
 */
function addDefaultUniverse(document: IndexDocument): IndexDocument {
  return isDerivedDocument(document) || isOverlayDocument(document) || document.universe !== undefined
    ? document
    : { ...document, universe: { kind: 'all' } };
}

/** Returns the assumptions about a market that a document makes. Returns none if a source index is missing. */
export function listAssumptions(
  document: IndexDocument,
  market: MarketData,
  indexOf: IndexContext['indexOf'],
): Finding[] {
  const treatment = resolveTreatment(document, indexOf);
  return treatment === undefined ? [] : reportAssumptions({ document, treatment, market, indexOf });
}

/** Checks the id, the calendar and the kind of an index. */
function checkDocumentFindings(body: UncheckedBody, { calendars }: IndexContext): Finding[] {
  const findings: Finding[] = [];
  const { id, calendar } = body;
  if ((RESERVED_INDEX_IDS as readonly unknown[]).includes(id)) {
    findings.push(
      createError(
        'BAD_IDENTIFIER',
        'id',
        `The id ${String(id)} is reserved, because it is part of a route; the reserved ids are ${RESERVED_INDEX_IDS.join(', ')}.`,
        { value: id },
      ),
    );
  }
  if (typeof calendar === 'string' && calendar !== '' && !calendars.some(({ code }) => code === calendar)) {
    const calendarCodes = calendars.map(({ code }) => code);
    findings.push(
      createError(
        'UNKNOWN_CALENDAR',
        'calendar',
        `Unknown calendar ${calendar}; the accepted set is ${calendarCodes.join(', ')}.`,
        { accepted: calendarCodes, ...keepSmallValue(calendar) },
      ),
    );
  }
  const hasMember = (field: string) => body[field] !== undefined && body[field] !== null;
  const presentParts = ['pipeline', 'derivation', 'overlay'].filter(hasMember);
  if (presentParts.length !== 1) {
    const partsPhrase =
      presentParts.length === 0
        ? 'neither is present'
        : presentParts.length === 2
          ? 'both are present'
          : 'all three are present';
    const kinds = presentParts.includes('overlay')
      ? 'a pipeline, a derivation or an overlay'
      : 'a pipeline or a derivation';
    findings.push(createError('PIPELINE_XOR_DERIVATION', '', `An index has either ${kinds}; ${partsPhrase}.`));
  }
  if ((body['kind'] === 'overlay') !== hasMember('overlay'))
    findings.push(
      hasMember('overlay')
        ? createError('REQUIRED', 'kind', 'kind must be overlay if the document has an overlay.')
        : createError('PIPELINE_XOR_DERIVATION', 'kind', 'The kind overlay requires the member overlay.'),
    );
  return findings;
}

/** Checks every row by its class, and reports duplicate ids and contradictory limits. */
function checkPipeline(pipeline: UncheckedBody): Finding[] {
  return [...checkRuleRows(pipeline, 'pipeline'), ...checkBreachRule(pipeline['treatment'])];
}

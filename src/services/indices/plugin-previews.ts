import type { PluginPreview, PluginPreviewRequest } from '#contract/plugins.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { validateIndex } from '#domain/checks/validate-index.js';
import { addPluginDefaults, checkPlugin, createSourceFinding } from '#domain/checks/validate-plugin.js';
import { addText } from '#domain/datapoints/expressions/print.js';
import type { ExpressionNode } from '#domain/datapoints/expressions/tree.js';
import { useNumber } from '#domain/datapoints/field-use.js';
import { readDefinitions } from '#domain/documents/definitions.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { checkGivenParameters, resolvePluginCode } from '#domain/documents/plugin-code.js';
import { createProgram, type PluginDocument } from '#domain/documents/plugin-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { sortFindings, type Finding } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { WEIGHTING_CLASSES } from '#domain/rules/catalogue.js';
import { checkFields } from '#domain/rules/field-findings.js';
import { formatDay } from '#domain/time/days.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ServedMarket, Markets } from '#market/serving/markets.js';
import type { DocumentStore } from '#store/port.js';
import { createStoredIndices } from '../stored/stored-indices.js';
import { DEFAULT_CALENDAR } from './calendars.js';
import { addStoredParts } from './stored-parts.js';

export interface PluginPreviewsDependencies {
  readonly documents: DocumentStore;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly markets: Markets;
  readonly calendars: Calendars;
}

/** Previews of plug-ins, which need not be stored. */
export interface PluginPreviews {
  /** Computes values of a plug-in. @throws Refusal OVERLOADED */
  preview(request: PluginPreviewRequest, signal: AbortSignal): Promise<PluginPreview>;
}

/**
 * Id of a temporary definition that uses the plug-in, and the name under which that definition reads the plug-in's
 * values.
 */
const TERMS = 'TERMS-OF-A-PLUG-IN';
const NAME = 'VALUES_OF_THE_PLUG_IN';
const VALUES: ExpressionNode = { node: 'field', name: NAME };
const ID = 'draft';

export function createPluginPreviews({
  documents,
  jobs,
  markets,
  calendars,
}: PluginPreviewsDependencies): PluginPreviews {
  /** Returns a definition that uses the plug-in. */
  async function readTerms(plugin: PluginDocument, { parameters }: PluginPreviewRequest, market: MarketData) {
    const body = {
      id: TERMS,
      name: 'Terms of a plug-in',
      calendar: DEFAULT_CALENDAR,
      base_date: formatDay(market.dates[0] ?? 0),
      pipeline: { weighting: WEIGHTING_CLASSES[0]!.example },
    };
    const { document, findings } = await createStoredIndices(documents).answer((lookUpIndex) =>
      validateIndex(body, { calendars: calendars.list(), calendarOf: calendars.get, indexOf: lookUpIndex, market }),
    );
    if (document === undefined) throw new Error(`the terms of a plug-in are not valid: ${findings[0]?.message}`);
    const fullDocument = await addStoredParts(documents, document);
    const use = { plugin: ID, parameters, code: resolvePluginCode(plugin, parameters, '') };
    return { ...fullDocument, plugins: { [NAME]: use } };
  }

  interface PluginQuery {
    readonly served: ServedMarket;
    readonly document: IndexDocument;
    readonly request: PluginPreviewRequest;
  }

  async function readValues({ served, document, request }: PluginQuery, signal: AbortSignal): Promise<PluginPreview> {
    const question = {
      market: served.handle,
      documents: { [TERMS]: document },
      indexId: TERMS,
      day: request.as_of,
      expression: addText(VALUES),
      expects: 'number' as const,
      identifiers: [],
      most: Number.MAX_SAFE_INTEGER,
    };
    const { asOf, securities, values } = await jobs.query('evaluate-datapoint', question, signal);
    const numbers = values.map(({ identifier, value }) => ({ identifier, value: Number(value) }));
    return {
      valid: true,
      as_of: asOf,
      securities,
      valued: numbers.length,
      values: numbers.toSorted((a, b) => b.value - a.value).slice(0, request.limit),
      findings: [],
    };
  }

  return {
    async preview(request, signal) {
      const plugin = addPluginDefaults(request.plugin);
      const use = { plugin: ID, parameters: request.parameters };
      const findings = [...checkPlugin(plugin), ...checkGivenParameters(use, plugin, 'request')];
      if (findings.length > 0) return createEmptyPreview(findings);
      const program = createProgram(resolvePluginCode(plugin, request.parameters, ''));
      const { fault } = await jobs.query('check-plugin', { program }, signal);
      if (fault !== null) return createEmptyPreview([createSourceFinding(fault)]);
      const servedMarket = markets.current();
      if (servedMarket === undefined) return { ...createEmptyPreview([]), valid: true };
      const document = await readTerms(plugin, request, servedMarket.market);
      const inputType = { ...useNumber(VALUES), as: 'any' as const };
      const missingFields = checkFields(
        [{ use: inputType, path: 'inputs', rowId: null }],
        servedMarket.market,
        'error',
        readDefinitions(document),
      );
      if (missingFields.length > 0) return createEmptyPreview(missingFields);
      try {
        return await readValues({ served: servedMarket, document, request }, signal);
      } catch (failure) {
        if (!(failure instanceof Refusal) || failure.code !== 'PLUGIN_FAILED') throw failure;
        const message = failure.message.replace(`The plug-in ${ID}`, 'The source');
        return createEmptyPreview([{ ...createSourceFinding(''), message }]);
      }
    },
  };
}

const createEmptyPreview = (findings: readonly Finding[]): PluginPreview => ({
  valid: false,
  as_of: null,
  securities: 0,
  valued: 0,
  values: [],
  findings: sortFindings([...findings]) as PluginPreview['findings'], // this type has read-only lists
});

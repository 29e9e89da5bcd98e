import type { Plugin, PluginCollection, PluginPreview, PluginPreviewRequest, PluginUpsert } from '#contract/plugins.js';
import { type Finding, reportFindings } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { formatDay } from '#domain/base/time.js';
import { addText } from '#domain/datapoints/expression-text.js';
import { type ExpressionNode, useNumber } from '#domain/datapoints/expression-tree.js';
import { checkFields } from '#domain/definition/field-uses.js';
import { type IndexDocument, readDefinitions } from '#domain/definition/index-document.js';
import { readIndex, validateIndex } from '#domain/definition/index-validation.js';
import {
  addPluginDefaults,
  checkGivenParameters,
  checkPlugin,
  createProgram,
  createSourceFinding,
  PluginDocument,
  resolvePluginCode,
} from '#domain/definition/plugins.js';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';
import type { Authorship } from '#domain/definition/versions.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { ServedMarket } from '#market/serve/served-markets.js';
import type { Context } from '../shared/context.js';
import { openStoredFamily, type PageQuery, type Precondition, type StoredEntry } from '../shared/documents.js';
import { DEFAULT_CALENDAR } from './calendars.js';
import { addStoredParts, createStoredIndices } from './documents.js';

/**
 * Id of a temporary definition that uses the plug-in, and the name under which that definition reads the plug-in's
 * values.
 */
const TERMS = 'TERMS-OF-A-PLUG-IN';
const NAME = 'VALUES_OF_THE_PLUG_IN';
const VALUES: ExpressionNode = { node: 'field', name: NAME };
const ID = 'draft';

/** Previews of plug-ins, which need not be stored. */
export function createPluginPreviews({ documents, jobs, markets, calendars }: Context) {
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
    /** Computes values of a plug-in. @throws Refusal OVERLOADED */
    async preview(request: PluginPreviewRequest, signal: AbortSignal): Promise<PluginPreview> {
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
  findings: reportFindings([...findings]) as PluginPreview['findings'], // this type has read-only lists
});

export interface StoredPlugin {
  readonly plugin: Plugin;
  readonly etag: string;
}

export interface Plugins {
  list(query: PageQuery): Promise<PluginCollection>;
  /** Returns a plug-in. @throws Refusal PLUGIN_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(id: string): Promise<StoredPlugin>;
  /** Creates or replaces a plug-in. @throws Refusal VALIDATION_FAILED, PRECONDITION_FAILED, OVERLOADED */
  put(id: string, body: PluginUpsert, ifMatch: Precondition | undefined, by?: Authorship): Promise<StoredPlugin>;
  /** Deletes a plug-in. @throws Refusal PLUGIN_NOT_FOUND, PRECONDITION_FAILED */
  remove(id: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

/** Creates the service of plug-ins: rules and datapoints that clients write as programs. */
export function createPlugins({ documents, jobs }: Context): Plugins {
  const family = openStoredFamily(documents, {
    kind: 'plugin',
    word: 'plug-in',
    read: (body) => PluginDocument.safeParse(body).data,
  });

  const show = (id: string, { document, etag, updatedAt }: StoredEntry<PluginDocument>): StoredPlugin => ({
    plugin: { plugin_id: id, ...document, sha256: etag, updated_at: updatedAt },
    etag,
  });
  const get = async (id: string): Promise<StoredPlugin> => show(id, await family.get(id));

  return {
    get,
    async list(query) {
      const { documents: indices } = await documents.list('index', readIndex);
      const listUsers = (id: string) =>
        indices.filter(({ plugins = {} }) => Object.values(plugins).some(({ plugin }) => plugin === id));
      const { items: plugins, ...skipped } = await family.page(query, async (id, entry) => ({
        ...show(id, entry).plugin,
        used_by: listUsers(id).map((index) => index.id),
      }));
      return { plugins, ...skipped };
    },
    async put(id, body, ifMatch, authorship) {
      const document = addPluginDefaults(body);
      const findings = checkPlugin(document);
      if (findings.length > 0) throw refuseWithFindings('plug-in', findings);
      const { fault } = await jobs.query('check-plugin', {
        program: createProgram(resolvePluginCode(document, {}, '')),
      });
      if (fault !== null) throw refuseWithFindings('plug-in', [createSourceFinding(fault)]);
      await family.put(id, document, ifMatch, authorship);
      return get(id);
    },
    remove: family.remove,
  };
}

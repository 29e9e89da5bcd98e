import { z } from 'zod';
import { defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { PluginDocument, PluginInput, PluginMember, PluginParameter, PluginValue } from '#domain/definition/plugins.js';
import { LIMITS } from '#domain/base/limits.js';
import { FindingPayload, listingQuery, purgeQuery, skippedFields } from './payloads.js';
import { defineRoutes } from './route.js';

const { kind, source } = PluginDocument.shape;
const { expression, sessions } = PluginInput.shape;
const { minimum, maximum, help } = PluginParameter.shape;

const ParameterTerms = defineObject(() => ({
  ...PluginParameter.shape,
  minimum: minimum.default(null),
  maximum: maximum.default(null),
  help: help.default(null),
}));

export const PluginUpsert = defineObject(() => ({
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).nullable().default(null),
  kind,
  inputs: z
    .record(PluginMember, z.union([expression, z.strictObject({ expression, sessions: sessions.default(1) })]))
    .refine((inputs) => Object.keys(inputs).length <= LIMITS.MAX_PLUGIN_INPUTS, {
      error: `has more than ${LIMITS.MAX_PLUGIN_INPUTS} inputs`,
    })
    .meta({
      description:
        'Columns that the plug-in reads. `compute` receives them under these names as Float64Arrays, with NaN for missing values. If there are several sessions, the values of a security are adjacent, with the latest last.',
    }),
  parameters: z
    .record(PluginMember, z.union([PluginValue, ParameterTerms]))
    .default({})
    .meta({ description: 'Parameters with their defaults, optionally with bounds and help.' }),
  source,
})).meta({ id: 'PluginUpsert' });
export type PluginUpsert = z.infer<typeof PluginUpsert>;

export const Plugin = defineObject(() => ({
  plugin_id: z.string(),
  ...PluginDocument.shape,
  sha256: z.string().meta({ description: 'SHA-256 of the plug-in, which is part of every run that it computes.' }),
  updated_at: z.string(),
})).meta({ id: 'Plugin' });
export type Plugin = z.infer<typeof Plugin>;

export const ListedPlugin = defineObject(() => ({
  ...Plugin.shape,
  used_by: z.array(z.string()).meta({ description: 'Ids of the indices whose definition uses the plug-in.' }),
})).meta({ id: 'ListedPlugin' });
export type ListedPlugin = z.infer<typeof ListedPlugin>;

export const PluginCollection = defineObject(() => ({ plugins: z.array(ListedPlugin), ...skippedFields })).meta({
  id: 'PluginCollection',
});
export type PluginCollection = z.infer<typeof PluginCollection>;

/** Maximum number of values in a preview response. */
const PREVIEWED_MAX = 1000;

export const PluginPreviewRequest = defineObject(() => ({
  plugin: PluginUpsert.meta({ description: 'Plug-in. It does not have to be stored.' }),
  parameters: z
    .record(PluginMember, PluginValue)
    .default({})
    .meta({ description: 'Values of parameters. Omitted parameters have their defaults.' }),
  as_of: IsoDate.nullable()
    .default(null)
    .meta({ description: 'Decision date. Default: the latest date of the store.' }),
  limit: z.int().min(1).max(PREVIEWED_MAX).default(200).meta({ description: 'Maximum number of values.' }),
})).meta({ id: 'PluginPreviewRequest' });
export type PluginPreviewRequest = z.output<typeof PluginPreviewRequest>;

export const PluginPreview = defineObject(() => ({
  valid: z.boolean().meta({ description: 'True if no finding is an error.' }),
  as_of: IsoDate.nullable().meta({ description: 'Session of the values; null without values.' }),
  securities: z.int().meta({ description: 'Number of securities of the store on the session.' }),
  valued: z.int().meta({ description: 'Number of securities with a value.' }),
  values: z
    .array(
      z.strictObject({
        identifier: z.string(),
        value: z.number().meta({ description: 'Value returned by `compute`.' }),
      }),
    )
    .meta({ description: 'Securities with a value, beginning with the largest value.' }),
  findings: z.array(FindingPayload),
})).meta({ id: 'PluginPreview', description: 'Values of a plug-in, for an editor.' });
export type PluginPreview = z.output<typeof PluginPreview>;

const params = defineObject(() => ({ plugin_id: Id.meta({ description: 'Id of the plug-in.' }) }));

/** Examples of the guide: a selection rule, a datapoint and a weighting. */
export const PLUGIN_EXAMPLES = {
  'near-high': {
    name: 'Near its high',
    kind: 'selection',
    inputs: { close: 'CLOSE', high: 'max(CLOSE, window=252)' },
    parameters: { minimum: { default: 0.8, minimum: 0, maximum: 1, help: 'Minimum share of the highest close.' } },
    source: `function compute({ close, high }, { minimum }) {
  return Array.from(close, (price, i) => price / high[i] >= minimum);
}
`,
  },
  'residual-momentum': {
    name: 'Residual momentum',
    description: 'Mean over deviation of the returns of one year less the mean of all securities.',
    kind: 'datapoint',
    inputs: { returns: { expression: 'RETURN', sessions: 252 } },
    parameters: {
      skip: { default: 21, minimum: 0, maximum: 120, help: 'Number of the latest sessions that are ignored.' },
    },
    source: `function compute({ returns }, { skip }, count) {
  const sessions = 252;
  const market = rows.mean(rows.transpose(returns, sessions), count);
  const kept = sessions - skip;
  const residuals = rows.cut(rows.subtract(returns, market), sessions, 0, kept);
  return rows.divide(rows.mean(residuals, kept, 60), rows.std(residuals, kept, 60));
}
`,
  },
  'damped-cap': {
    name: 'Damped capitalisation',
    kind: 'weighting',
    inputs: { cap: 'FREE_FLOAT_MARKET_CAP' },
    parameters: { power: { default: 0.5, minimum: 0, maximum: 1, help: 'Exponent of the capitalisation.' } },
    source: `function compute({ cap }, { power }) {
  return Array.from(cap, (size) => Math.pow(size, power));
}
`,
  },
} as const satisfies Readonly<Record<string, z.input<typeof PluginUpsert>>>;

export const pluginRoutes = defineRoutes('plugins', {
  listPlugins: {
    method: 'GET',
    path: '/plugins',
    call: 'plugins.list',
    scope: 'read',
    summary: 'Every plug-in.',
    query: listingQuery,
    success: { status: 200, description: 'Plug-ins by id.', schema: PluginCollection },
  },
  getPlugin: {
    method: 'GET',
    path: '/plugins/{plugin_id}',
    call: 'plugins.get',
    scope: 'read',
    summary: 'One plug-in.',
    params,
    success: { status: 200, description: 'The plug-in.', schema: Plugin },
    errors: ['PLUGIN_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  putPlugin: {
    method: 'PUT',
    path: '/plugins/{plugin_id}',
    call: 'plugins.put',
    scope: 'admin',
    summary: 'Creates or replaces a plug-in.',
    versioned: true,
    params,
    body: { schema: PluginUpsert, example: PLUGIN_EXAMPLES['near-high'] },
    success: { status: 200, description: 'The plug-in as stored.', schema: Plugin },
    errors: ['VALIDATION_FAILED', 'PRECONDITION_FAILED', 'OVERLOADED'],
  },
  previewPlugin: {
    method: 'POST',
    path: '/plugins/preview',
    call: 'pluginPreviews.preview',
    onStore: 'query',
    scope: 'admin',
    summary: 'Computes the values of a plug-in on one date. Nothing is stored.',
    description:
      'The status is 200 with findings, even if the source fails. The message of a finding about `source` states the line. Values require a served store.',
    body: { schema: PluginPreviewRequest, example: { plugin: PLUGIN_EXAMPLES['damped-cap'] } },
    success: { status: 200, description: 'The values.', schema: PluginPreview },
    errors: ['OVERLOADED'],
  },
  deletePlugin: {
    method: 'DELETE',
    path: '/plugins/{plugin_id}',
    call: 'plugins.remove',
    scope: 'admin',
    summary: 'Deletes a plug-in.',
    versioned: true,
    params,
    query: purgeQuery,
    success: { status: 204, description: 'Deleted.' },
    errors: ['PLUGIN_NOT_FOUND', 'PRECONDITION_FAILED'],
  },
});

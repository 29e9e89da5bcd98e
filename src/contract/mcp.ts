import { z } from 'zod';
import { defineObject } from '#domain/base/schema.js';
import { defineRoutes, type Route } from './route.js';

/** Groups of tools that a client can select. Agents choose better among few tools. */
export const TOOLSETS = {
  jobs: { help: 'Jobs: list, wait, cancel, retry.', isDefault: true },
  indices: { help: 'Index definitions: validate, preview, store, explain.', isDefault: true },
  analytics: { help: 'Backtests and every view of a stored run.', isDefault: true },
  optimise: { help: 'Constraint sets and optimisations.', isDefault: false },
  'risk-models': { help: 'Risk models.', isDefault: false },
  reports: { help: 'Report templates and renders.', isDefault: true },
  data: { help: 'Prices, fields, series and coverage of the served store.', isDefault: true },
  documentation: { help: 'The guide and the contract.', isDefault: true },
  strategies: { help: 'Strategies on an index.', isDefault: false },
  derivatives: { help: 'Futures, total return swaps, term structures.', isDefault: false },
  stores: { help: 'Data stores: import, refresh, repair, activate.', isDefault: false },
  watchlists: { help: 'Watchlists.', isDefault: false },
  calendars: { help: 'Recorded closures of exchanges and their effects.', isDefault: false },
  schedules: { help: 'Daily plans: status, run, skip, backfill.', isDefault: false },
  governance: { help: 'Benchmark statements, changes of methodologies, procedures.', isDefault: false },
  clients: { help: 'Clients: entitlements, targets, deliveries.', isDefault: false },
  actions: { help: 'Corporate actions that await a decision.', isDefault: false },
  approvals: { help: 'Changes that await the approval of a second person.', isDefault: false },
  publication: { help: 'Published closes, signing keys, audit log.', isDefault: false },
  versions: { help: 'Versions of documents: list, compare, restore.', isDefault: false },
  service: { help: 'Health, metrics, the key, access to documents.', isDefault: false },
} as const satisfies Readonly<Record<string, { readonly help: string; readonly isDefault: boolean }>>;

export type Toolset = keyof typeof TOOLSETS;
const TOOLSET_NAMES = Object.keys(TOOLSETS) as [Toolset, ...Toolset[]];
export const DEFAULT_TOOLSETS: readonly Toolset[] = TOOLSET_NAMES.filter((name) => TOOLSETS[name].isDefault);

/** Returns the toolset of a route: its tag, or `versions` for routes about versions. */
export const getToolset = ({ tag, path }: Pick<Route, 'tag' | 'path'>): string =>
  path.includes('/versions') ? 'versions' : tag;

/** Media types that an agent cannot use: event streams, HTML pages and images. */
const HUMAN_MEDIA = /^(?:text\/(?:event-stream|html)|image\/)/;

/**
 * Returns true for a route that an agent can call as a tool. Its response must have a media type that programs can
 * read.
 */
export const isTool = ({ success: { schema, media = [] } }: Pick<Route, 'success'>): boolean =>
  schema !== undefined || media.length === 0 || media.some((type) => !HUMAN_MEDIA.test(type));

const McpMessage = z.looseObject({ jsonrpc: z.literal('2.0') }).meta({
  id: 'McpMessage',
  description: 'One JSON-RPC 2.0 message of the Model Context Protocol.',
});

export const mcpRoutes = defineRoutes({
  callMcp: {
    method: 'POST',
    path: '/mcp',
    scope: 'read',
    withoutMarket: true,
    tag: 'mcp',
    summary: 'Processes one JSON-RPC message of the Model Context Protocol, for agents.',
    description:
      'Streamable HTTP without stored sessions. Every tool is an operation of this document, and is called with the scopes and prefixes of the key in the request. Responses are shortened to 25,000 tokens and contain a link to the full data. Requests with a `progressToken` receive progress as server-sent events. `tools` selects toolsets.',
    query: defineObject(() => ({
      tools: z
        .array(z.enum([...TOOLSET_NAMES, 'all']))
        .optional()
        .meta({
          description: `Toolsets, or \`all\`. Default: ${DEFAULT_TOOLSETS.join(', ')}.`,
          example: ['indices', 'analytics'],
        }),
    })),
    body: { schema: McpMessage, example: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
    success: {
      status: 200,
      description:
        'The response to a request. With a `progressToken`, server-sent events with progress messages, followed by the response.',
      schema: z.unknown(),
      mediaByBody: ['text/event-stream'],
    },
    acknowledged: { status: 202, description: 'A notification was received, or a request was cancelled.' },
    errors: ['RATE_LIMITED'],
  },
});

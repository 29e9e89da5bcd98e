import { z } from 'zod';
import { defineObject } from '#domain/base/schema.js';
import { defineDocumentRoutes, type Route } from './route.js';

/** Groups of operations that a client can list as tools. Agents choose better among few tools. */
export const TOOLSETS = {
  jobs: { help: 'Jobs: list, wait, cancel, retry.' },
  indices: { help: 'Index definitions: validate, preview, store, explain.' },
  analytics: { help: 'Backtests and every view of a stored run.' },
  optimise: { help: 'Constraint sets and optimisations.' },
  'risk-models': { help: 'Risk models.' },
  reports: { help: 'Report templates and renders.' },
  data: { help: 'Prices, fields, series and coverage of the served store.' },
  documentation: { help: 'The guide and the contract.' },
  strategies: { help: 'Strategies on an index.' },
  derivatives: { help: 'Futures, total return swaps, term structures.' },
  stores: { help: 'Data stores: import, refresh, repair, activate.' },
  watchlists: { help: 'Watchlists.' },
  calendars: { help: 'Recorded closures of exchanges and their effects.' },
  schedules: { help: 'Daily plans: status, run, skip, backfill.' },
  governance: { help: 'Benchmark statements, changes of methodologies, procedures.' },
  clients: { help: 'Clients: entitlements, targets, deliveries.' },
  actions: { help: 'Corporate actions that await a decision.' },
  approvals: { help: 'Changes that await the approval of a second person.' },
  publication: { help: 'Published closes, signing keys, audit log.' },
  versions: { help: 'Versions of documents: list, compare, restore.' },
  service: { help: 'Health, metrics, the key, access to documents.' },
} as const satisfies Readonly<Record<string, { readonly help: string }>>;

type Toolset = keyof typeof TOOLSETS;
const TOOLSET_NAMES = Object.keys(TOOLSETS) as [Toolset, ...Toolset[]];

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

export const mcpRoutes = defineDocumentRoutes('mcp', {
  callMcp: {
    method: 'POST',
    path: '/mcp',
    scope: 'read',
    summary: 'Processes one JSON-RPC message of the Model Context Protocol, for agents.',
    description:
      'Streamable HTTP without stored sessions. By default, the list has tools that find, describe and call every operation of this document, and tools for whole tasks. All are called with the scopes and prefixes of the key in the request. Responses are shortened to 25,000 tokens and contain a link to the full data. Requests with a `progressToken` receive progress as server-sent events. `tools` lists the operations of toolsets instead, or all.',
    query: defineObject(() => ({
      tools: z
        .array(z.enum([...TOOLSET_NAMES, 'all']))
        .optional()
        .meta({
          description: 'Toolsets, or `all`. Default: the short list of tools.',
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

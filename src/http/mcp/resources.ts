import { getToolset, isTool } from '#contract/mcp.js';
import { defineQuery } from '#contract/common-query.js';
import type { Route } from '#contract/route.js';
import { formatResourceTemplate, toResourceUri } from './resource-uri.js';

export interface ListedResource {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly mimeType: string;
}

const MARKDOWN = 'text/markdown';
const JSON_TYPE = 'application/json';

/** Lists the resources of every service: the contract and the guide. */
export const listDocumentationResources = (
  pages: readonly { readonly name: string; readonly title: string }[],
): ListedResource[] => [
  {
    uri: toResourceUri('http://_/openapi.json'),
    name: 'openapi.json',
    title: 'The contract (OpenAPI)',
    mimeType: JSON_TYPE,
  },
  ...pages.map(({ name, title }) => ({
    uri: toResourceUri(`http://_/docs/guide${name === '' ? '' : `/${name}`}?format=md`),
    name: name === '' ? 'guide' : `guide/${name}`,
    title: `Guide: ${title}`,
    mimeType: MARKDOWN,
  })),
];

/** Lists the resources of stored indices: definition and methodology text. */
export const listIndexResources = (ids: readonly string[]): ListedResource[] =>
  ids.flatMap((id) => [
    { uri: toResourceUri(`http://_/indices/${id}`), name: id, title: `Definition of ${id}`, mimeType: JSON_TYPE },
    {
      uri: toResourceUri(`http://_/indices/${id}/methodology`),
      name: `${id}/methodology`,
      title: `Methodology text of ${id}`,
      mimeType: JSON_TYPE,
    },
  ]);

/** Returns true for a route that can be read as a resource. */
export const isResource = (route: Route): boolean => route.method === 'GET' && route.scope === 'read' && isTool(route);

/** Lists the URI templates of all routes that can be read as resources. */
export const listResourceTemplates = (api: Readonly<Record<string, Route>>) =>
  Object.entries(api)
    .filter(([, route]) => isResource(route) && getToolset(route) !== 'mcp')
    .map(([id, route]) => ({
      uriTemplate: formatResourceTemplate(route.path, Object.keys(defineQuery(route)?.shape ?? {})),
      name: id,
      description: route.summary,
    }));

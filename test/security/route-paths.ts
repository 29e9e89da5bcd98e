import type { Route } from '#contract/route.js';

/** Functions that return the value of a path parameter for the prefix of a tenant. */
const VALUES: Readonly<Record<string, (tenant: string) => string>> = {
  index_id: (tenant) => `${tenant}eq`,
  strategy_id: (tenant) => `${tenant}desk`,
  constraint_set_id: (tenant) => `${tenant}set`,
  template_id: (tenant) => `${tenant}page`,
  watchlist_id: (tenant) => `${tenant}list`,
  store_id: (tenant) => `${tenant}store`,
  model_id: (tenant) => `${tenant}model`,
  document_id: (tenant) => `${tenant}eq`,
  schedule_id: (tenant) => `${tenant}close`,
  calendar_code: () => 'XNYS',
  procedure_id: (tenant) => `${tenant}rules`,
  client_id: (tenant) => `${tenant}client`,
  plugin_id: (tenant) => `${tenant}plugin`,
  sweep_id: (tenant) => `${tenant}sweep`,
  rerun_id: (tenant) => `${tenant}rerun`,
  study_id: (tenant) => `${tenant}study`,
  job_kind: () => 'sweep',
  batch_id: (tenant) => `${tenant}batch`,
  job_id: (tenant) => `backtest:${tenant}eq`,
  kind: () => 'index',
  identifier: () => 'A',
  file_name: () => 'file.csv',
  date: () => '2024-01-02',
  table: () => 'levels',
  version: () => '1',
  methodology_id: () => 'low-volatility',
  page: () => 'data',
  picture: () => 'index.webp',
  approval_id: () => '1',
  action_id: () => '0123456789abcdef0123',
};
const NAMING = ['index_id', 'strategy_id', 'constraint_set_id', 'template_id', 'watchlist_id', 'store_id', 'model_id'];
const NAMED_PARAMETERS = [
  ...NAMING,
  'plugin_id',
  'sweep_id',
  'rerun_id',
  'study_id',
  'batch_id',
  'document_id',
  'run_id',
  'render_id',
  'job_id',
];

const listParams = ({ path }: Route): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
export const isOfTenant = (route: Route): boolean => listParams(route).some((name) => NAMED_PARAMETERS.includes(name));

/**
 * Returns the paths of operations. Every parameter has a value of the tenant.
 * @param createNames random ids
 * @throws Error for a parameter without a value
 */
export const createPaths =
  (createNames: (tenant: string) => Readonly<Record<string, string>>) =>
  ({ path }: Route, tenant: string): string =>
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const value = createNames(tenant)[name] ?? VALUES[name]?.(tenant);
      if (value === undefined) throw new Error(`the matrix has no value of ${name}`);
      return value;
    });

/** Part of the OpenAPI document that describes request bodies. */
export interface OpenApiPaths {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly requestBody?: { readonly content: { readonly 'application/json'?: { readonly example?: unknown } } };
}

/** Names of members that refer to another document. The id of the body itself is not among them. */
const NAMES = /(?:_id|_ids|^ids|benchmark|parent|index|model|plugin|watchlist)$/;

/** Returns copies of a body. In each copy one member that refers to a document has another id. */
export function addNames(body: unknown, id: string): unknown[] {
  if (Array.isArray(body))
    return body.flatMap((item, i) => addNames(item, id).map((changedItem) => body.with(i, changedItem)));
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([name, member]: [string, unknown]) => {
    if (NAMES.test(name) && typeof member === 'string') return [{ ...body, [name]: id }];
    if (NAMES.test(name) && Array.isArray(member)) return [{ ...body, [name]: [...(member as unknown[]), id] }];
    return addNames(member, id).map((changedItem) => ({ ...body, [name]: changedItem }));
  });
}

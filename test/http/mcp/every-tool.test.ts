import { afterAll, beforeAll, expect, test } from 'vitest';
import { API } from '#contract/api.js';
import { isTool } from '#contract/mcp.js';
import type { Route } from '#contract/route.js';
import {
  createExampleRunner,
  OPERATIONS,
  STORY,
  openStoryService,
  type ExampleRunner,
} from '../../guide/example-story.js';
import type { Answer, LiveService } from '../../real/live.js';
import { openAgent, readError, readText, listTools, type Agent } from './agent.js';

const ROUTES: Readonly<Record<string, Route>> = API;

let service: LiveService;
let agent: Agent;
let runner: ExampleRunner;
const calledTools = new Set<string>();
beforeAll(async () => {
  service = await openStoryService();
  agent = await openAgent(service.url, { tools: 'all' });
  runner = createExampleRunner({ ...service, ask: askByTool });
});
afterAll(async () => {
  await agent.close();
  await service.close();
});

/** Sends a request of the examples as a tool call. @returns the status that follows from the result */
async function askByTool<T>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
  const { id, given: toolArguments } = createToolCall(method, path, body);
  if (id === 'callMcp' || !isTool(ROUTES[id]!)) return service.ask<T>(method, path, body);
  calledTools.add(id);
  const result = await agent.call(id, toolArguments);
  const text = readText(result);
  expect(Buffer.byteLength(JSON.stringify(result.content))).toBeLessThan(60_000); // quoted text and its notice
  const isJson = /^[[{]/.test(text);
  const parsedBody = (isJson ? JSON.parse(text) : text) as T;
  const isJob = isJson && (parsedBody as { status?: string }).status === 'pending';
  return { status: result.isError === true ? 400 : isJob ? 202 : 200, headers: new Headers(), body: parsedBody };
}

/** Returns the tool and the arguments for a request. The tool is found by the template of the path. */
function createToolCall(method: string, address: string, body: unknown) {
  const { pathname, searchParams } = new URL(address, 'http://localhost');
  for (const [id, { method: routeMethod, path }] of Object.entries(ROUTES)) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
    const values = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`).exec(pathname);
    if (routeMethod !== method || values === null) continue;
    if (
      names.some(
        (name, i) => ROUTES[id]!.params?.shape[name].safeParse(decodeURIComponent(values[i + 1]!)).success === false,
      )
    )
      continue;
    const inPath = names.map((name, i) => [name, decodeURIComponent(values[i + 1]!)] as const);
    const query = [...searchParams].map(
      ([name, value]) => [name, value.includes(',') ? value.split(',') : value] as const,
    );
    return { id, given: { ...Object.fromEntries([...inPath, ...query]), ...(body === undefined ? {} : { body }) } };
  }
  throw new Error(`${method} ${address} is no operation`);
}

test.each(STORY)('%s succeeds as a tool', async (id) => {
  const { answer, job } = await runner.run(id);
  expect(`${answer.status < 300} ${answer.status < 300 ? '' : JSON.stringify(answer.body)}`.trim()).toBe('true');
  if (job !== undefined) expect([job.status, job.error]).toEqual(['succeeded', null]);
});

test('every tool was called, and each describes its units and limits', async () => {
  const tools = await listTools(agent);
  expect(tools.map(({ name }) => name).filter((name) => !calledTools.has(name))).toEqual(['waitForJob']);
  for (const { name, description, inputSchema, annotations } of tools) {
    expect(description, name).toMatch(
      /Units: .*\n?.*Limits: .*scope (?:open|read|write|run|data|publish|audit|admin)/s,
    );
    expect(inputSchema.type, name).toBe('object');
    const scope = ROUTES[name]?.scope ?? 'read';
    expect(annotations?.readOnlyHint, name).toBe(['open', 'read', 'audit'].includes(scope));
  }
});

const CHARACTERS_PER_TOKEN = 4;

test('the default list has fifteen tools of at most 2,000 tokens, and every operation is reachable by them', async () => {
  const short = await openAgent(service.url);
  const page = await short.client.listTools();
  expect(page.nextCursor).toBeUndefined();
  expect(JSON.stringify(page.tools).length / CHARACTERS_PER_TOKEN).toBeLessThanOrEqual(2000);
  const hasDifferences = Object.values(ROUTES).some(({ path }) => path === '/analytics/{index_id}/differences');
  expect(page.tools.map(({ name }) => name)).toEqual([
    'findOperations',
    'describeOperation',
    'callOperation',
    'waitForJob',
    'verifyText',
    'backtestDocument',
    'explainLevel',
    'compareIndices',
    'attributeReturn',
    'optimise',
    'explainInfeasibility',
    'estimateRisk',
    ...(hasDifferences ? ['explainDifference'] : []),
    'report',
    'importData',
  ]);
  for (const { name } of await listTools(agent)) {
    const described = await short.ok<{ inputSchema: object }>('describeOperation', { name });
    expect(described.inputSchema, name).toMatchObject({ type: 'object' });
  }
  const { indices } = await short.ok<{ indices: unknown[] }>('callOperation', { name: 'listIndices', arguments: {} });
  expect(Array.isArray(indices)).toBe(true);
  const unknown = readError(await short.call('callOperation', { name: 'listIndexes' }));
  expect(JSON.stringify(unknown)).toContain('Did you mean listIndices?');
  await short.close();
});

test('texts of a message that the service compares or repeats have a limit', async () => {
  const short = await openAgent(service.url);
  const query = (length: number) => short.call('findOperations', { query: 'w'.repeat(length) });
  expect((await query(500)).isError).not.toBe(true);
  expect(JSON.stringify(readError(await query(501)))).toContain('query has 501 characters; at most 500 are accepted.');
  await short.close();
  const send = async (message: object) => {
    const response = await fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', ...message }),
    });
    return [response.status, (await response.text()).length < 1000];
  };
  const long = 'x'.repeat(501);
  expect(await send({ id: long.slice(1) })).toEqual([200, true]);
  expect(await send({ id: long })).toEqual([400, true]);
  for (const progressToken of [long, { a: long }, [long]])
    expect(await send({ params: { _meta: { progressToken } } })).toEqual([400, true]);
  expect(await send({ method: 'resources/read', params: { uri: `divisor:/${long.repeat(100)}` } })).toEqual([
    200,
    true,
  ]);
});

test.each([
  ['weights of an index on a date', 'getWeights'],
  ['what was the performance of the index last year', 'getPerformance'],
  ['when does the index return to its previous high: drawdowns', 'getPerformance'],
  ['compare two runs', 'compareRuns'],
  ['why did the index return less: attribution by sector', 'getGroupAttribution'],
  ['prices of a security', 'getPrices'],
  ['start a backtest', 'startBacktest'],
  ['corporate actions', 'getCorporateActions'],
  ['read only SQL', 'runSql'],
  ['signing key rotate', 'rotateSigningKey'],
])('a search for "%s" finds %s among the first five', async (query, name) => {
  const short = await openAgent(service.url);
  const { operations } = await short.ok<{ operations: { name: string; sentence: string; scope: string }[] }>(
    'findOperations',
    { query },
  );
  await short.close();
  expect(operations.slice(0, 5).map((found) => found.name)).toContain(name);
  expect(operations[0]).toEqual({ name: expect.any(String), sentence: expect.any(String), scope: expect.any(String) });
});

test('resources, templates and prompts are listed, and every resource can be read', async () => {
  await service.ok('PUT', '/indices/LISTED', {
    ...(OPERATIONS.get('putIndex')!.requestBody!.content['application/json']!.example as object),
    id: 'LISTED',
  });
  const resources: Awaited<ReturnType<typeof agent.client.listResources>>['resources'] = [];
  let cursor: string | undefined;
  do {
    const page = await agent.client.listResources(cursor === undefined ? {} : { cursor });
    resources.push(...page.resources);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(resources.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['openapi.json', 'guide', 'guide/define', 'LISTED', 'LISTED/methodology']),
  );
  for (const name of ['guide', 'guide/define', 'LISTED', 'LISTED/methodology']) {
    const { contents } = await agent.client.readResource({ uri: resources.find((each) => each.name === name)!.uri });
    expect((contents[0] as { text: string }).text.length, name).toBeGreaterThan(100);
  }
  const { resourceTemplates } = await agent.client.listResourceTemplates();
  expect(resourceTemplates.map(({ name }) => name)).toContain('getLevels');
  const names = new Set((await listTools(agent)).map(({ name }) => name));
  for (const { name, arguments: promptArguments = [] } of (await agent.client.listPrompts()).prompts) {
    const argumentValues = Object.fromEntries(promptArguments.map((each) => [each.name, `<${each.name}>`]));
    const { messages } = await agent.client.getPrompt({ name, arguments: argumentValues });
    const text = (messages[0]!.content as { text: string }).text;
    for (const argument of Object.values(argumentValues)) expect(text).toContain(argument);
    // Prompts may name only existing tools.
    for (const word of text.match(/\b(?:get|list|start|create|validate|preview|explain|pack|watch|wait)[A-Z]\w+/g) ??
      [])
      expect(names).toContain(word);
  }
});

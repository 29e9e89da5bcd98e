import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

/** A simulated agent. It has the client of the SDK, and the members of its results that a program reads. */
export interface Agent {
  readonly client: Client;
  call(name: string, toolArguments?: Readonly<Record<string, unknown>>): Promise<CallToolResult>;
  /** Returns the JSON value of a result that must be successful. */
  ok<T>(name: string, toolArguments?: Readonly<Record<string, unknown>>): Promise<T>;
  close(): Promise<void>;
}

export interface AgentOptions {
  readonly tools?: string;
  readonly key?: string;
  readonly fetch?: (url: string | URL, init?: RequestInit) => Promise<Response>;
}

export async function openAgent(url: string, { tools, key, fetch }: AgentOptions = {}): Promise<Agent> {
  const address = new URL('/mcp', url);
  if (tools !== undefined) address.searchParams.set('tools', tools);
  const transport = new StreamableHTTPClientTransport(address, {
    requestInit: { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } },
    ...(fetch === undefined ? {} : { fetch }),
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport as Parameters<Client['connect']>[0]); // its optional members differ only in undefined
  const call = async (name: string, toolArguments: Readonly<Record<string, unknown>> = {}) =>
    (await client.callTool({ name, arguments: { ...toolArguments } })) as CallToolResult;
  return {
    client,
    call,
    async ok<T>(name: string, toolArguments?: Readonly<Record<string, unknown>>) {
      const result = await call(name, toolArguments);
      if (result.isError === true) throw new Error(`${name}: ${readText(result).slice(0, 2000)}`);
      return JSON.parse(readText(result)) as T;
    },
    close: () => client.close(),
  };
}

export const readText = ({ content }: CallToolResult): string => {
  const [first] = content;
  return first?.type === 'text' ? first.text : '';
};

export interface ToolError {
  readonly error: { readonly code: string; readonly message: string; readonly detail: Record<string, unknown> | null };
  readonly hint: string;
}

/** Returns the error in a result. The result must be an error. */
export function readError(result: CallToolResult): ToolError {
  if (result.isError !== true) throw new Error(`no error: ${readText(result).slice(0, 500)}`);
  return JSON.parse(readText(result)) as ToolError;
}

export async function listTools({ client }: Agent): Promise<Awaited<ReturnType<Client['listTools']>>['tools']> {
  const tools = [];
  for (let cursor: string | undefined; ;) {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
    if (cursor === undefined) return tools;
  }
}

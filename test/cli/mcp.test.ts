import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, test } from 'vitest';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { DIVISOR, runToEnd, startServiceHere } from './process.js';

const [command, ...words] = DIVISOR;

test('an agent reaches the tools of a service by standard input and output', async () => {
  const { url, stop } = await startServiceHere(await createTemporaryFolder());
  const transport = new StdioClientTransport({ command, args: [...words, 'mcp', '--url', url], stderr: 'pipe' });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport as Parameters<Client['connect']>[0]);
  expect(client.getServerVersion()?.name).toBe('divisor');
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('callOperation');
  const [content] = (await client.callTool({ name: 'listIndices' })).content as readonly { readonly text: string }[];
  expect(JSON.parse(content!.text)).toMatchObject({ indices: [] });
  // After the service has ended, the call returns an error and the command keeps running.
  await stop();
  await expect(client.callTool({ name: 'listIndices' })).rejects.toThrow(/fetch failed|ECONNREFUSED/);
  await client.close();
});

test('an unavailable address is reported before an agent sends a message', async () => {
  const { status, err } = await runToEnd(['mcp', '--url', 'http://127.0.0.1:1']);
  expect([status, err]).toEqual([69, expect.stringContaining('Start one with')]);
});

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { findBundlePath } from '#bundle';
import { TOOLSETS } from '#contract/mcp.js';
import { LIMITS } from '#domain/base/limits.js';
import { formatTable, onStopRequest } from '../terminal.js';
import { type Grammar, readCommandLine } from './command-line.js';
import { type Address, CONNECTION_HELP, EXIT, runWithService } from './connection.js';

export const MCP_GRAMMAR: Required<Grammar> = {
  words: [],
  flags: {
    tools: {
      value: 'SETS',
      help: 'Lists the operations of toolsets, separated by commas, or all. Default: a short list that finds and calls all.',
    },
  },
};

export const MCP_HELP = [
  'divisor mcp: Serve the tools of a service to an agent (Model Context Protocol) on standard input and output.\n',
  'Usage: divisor mcp [flags]\n',
  `Toolsets\n${formatTable(Object.entries(TOOLSETS).map(([name, { help }]) => [name, help]))}`,
  `Flags\n${formatTable([['--tools SETS', MCP_GRAMMAR.flags['tools']!.help], ...CONNECTION_HELP.map((row) => [...row])])}`,
  `Examples\n${formatTable([['divisor mcp --url http://127.0.0.1:8080'], ['divisor mcp --home ./var --tools all']])}`,
].join('\n');

type Sdk = typeof import('#http/mcp/sdk.js');

/** Loads the SDK from its bundle, or from the compiled module if the bundle is out of date. */
function loadSdk(): Sdk {
  const address = findBundlePath('mcp-sdk.cjs') ?? new URL('../../http/mcp/sdk.js', import.meta.url).href;
  return createRequire(import.meta.url)(fileURLToPath(address)) as Sdk;
}

/** A message of the transports. */
type Message = Parameters<InstanceType<Sdk['StdioServerTransport']>['send']>[0];

/** Maximum size in bytes of a client's message. It contains the body of a request and the call around it. */
const MESSAGE_BYTES_MAX = LIMITS.MAX_BODY_BYTES + 65_536;

/**
 * Runs `divisor mcp`: passes messages between an agent and a service until standard input ends. Resolves with
 * the exit status.
 */
export async function runMcp(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { flags, common } = readCommandLine('mcp', MCP_GRAMMAR, argv);
  return runWithService(common, environment, async (client, address) => {
    await client.call('getPrincipal'); // refuses a wrong key before the agent sends anything
    await connectAgent(loadSdk(), address, flags.text('tools'));
    return EXIT.done;
  });
}

/** Passes messages and responses on in both directions until the agent disconnects. */
async function connectAgent(sdk: Sdk, { url, key }: Address, tools: string | undefined): Promise<void> {
  const target = new URL('mcp', url.endsWith('/') ? url : `${url}/`);
  if (tools !== undefined) target.searchParams.set('tools', tools);
  const agent = new sdk.StdioServerTransport(process.stdin, process.stdout, { maxBufferSize: MESSAGE_BYTES_MAX });
  const service = new sdk.StreamableHTTPClientTransport(target, {
    requestInit: { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } },
  });
  const pendingMessages = new Set<Promise<void>>();
  // A transport has one handler of each kind. Handlers are set as members.
  Object.assign(service, {
    onmessage(message: Message) {
      const version = readProtocolVersion(message);
      if (version !== undefined) service.setProtocolVersion(version);
      void agent.send(message);
    },
  });
  Object.assign(agent, {
    onmessage(message: Message) {
      const delivery = service.send(message).catch((failure: unknown) => refuseMessage(agent, message, failure));
      pendingMessages.add(delivery);
      void delivery.finally(() => pendingMessages.delete(delivery));
    },
    onerror({ message }: Error) {
      const sentence = message.replaceAll(/\s+/g, ' ').slice(0, 200);
      process.stderr.write(`divisor mcp: a message cannot be read: ${sentence}\n`);
    },
  });
  await service.start();
  await agent.start();
  await waitForEnd();
  await Promise.allSettled(pendingMessages);
  await Promise.all([service.close(), agent.close()]);
}

/** Resolves when the agent closes standard input, or when the command receives a stop signal. */
const waitForEnd = (): Promise<void> =>
  new Promise((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve);
    onStopRequest(['SIGTERM', 'SIGINT'], () => resolve());
  });

/** Returns the protocol version in the response to the first message. Later requests contain it in a header. */
function readProtocolVersion(message: Message): string | undefined {
  const { result } = message as { readonly result?: { readonly protocolVersion?: unknown } };
  return typeof result?.protocolVersion === 'string' ? result.protocolVersion : undefined;
}

/** Sends an error to the agent for a request that the service refused as a whole, or that did not reach the service. */
async function refuseMessage(
  agent: InstanceType<Sdk['StdioServerTransport']>,
  message: Message,
  failure: unknown,
): Promise<void> {
  const sentence = formatSentence(failure);
  if (!('id' in message) || message.id === undefined) process.stderr.write(`divisor mcp: ${sentence}\n`);
  else await agent.send({ jsonrpc: '2.0', id: message.id, error: { code: -32_000, message: sentence } });
}

/** Formats a failed request: code and message of the error that the service returned, or the reason of the network. */
function formatSentence(failure: unknown): string {
  const { message, cause } = failure as Error;
  const envelope = /\{"error":.*\}/s.exec(message)?.[0];
  if (envelope !== undefined) {
    const { error } = JSON.parse(envelope) as { readonly error: { readonly code: string; readonly message: string } };
    return `${error.code}: ${error.message}`;
  }
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

/** Exports the parts of the SDK that `divisor mcp` uses. The service implements the protocol itself. */
export { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
export { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

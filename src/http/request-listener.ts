import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Refusal } from '#domain/refusals/refusal.js';
import type { App } from './app.js';
import { compressResponse } from './compress-answer.js';
import { createErrorAnswer, toResponse, type ResponseParts } from './reply.js';
import { sendResponse } from './send-answer.js';

/** Creates a listener that answers `node:http` requests through the `Request` adapter. */
export const createRequestListener = (app: App): ReturnType<typeof getRequestListener> =>
  getRequestListener(
    (request, { incoming, outgoing }) =>
      sendDirectly(
        app.answer(request, () => incoming.socket.remoteAddress),
        { incoming: incoming as IncomingMessage, outgoing: outgoing as ServerResponse },
      ),
    {
      errorHandler: (failure) => {
        const refusal = new Refusal(
          'MALFORMED_REQUEST',
          `The request cannot be read: ${failure instanceof Error ? failure.message : 'unknown fault'}.`,
        );
        return toResponse(createErrorAnswer(refusal, 'GET', app.headersFor(randomUUID())));
      },
    },
  );

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** Sends a response without the `Request` adapter. */
async function sendDirectly(
  response: ResponseParts | Promise<ResponseParts>,
  { incoming, outgoing }: Exchange,
): Promise<Response> {
  const answer = await response;
  await sendResponse((await compressResponse(answer, incoming.headers)) ?? answer, outgoing);
  return RESPONSE_ALREADY_SENT;
}

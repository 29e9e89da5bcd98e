import type { ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Refusal } from '#domain/refusals/refusal.js';
import type { App } from './app.js';
import { errorAnswer, responseOf, type Answer } from './reply.js';
import { newRequestId } from './request-id.js';
import { sendAnswer } from './send-answer.js';

/** Creates a listener that answers `node:http` requests through the `Request` adapter. */
export const createRequestListener = (app: App): ReturnType<typeof getRequestListener> =>
  getRequestListener(
    (request, { incoming, outgoing }) =>
      sendDirectly(
        app.answer(request, () => incoming.socket.remoteAddress),
        outgoing as ServerResponse,
      ),
    {
      errorHandler: (failure) => {
        const refusal = new Refusal(
          'MALFORMED_REQUEST',
          `The request cannot be read: ${failure instanceof Error ? failure.message : 'unknown fault'}.`,
        );
        return responseOf(errorAnswer(refusal, 'GET', app.headersFor(newRequestId())));
      },
    },
  );

/** Sends a response without the adapter. */
async function sendDirectly(answered: Answer | Promise<Answer>, outgoing: ServerResponse): Promise<Response> {
  await sendAnswer(await answered, outgoing);
  return RESPONSE_ALREADY_SENT;
}

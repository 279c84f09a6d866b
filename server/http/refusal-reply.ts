/** Turns refusals and errors into replies. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { internalErrorOf, isAway } from '../../domain/core/internal-error.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { escaped } from '../../domain/text/html.ts';
import { htmlPage, PAGE_HEADERS } from './html-page.ts';

const LINGER_MS = 5_000;

/** Returns the body of a refusal (reference: Errors, 2): the message is `error_message` and `message`. */
export function refusalBody({ status, message, extra }: Refusal): Record<string, unknown> {
  return { success: false, status, error_message: message, message, ...extra };
}

/**
 * Turns anything thrown into an answer, as the only place. Logs our own errors with an id, and never shows them. Also
 * sends `retry_after` (seconds) as a header.
 */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal =
    toRefusal(error) ?? leftRefusal(error, reply) ?? awayRefusal(error, request) ?? internalRefusal(error, request);
  endUnreadBody(request);
  const { retry_after } = refusal.extra;
  if (typeof retry_after === 'number') reply.header('retry-after', retry_after);
  if (isForBrowser(request)) return reply.status(refusal.http).headers(PAGE_HEADERS).send(refusedPage(refusal.message));
  return reply
    .status(refusal.http)
    .header('x-request-id', request.id)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ ...refusalBody(refusal), ...errorCode(refusal, request) }));
}

function refusedPage(message: string): string {
  return htmlPage('This did not work', [`<p>${escaped(message)}</p>`, '<p><a href="">Try again</a></p>']);
}

function isForBrowser({ headers: { accept }, routeOptions }: FastifyRequest): boolean {
  return routeOptions?.config?.route?.contentType === 'text/html' && /\btext\/html\b/i.test(accept ?? '');
}

function errorCode({ message, http }: Refusal, { routeOptions }: FastifyRequest): object {
  return routeOptions?.config?.route?.errorCodes ? { errorMessage: message, errorCode: http } : {};
}

/** The stream of an answer is closed early if the caller has left before its first bytes. */
function leftRefusal(error: unknown, { raw }: FastifyReply): Refusal | null {
  const isCut = (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
  return isCut && raw.destroyed ? new Refusal(499, 'hung_up', 'The caller hung up') : null;
}

const AWAY_RETRY_AFTER = 5;

function awayRefusal(error: unknown, request: FastifyRequest): Refusal | null {
  if (!isAway(error)) return null;
  request.log.warn({ error: internalErrorOf(error) }, 'a request found the database or the file store out of reach');
  return new Refusal(
    503,
    'service_unavailable',
    "The service can't reach its database or its files at the moment. Please try again later",
    { retry_after: AWAY_RETRY_AFTER },
  );
}

function internalRefusal(error: unknown, request: FastifyRequest): Refusal {
  const { method, routeOptions } = request;
  request.log.error({ method, route: routeOptions?.url, error: internalErrorOf(error) }, 'a request failed');
  const message = `Something went wrong on our side. Please try again later; if it stays, report the id ${request.id}`;
  return new Refusal(500, 'internal_error', message, { id: request.id });
}

function toRefusal(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  switch ((error as FastifyError).code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Refusal(413, 'payload_too_large', 'The body is too large');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_TYPE':
      return new Refusal(415, 'unsupported_media_type', 'Content-type: send JSON (application/json) or a web form');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Refusal(400, 'bad_request', 'The body does not have the length that Content-length says');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Refusal(
        400,
        'bad_request',
        'The path has a part of more than 256 characters: no object has such an identifier',
      );
    case 'FST_ERR_BAD_URL':
      return new Refusal(400, 'bad_request', 'The path has a % that is not followed by the hex digits of a UTF-8 byte');
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE': // which Fastify asks of QUERY alone
      return new Refusal(405, 'method_not_allowed', 'No path takes QUERY');
    case 'ECONNRESET': // with a syscall it is a connection of ours that broke
      return 'syscall' in (error as Error) ? null : new Refusal(400, 'bad_request', 'The request was cut off');
    default:
      return null;
  }
}

/** Ends a refused upload: the server would read it to its end. */
function endUnreadBody({ raw }: FastifyRequest): void {
  if (raw.complete || raw.readableEnded || raw.destroyed) return;
  raw.unpipe();
  raw.resume();
  const timer = setTimeout(() => raw.destroy(), LINGER_MS).unref();
  raw.once('end', () => clearTimeout(timer));
}
